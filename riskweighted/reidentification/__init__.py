"""Re-identification studies as the Census Bureau runs them (S004, METHODS section 10)."""
