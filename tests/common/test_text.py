"""Text that people type again, and paths that a study file keeps."""

import shlex
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from riskweighted.common.checks import path_from
from riskweighted.common.text import as_argument

pytestmark = pytest.mark.quick


@given(st.text(st.characters(exclude_characters="\\\0", exclude_categories=["Cs"])))
def test_an_argument_is_read_as_what_it_was(text):
    assert shlex.split(as_argument(text)) == [text]


def test_an_argument_has_quotes_that_every_shell_takes_and_none_where_none_are_needed():
    assert as_argument("results/run-1") == "results/run-1"
    assert as_argument("uniform(c=0.1)") == '"uniform(c=0.1)"'
    assert as_argument("C:\\my files") == '"C:\\my files"'


def test_a_path_is_told_from_a_folder_and_with_slashes(tmp_path, monkeypatch):
    assert path_from(tmp_path / "studies", tmp_path / "data" / "a.csv") == "../data/a.csv"
    monkeypatch.chdir(tmp_path)
    assert path_from(Path("."), Path("data/a.csv")) == "data/a.csv"

    def other_drive(path, start):
        raise ValueError("path is on mount 'D:', start on mount 'C:'")

    monkeypatch.setattr("os.path.relpath", other_drive)
    assert path_from(tmp_path / "studies", Path("a.csv")) == (tmp_path / "a.csv").as_posix()
