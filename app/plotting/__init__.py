"""What of a run can be plotted, and its samples. Free of Qt."""
