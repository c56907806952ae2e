"""Data in and out: files, the embedded data sets, simulated populations."""
