"""The order in which files begin."""

from pathlib import Path
from types import SimpleNamespace

from longest_first import LONGEST, pytest_collection_modifyitems, pytest_configure

TESTS = Path(__file__).parents[1]


def test_the_longest_are_files_that_there_are():
    assert len(set(LONGEST)) == len(LONGEST)
    assert all((TESTS / name).is_file() for name in LONGEST)


def test_the_longest_come_first_and_tests_of_a_file_keep_their_order():
    names = ["data/test_io.py", LONGEST[1], LONGEST[0], "data/test_io.py", LONGEST[0]]
    items = [SimpleNamespace(path=TESTS / name, place=place) for place, name in enumerate(names)]
    config = SimpleNamespace(rootpath=TESTS.parent, option=SimpleNamespace(loadscopereorder=True))
    pytest_collection_modifyitems(config, items)
    assert [item.place for item in items] == [2, 4, 1, 0, 3]
    pytest_configure(config)
    assert config.option.loadscopereorder is False  # else xdist orders them anew
