"""The papers' experiments: measured, plotted, and compared with the papers' conclusions."""
