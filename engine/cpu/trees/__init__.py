"""DCA-ABA for robots that branch, or that ball and free joints carry: one robot on lanes and threads."""
