"""Compiled inner loops over arrays of numbers."""
