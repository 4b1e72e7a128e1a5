"""Serial chains by groups of threads: DCA-ABA, CFA, JSIIA, hybrid ABIA, and [Y]'s two blocks."""
