"""From columns to numbers: formulas, model matrices of distinct rows, transforms, and how finely a
column is recorded.
"""
