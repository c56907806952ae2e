"""The file formats of tables, by the ending of the name."""

__all__ = ["FORMATS", "WRITABLE"]

FORMATS = (".csv", ".parquet", ".dta", ".sav", ".xpt", ".sas7bdat")
WRITABLE = FORMATS[:-1]  # SAS's own format has no free writer; SAS reads .xpt
