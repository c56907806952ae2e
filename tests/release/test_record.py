"""The disclosure record follows its schema and says no more than the releasable report; the DDI
codebook is what archives read.
"""

import json
import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pandas as pd
import pytest
from finished_run import finished_run

from riskweighted.release.codebook import codebook
from riskweighted.release.ddi import ddi_codebook
from riskweighted.release.pack import release_run
from riskweighted.release.record import SCHEMA, disclosure_record, record_schema
from riskweighted.runs.finished import load_run

pytestmark = pytest.mark.versions

_KINDS = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float)}
DDI = "{ddi:codebook:2_5}"


def broken(value, schema, where="record"):
    """What of a value does not follow a JSON Schema, as far as ours uses the language."""
    known = {
        "$schema",
        "title",
        "description",
        "type",
        "required",
        "additionalProperties",
        "properties",
        "items",
        "enum",
        "const",
        "pattern",
    }
    assert set(schema) <= known
    if "type" in schema and (
        not isinstance(value, _KINDS[schema["type"]]) or isinstance(value, bool)
    ):
        return [f"{where} is no {schema['type']}"]
    found = [f"{where} lacks {name}" for name in schema.get("required", []) if name not in value]
    if ("const" in schema and value != schema["const"]) or (
        "enum" in schema and value not in schema["enum"]
    ):
        found.append(f"{where} is {value!r}")
    if "pattern" in schema and not re.search(schema["pattern"], value):
        found.append(f"{where} has another form")
    if isinstance(value, list) and "items" in schema:
        return found + [
            text
            for place, one in enumerate(value)
            for text in broken(one, schema["items"], f"{where}[{place}]")
        ]
    if isinstance(value, dict):
        rest = schema.get("additionalProperties", True)
        for name, one in value.items():
            inner = schema.get("properties", {}).get(name, rest)
            found += (
                [f"{where} has {name}"]
                if inner is False
                else []
                if inner is True
                else broken(one, inner, f"{where}.{name}")
            )
    return found


@pytest.fixture(scope="module")
def run():
    return load_run(finished_run())


@pytest.fixture(scope="module")
def pack(run, tmp_path_factory):
    out = tmp_path_factory.mktemp("record") / "pack"
    return release_run(
        run, out, schemes=["pairwise"], formats=["csv", "dta"], units={"income": "dollars"}
    ).folder


def test_the_record_follows_its_schema_which_is_in_the_pack(pack):
    record = json.loads((pack / "disclosure_record.json").read_text())
    schema = json.loads((pack / "disclosure_record.schema.json").read_text())
    assert schema == record_schema()
    assert broken(record, schema) == []
    assert record["schema"] == SCHEMA
    assert broken({**record, "seed": 1}, schema) == ["record has seed"]
    assert broken({**record, "withheld": "1"}, schema) == ["record.withheld is no integer"]


def test_the_record_says_what_was_released_and_measured_and_nothing_of_other_schemes(run, pack):
    text = (pack / "disclosure_record.json").read_text()
    record = json.loads(text)
    assert record["released"] == {
        **{
            "schemes": ["pairwise"],
            "datasets_per_scheme": 3,
            "records": run.manifest["input"]["records"],
        },
        **{"synthesized": ["income"], "unaltered": ["group", "size"]},
    }
    assert record["scenario"]["known"] == ["group"]
    assert record["fits"]["pairwise"]["converged"] == "yes"
    assert {row["label"] for row in record["measures"]} == {"pairwise"}
    shown = {row["measure"]: row["value"] for row in record["measures"]}
    risk = run.tables["risk"]
    mean = risk.loc[
        (risk["key"] == "expected-mean-risk") & (risk["label"] == "pairwise"), "value"
    ].iloc[0]
    assert shown["expected-mean-risk"] == f"{float(mean):.3f}"
    assert "expected-maximum-risk" not in shown
    assert "influence-range" not in shown
    quantiles = [row["value"] for row in record["measures"] if row["measure"] == "quantile"]
    assert set(quantiles) == {"not shown"}  # how many digits may be seen depends on the data
    assert "seed" not in text
    assert str(run.folder) not in text


