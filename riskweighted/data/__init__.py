"""Data in and out: files, and the embedded data sets."""
