"""Tables on a terminal: in pieces where they are wide, and never cut."""

import pandas as pd
import pytest

from riskweighted.commands import terminal

pytestmark = pytest.mark.quick


@pytest.mark.parametrize("width", [60, 120, 400])
def test_no_name_and_no_number_is_cut(monkeypatch, capsys, width):
    names = [f"lipschitz(c=1, g=0.{place})" for place in range(9)]
    table = pd.DataFrame(
        [[f"0.0{place}{row}45 ± 0.0002" for place in range(9)] for row in range(3)], columns=names
    )
    monkeypatch.setattr(terminal.output, "width", width)
    with terminal.output.capture() as printed:
        terminal.print_table(
            table.rename(index=lambda row: f"expected risk of isolated records {row}"), "Wide"
        )
    text = printed.get()
    for name in names:
        assert text.count(name) == 1
    for cell in table.to_numpy().ravel():
        assert cell in text
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= width


def test_one_column_wider_than_the_terminal_is_folded_not_cut(monkeypatch):
    monkeypatch.setattr(terminal.output, "width", 40)
    with terminal.output.capture() as printed:
        terminal.print_table(pd.DataFrame({"a": ["x" * 90]}), "Long")
    assert printed.get().count("x") == 90
