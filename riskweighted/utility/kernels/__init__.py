"""Compiled inner loops over sorted values."""
