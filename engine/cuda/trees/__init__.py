"""DCA-ABA for any tree by a group of blocks: the schedule that contracts the tree, and its kernel."""
