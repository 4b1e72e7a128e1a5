"""The engines that ours is set beside, each given the very same models, where it is installed."""
