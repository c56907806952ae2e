"""Compiled inner loops of unicity and of the search for the nearest profiles."""
