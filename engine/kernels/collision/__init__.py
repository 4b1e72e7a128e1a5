"""Where a robot's shapes touch, or nearly touch, what is around them."""
