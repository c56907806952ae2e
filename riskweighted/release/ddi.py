"""The codebook of a release as DDI-Codebook 2.5, which data archives and catalogues read."""

import math
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping, Sequence
from xml.etree.ElementTree import Element, SubElement

import pandas as pd

from riskweighted.data.variable import Variable, spell_code
from riskweighted.release.codebook import listed_levels

__all__ = ["ddi_codebook"]

_NAMESPACE = "ddi:codebook:2_5"
_TYPES = {
    ".csv": "text/csv",
    ".parquet": "application/vnd.apache.parquet",
    ".dta": "Stata",
    ".sav": "SPSS",
    ".xpt": "SAS transport",
}
_NO_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")  # letters that no XML holds
_DRAWN = (
    "Synthetic: every value, missing ones too, is drawn from a statistical model given the other "
    "variables; it differs by dataset."
)


def ddi_codebook(
    datasets: Sequence[pd.DataFrame],
    book: pd.DataFrame,
    files: Mapping[str, pd.DataFrame],
    codes: Mapping[str, Sequence[float]],
    software: str,
    described: Mapping[str, Variable] | None = None,
) -> str:
    """The XML document about released datasets in files of these names, of each of which there is
    a table with its rows and columns.

    ``book`` is what `riskweighted.release.codebook.codebook` makes of them; ``codes`` are special
    codes by variable; ``software`` made them; ``described``: what is said of the variables.
    """
    root = Element("codeBook", {"xmlns": _NAMESPACE, "version": "2.5"})
    synthesized = [
        str(name)
        for name, status in zip(datasets[0], book["status"], strict=True)
        if status == "synthesized"
    ]
    _describe_study(root, synthesized, software)
    for number, (name, frame) in enumerate(files.items(), start=1):
        _describe_file(root, number, name, frame, "in units" in book)
    variables = SubElement(root, "dataDscr")
    for number, (name, row) in enumerate(zip(datasets[0], book.to_dict("records"), strict=True)):
        pooled = (
            pd.concat([frame[name] for frame in datasets], ignore_index=True)
            if row["status"] == "synthesized"
            else datasets[0][name]
        )
        holding = [f"F{place}" for place, frame in enumerate(files.values(), 1) if name in frame]
        _describe_variable(
            variables,
            number + 1,
            pooled,
            row,
            " ".join(holding),
            codes.get(str(name), ()),
            (described or {}).get(str(name), Variable()),
        )
    ElementTree.indent(root)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        + ElementTree.tostring(root, encoding="unicode")
        + "\n"
    )


def _text(parent: Element, tag: str, text: object, **attributes: str) -> Element:
    """An element with a text, without the letters that XML cannot hold."""
    element = SubElement(
        parent, tag, {name: _NO_XML.sub("", value) for name, value in attributes.items()}
    )
    element.text = _NO_XML.sub("", str(text))
    return element


def _describe_study(root: Element, synthesized: Sequence[str], software: str) -> None:
    study = SubElement(root, "stdyDscr")
    citation = SubElement(study, "citation")
    _text(
        SubElement(citation, "titlStmt"),
        "titl",
        f"SYNTHETIC DATA: {', '.join(synthesized)} drawn from a model",
    )
    _text(SubElement(citation, "prodStmt"), "software", software)
    info = SubElement(study, "stdyInfo")
    _text(
        info,
        "abstract",
        "Files of the same records, of which the variables named as synthetic are drawn again in "
        "each; analyse all of them.",
    )
    _text(SubElement(info, "sumDscr"), "dataKind", "synthetic microdata")


def _describe_file(
    root: Element, number: int, name: str, frame: pd.DataFrame, of_units: bool
) -> None:
    about = SubElement(SubElement(root, "fileDscr", ID=f"F{number}"), "fileTxt")
    _text(about, "fileName", name)
    if of_units:
        SubElement(about, "fileStrc", type="hierarchical")
    size = SubElement(about, "dimensns")
    _text(size, "caseQnty", len(frame))
    _text(size, "varQnty", frame.shape[1])
    _text(about, "fileType", next(kind for ending, kind in _TYPES.items() if name.endswith(ending)))


def _describe_variable(
    parent: Element,
    number: int,
    column: pd.Series,
    row: Mapping[str, object],
    files: str,
    codes: Sequence[float],
    stated: Variable,
) -> None:
    """One variable; elements stand in the order that the schema asks for."""
    numeric = pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_bool_dtype(
        column.dtype
    )
    levels, unit = listed_levels(column), {"measUnit": str(row["unit"])} if row["unit"] else {}
    continuous = "contin" if numeric and levels is None else "discrete"
    attributes = {
        "ID": f"V{number}",
        "name": str(column.name),
        "files": files,
        "intrvl": continuous,
        **unit,
    }
    variable = SubElement(
        parent, "var", {name: _NO_XML.sub("", value) for name, value in attributes.items()}
    )
    _text(variable, "labl", stated.label or column.name)
    if row["status"] == "synthesized":
        _text(variable, "imputation", _DRAWN)
    present = dict.fromkeys(
        [*(code for code in codes if (column == code).any()), *stated.missing_numbers]
    )
    if present or stated.missing_ranges:
        invalid = SubElement(variable, "invalrng")
        for code in present:
            SubElement(
                invalid,
                "item",
                UNITS="INT" if float(code).is_integer() else "REAL",
                VALUE=f"{code:.15g}",
            )
        for least, most in stated.missing_ranges:
            ends = {"min": least, "max": most}
            SubElement(
                invalid,
                "range",
                {name: f"{end:.15g}" for name, end in ends.items() if math.isfinite(end)},
            )
    if isinstance(row["missing"], int):
        _text(variable, "sumStat", row["missing"], type="invd")
    labels = {str(spell_code(code)): text for code, text in stated.values.items() if text}
    occurring = [
        level.removesuffix(".0") if numeric and labels else level for level in levels or []
    ]
    for level in dict.fromkeys([*occurring, *labels]):
        category = SubElement(variable, "catgry")
        _text(category, "catValu", level)
        if level in labels:
            _text(category, "labl", labels[level])
    SubElement(variable, "varFormat", type="numeric" if numeric else "character")
    of_units = f"; {row['in units']}" if "in units" in row else ""
    _text(variable, "notes", f"{row['type']}, {row['status']}: {row['values']}{of_units}")
