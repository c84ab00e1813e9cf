"""Sentences come out in the language in force, errors too, and the catalog is read with care."""

import copy
from pathlib import Path

import pytest

from qafd.errors import BusyError, ParameterError
from qafd.wording import read_catalog, say, say_count, say_error, say_list, speaking

GERMAN = {"{full} of {all} nodes": "{full} von {all} Knoten", "{number} node": "{number} Knoten",
          "{first} and {last}": "{first} und {last}", "It has {size} MB.": "Es hat {size} MB."}


def test_values_stand_where_the_language_puts_them() -> None:
    assert say("{full} of {all} nodes", full=3, all=11) == "3 of 11 nodes"
    with speaking(GERMAN):
        assert say("Ask") == "Ask"
        assert say("{full} of {all} nodes", full=3, all=11) == "3 von 11 Knoten"
        assert say_count(1, "{number} node", "{number} nodes") == "1 Knoten"
        assert say_list(["a", "b", "c"]) == "a, b und c"
        assert say_error(ParameterError("It has {size} MB.", size=7)) == "Es hat 7 MB."
    assert say_list(["a", "b", "c"]) == "a, b and c"


def test_braces_of_a_sentence_without_values_are_only_braces() -> None:
    assert str(ParameterError("{odd")) == "{odd"


def test_an_error_keeps_its_values_where_it_is_copied_as_between_processes() -> None:
    error = copy.copy(BusyError("{who} writes", who="a worker"))
    assert (type(error), str(error), error.values) == (BusyError, "a worker writes", {"who": "a worker"})


@pytest.mark.parametrize("content", ["", "[]", '{"a": 1}'], ids=["empty", "list", "number"])
def test_a_file_that_is_no_language_is_refused(content: str, tmp_path: Path) -> None:
    (tmp_path / "xx.json").write_text(content)
    with pytest.raises(ParameterError, match=r"xx\.json"):
        read_catalog(tmp_path / "xx.json")
