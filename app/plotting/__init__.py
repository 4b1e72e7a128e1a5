"""The quantities of a run that can be plotted, and their samples. Free of Qt."""
