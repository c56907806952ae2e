"""A setting of the weights that meets a target at the least loss of utility (METHODS section
11).
"""
