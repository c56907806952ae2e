"""The file formats of tables, by the ending of the name."""

__all__ = ["FORMATS", "WRITABLE"]

WRITABLE = (".csv", ".parquet", ".dta", ".sav", ".xpt")
# SAS's own format has no free writer, SAS reads .xpt; R reads the others
FORMATS = (*WRITABLE, ".sas7bdat", ".rds", ".rda", ".rdata")
