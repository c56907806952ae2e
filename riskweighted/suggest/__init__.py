"""What a file holds, found without being told: the kinds of its columns, its units, and how its
survey was drawn.
"""
