"""Studies: families of runs by a small file, stepped in batches, kept as Parquet parts, on one machine or many.

In comes a study's file or content, out go its results: a row for each sample, in a folder of parts.
"""
