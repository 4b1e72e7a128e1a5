"""Studies: many runs, described by a small file and stepped in batches, on one machine or many.

The input is a study's file or its content; the results are one row per sample, in a folder of Parquet files.
"""
