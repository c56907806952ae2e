"""A disk that is full at one place of what a command writes."""

import errno
import os

import pandas

from riskweighted.commands import terminal
from riskweighted.data.csv_text import CsvTable


def full(*arguments, **settings):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def fill(place):
    """From here on this process finds the disk full at that place."""
    if place == "console":
        terminal.output.print = full
    elif place == "fsync":
        os.fsync = full
    elif place == "frame":
        pandas.DataFrame.to_csv = CsvTable.write = full
    elif place == "name":
        os.link = os.replace = os.rename = full
