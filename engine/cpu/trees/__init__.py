"""DCA-ABA for robots with branches, ball joints or free joints: one robot on lanes and threads."""