def test_a_variable_of_few_amounts_is_not_in_the_record(run):
    few = {scheme: [frame.iloc[:15] for frame in run.synthetic[scheme]] for scheme in run.schemes}
    object.__setattr__(copy := load_run(finished_run()), "synthetic", few)
    record = disclosure_record(copy, ["pairwise"], "0" * 64)
    assert not any(row.get("variable") == "income" for row in record["measures"])
    assert record["withheld"] > disclosure_record(run, ["pairwise"], "0" * 64)["withheld"]


def test_the_ddi_codebook_describes_files_and_variables(pack):
    root = ElementTree.parse(pack / "codebook.xml").getroot()
    assert root.tag == f"{DDI}codeBook"
    assert "SYNTHETIC" in root.find(f".//{DDI}titl").text
    files = [one.text for one in root.iter(f"{DDI}fileName")]
    assert sorted(files) == sorted(
        path.relative_to(pack).as_posix() for path in pack.rglob("synthetic_*")
    )
    variables = {one.get("name"): one for one in root.iter(f"{DDI}var")}
    assert set(variables) == {"group", "income", "size"}
    income = variables["income"]
    assert (
        income.get("intrvl"),
        income.get("measUnit"),
        income.find(f"{DDI}varFormat").get("type"),
    ) == ("contin", "dollars", "numeric")
    assert "Synthetic" in income.find(f"{DDI}imputation").text
    assert len(income.get("files").split()) == len(files)
    assert income.find(f"{DDI}catgry") is None
    group = variables["group"]
    assert group.find(f"{DDI}imputation") is None
    assert group.find(f"{DDI}sumStat").text == "0"
    assert [one.text for one in group.iter(f"{DDI}catValu")] == ["a", "b"]


# Of DDI-Codebook 2.5 (codebook.xsd of 2012-01-17, LGPL, so not kept here): the children of each
# element that we write, in the order that the schema asks for ("!": required), and the attributes
# that it allows.
DDI_ORDER = {
    "codeBook": ("docDscr stdyDscr! fileDscr dataDscr otherMat", "version ID"),
    "stdyDscr": (
        "citation! studyAuthorization stdyInfo studyDevelopment method dataAccs othrStdyMat notes",
        "ID",
    ),
    "citation": (
        "titlStmt! rspStmt prodStmt distStmt serStmt verStmt biblCit holdings notes",
        "ID",
    ),
    "titlStmt": ("titl! subTitl altTitl parTitl IDNo", "ID"),
    "prodStmt": ("producer copyright prodDate prodPlac software fundAg grantNo", "ID"),
    "stdyInfo": (
        "studyBudget subject abstract sumDscr qualityStatement notes exPostEvaluation",
        "ID",
    ),
    "sumDscr": (
        "timePrd collDate nation geogCover geogUnit geoBndBox boundPoly anlyUnit universe dataKind",
        "ID",
    ),
    "fileDscr": ("fileTxt locMap notes", "ID URI"),
    "fileTxt": (
        "fileName fileCitation fileCont fileStrc dimensns fileType format filePlac dataChck "
        "ProcStat dataMsng software verStmt",
        "ID",
    ),
    "dimensns": ("caseQnty varQnty logRecL recPrCas recNumTot", "ID"),
    "dataDscr": ("varGrp nCubeGrp var nCube notes", "ID"),
    "var": (
        "location labl imputation security embargo respUnit anlysUnit qstn valrng invalrng "
        "undocCod universe TotlResp sumStat txt "
        "stdCatgry catgryGrp catgry codInstr verStmt concept derivation varFormat geoMap "
        "catLevel notes",
        "ID name! files intrvl measUnit",
    ),
    "invalrng": ("item range key notes", "ID"),
    "item": ("", "UNITS VALUE!"),
    "catgry": ("catValu labl txt catStat mrow", "ID missing"),
    "sumStat": ("", "type!"),
    "varFormat": ("", "type"),
}
ONCE = {
    "titl",
    "fileName",
    "dimensns",
    "fileType",
    "imputation",
    "varFormat",
    "catValu",
    "prodStmt",
    "titlStmt",
}
VALUES = {
    "intrvl": {"contin", "discrete"},
    "UNITS": {"INT", "REAL"},
    "type": {"invd", "character", "numeric"},
    "version": {"2.5"},
}


