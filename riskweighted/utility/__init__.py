"""Utility measures, one file each."""
