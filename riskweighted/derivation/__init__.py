"""Columns that leave unaltered and give a sensitive variable away, alone or together, found before anything is fitted."""
