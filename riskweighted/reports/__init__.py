"""A run as one HTML page that needs nothing but a browser: for inside the agency, or releasable;
and its main table as text.
"""
