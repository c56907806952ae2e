"""Numbers as a page or a table shows them, read back."""

import re

__all__ = ["read_number", "unread"]


def read_number(text):
    """The value, without its Monte Carlo error; of "<0.001" half of it."""
    value = text.split(" ± ")[0].replace(",", "")
    return float(value[1:]) / 2 if value.startswith("<") else float(value)


def unread(texts):
    """Those that are not as a person reads numbers: with a power of ten, a long run of zeros, or
    thousands that are not apart.
    """
    return [
        text
        for text in texts
        if re.search(r"\de[-+]?\d|(?<![\d.,])0\.000\d|(?<![\d.,])\d{4,}(?![\d-])", text)
    ]
