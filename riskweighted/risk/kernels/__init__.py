"""Compiled loops of the measures of a fit."""
