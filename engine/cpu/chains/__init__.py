"""What serves serial chains, or spreads one robot over threads: DCA-ABA, JSIIA, the CPU's part of hybrid ABIA."""
