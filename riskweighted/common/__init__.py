"""What every floor uses: errors, checks, files written whole, progress, seeds. Knows nothing of
disclosure.
"""
