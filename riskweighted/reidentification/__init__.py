"""Re-identification studies as the Census Bureau runs them (its primer; METHODS section 10)."""
