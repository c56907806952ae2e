"""The intruder: what is known, how close counts as close, and which records lie in whose ball."""
