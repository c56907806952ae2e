"""A measure a file: its names, what it means, how it may be shown outside the agency, and how it is
computed.
"""
