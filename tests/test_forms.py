"""Forms of words; which are one word is taken from a grammar, not from the rules."""

import pytest

from qafd.answer.forms import families, stem, stems


@pytest.mark.parametrize(("one", "other"), [
    ("lost", "losing"), ("founded", "founds"), ("planned", "plan"), ("cities", "city"),
    ("chosen", "choose"), ("wrote", "writing"), ("led", "leads"), ("bought", "buys"),
    ("houses", "house"), ("caused", "causing"), ("men's", "men"), ("children", "child")])
def test_inflected_forms_have_one_stem(one: str, other: str) -> None:
    assert stems(one) & stems(other)


@pytest.mark.parametrize(("one", "other"), [
    ("find", "founded"), ("committee", "commissioned"), ("control", "contract"),
    ("glass", "glas"), ("pass", "pas")])
def test_other_words_have_another_stem(one: str, other: str) -> None:
    assert stem(one) != stem(other)


def test_words_joined_by_an_underscore_are_words() -> None:
    assert stem("limit") in stems("salinity_limit_psu: 36")


def test_derived_words_are_of_one_family() -> None:
    assert families(["founder"]) & families(["founded"])
    assert families(["losing"]) & families(["lost"])
    assert not families(["mayor"]) & families(["market"])
