"""A study at every point of a grid of settings, here or on a cluster."""
