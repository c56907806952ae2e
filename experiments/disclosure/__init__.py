"""What releases give away beyond inference: known tools by folds, the package's own models by their
fits.
"""
