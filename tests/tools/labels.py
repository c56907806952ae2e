"""The label that a file of a dataset holds."""

import pandas as pd

from riskweighted.data.io import require_reader


def read_label(path):
    """The label in the metadata of a file that `write_table` wrote; empty for csv."""
    if path.suffix == ".parquet":
        import pyarrow.parquet as pq

        metadata = pq.read_schema(path).metadata or {}
        return metadata.get(b"label", b"").decode()
    if path.suffix == ".dta":
        with pd.read_stata(path, iterator=True) as reader:
            return str(reader.data_label)
    if path.suffix in (".sav", ".xpt"):
        pyreadstat = require_reader(path.suffix)
        read = pyreadstat.read_sav if path.suffix == ".sav" else pyreadstat.read_xport
        return str(read(path, metadataonly=True)[1].file_label or "")
    return ""
