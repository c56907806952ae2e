"""Compiled inner loops over runs and boxes."""
