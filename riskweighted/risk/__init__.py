"""Disclosure-risk measures, one file each."""
