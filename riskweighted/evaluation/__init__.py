"""What a release costs: every measure of risk and utility, registered, measured and set side by
side.
"""
