"""One study on data in parts: gathered by known pattern, weighed, counted, fitted once, drawn,
measured and written bucket by bucket.
"""