def against_ddi(element):
    """What of an element and those below it the schema does not allow."""
    tag = element.tag.removeprefix(DDI)
    children, attributes = (part.split() for part in DDI_ORDER.get(tag, ("", "")))
    order = [name.removesuffix("!") for name in children]
    held = [child.tag.removeprefix(DDI) for child in element]
    allowed = {name.removesuffix("!") for name in attributes}
    found = [f"{tag} holds {name}" for name in held if name not in order]
    found += [
        f"{tag} lacks {name[:-1]}"
        for name in children
        if name.endswith("!") and name[:-1] not in held
    ]
    found += [
        f"{tag} lacks {name}"
        for name in attributes
        if name.endswith("!") and name[:-1] not in element.attrib
    ]
    found += [f"{tag} has {name}" for name in element.attrib if name not in allowed]
    found += [
        f"{tag}: {name} is {value}"
        for name, value in element.attrib.items()
        if value not in VALUES.get(name, {value})
    ]
    found += [f"{tag} holds {name} twice" for name in ONCE if held.count(name) > 1]
    if not found and [order.index(name) for name in held] != sorted(
        order.index(name) for name in held
    ):
        found.append(f"{tag}: {' '.join(held)} is out of order")
    return found + [one for child in element for one in against_ddi(child)]


def test_the_ddi_codebook_keeps_to_the_schema(pack):
    frame = pd.DataFrame({"g": ["x", "y"] * 3, "n": [-8.0, 2.5] * 3, "m": [-0.5, np.nan] * 3})
    codes = {"n": [-8], "m": [-0.5]}
    book = codebook([frame, frame], ["n", "m"], codes=codes)
    made = ElementTree.fromstring(
        ddi_codebook(
            [frame, frame],
            book,
            {"a.csv": frame, "b.sav": frame[["g", "n"]]},
            codes,
            "riskweighted 0",
        )
    )
    for root in (ElementTree.parse(pack / "codebook.xml").getroot(), made):
        assert not against_ddi(root)
        known = {one.get("ID") for one in root.iter() if one.get("ID")}
        assert len(known) == sum("ID" in one.attrib for one in root.iter())  # of each ID one
        assert all(set(one.get("files").split()) <= known for one in root.iter(f"{DDI}var"))
    assert [one.get("files") for one in made.iter(f"{DDI}var")] == ["F1 F2", "F1 F2", "F1"]
    assert [one.get("UNITS") for one in made.iter(f"{DDI}item")] == ["INT", "REAL"]


def test_what_the_schema_forbids_is_found(pack):
    root = ElementTree.parse(pack / "codebook.xml").getroot()
    first = root.find(f".//{DDI}var")
    first.append(first[0])
    del first.attrib["name"]
    first.set("intrvl", "sometimes")
    assert against_ddi(root) == ["var lacks name!", "var: intrvl is sometimes"]
    first.attrib.update(name="x", intrvl="contin")
    assert against_ddi(root)[0].endswith("is out of order")


def test_names_and_values_stay_text_in_ddi():
    frame = pd.DataFrame({"a <b>&": ["x\x07", "<y>"] * 3, "n": [-8.0, 2.5] * 3})
    book = codebook([frame], ["n"], codes={"n": [-8]})
    root = ElementTree.fromstring(
        ddi_codebook([frame], book, {"data/s/x.csv": frame}, {"n": [-8, -9]}, "riskweighted 0")
    )
    first, second = root.iter(f"{DDI}var")
    assert first.get("name") == "a <b>&"
    assert [one.text for one in first.iter(f"{DDI}catValu")] == ["<y>", "x"]
    assert [one.get("VALUE") for one in second.iter(f"{DDI}item")] == ["-8"]
