"""A study from its file to its result folder, and back."""
