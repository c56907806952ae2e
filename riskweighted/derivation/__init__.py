"""What columns tell of each other before anything is fitted: of a sensitive variable what leaves
unaltered, and rules of a file.
"""
