"""The Consumer Expenditure study of the main paper: its population, the public-use file, the
published facts, and one command each.
"""
