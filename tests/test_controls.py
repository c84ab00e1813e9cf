"""A table of controls of Explore and Compare, and their effects; and the source of a value that wins."""

import re

import pandas as pd
import pytest
from clicks import page, shown

Table = pd.DataFrame
Q = "Introduce Steve Jobs's products in Apple."


def nodes(**controls):
    """The nodes of Explore's tab Table under some controls."""
    return page("explore", tab="Table", q=Q, **controls).dataframe[0].value


def full(table):
    return set(table[table["state"].str.startswith("full")]["name"])


@pytest.fixture(scope="module")
def usual(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("QAFD_HOME", str(tmp_path_factory.mktemp("home")))
        return nodes()


@pytest.mark.parametrize(("controls", "effect"), [
    ({"best_mass": "60"}, lambda now, was: full(was) < full(now)),
    ({"best_mass": "5"}, lambda now, was: full(now) < full(was)),
    ({"edges": "Plain"}, lambda now, was: full(now) - full(was) == {"¶ Malus domestica"}),
    ({"best_variant": "plain"}, lambda now, was: full(now) - full(was) == {"¶ Malus domestica"}),
    ({"best_seeds": "1"}, lambda now, was: now["seed"].sum() == was["seed"].sum() - 4),
    ({"best_diffusions": "each"}, lambda now, was: len(full(now)) < len(full(was))),
    ({"preset": "Token budget"}, lambda now, was: now["capacity"].max() > was["capacity"].max()),
    ({"preset": "As in the paper"}, lambda now, was: now["seed"].sum() > was["seed"].sum()),
    ({"best_layer": "entities"}, lambda now, _: not (now["kind"] == "passage")[now["mass"] > 0].any()),
], ids=lambda value: "&".join(f"{k}={v}" for k, v in value.items()) if isinstance(value, dict) else "")
def test_a_control_of_explore_changes_the_retrieval(controls, effect, usual, home):
    assert effect(nodes(**controls), usual)


@pytest.mark.parametrize(("controls", "sliders"), [
    ({}, {"best_mass": ("Source mass: each tick below fills one more node", 0, 119, 30, 1),
          "best_seeds": ("Passage seeds", 0, 14, 5, 1), "best_b": ("Factor b (hybrid)", 0, 4, 0.25, 0.1),
          "best_entity_share": ("Entity share", 0, 1, 0.75, 0.01),
          "best_top": ("Passages ranked", 1, 100, 20, 1)}),
    ({"best_seeds": "18"}, {"best_seeds": ("Passage seeds", 0, 18, 18, 1)}),
    ({"best_seeds": "99"}, {"best_seeds": ("Passage seeds", 0, 20, 5, 1)}),
    ({"best_seeding": "keywords"}, {"best_seeds": ("Seeds N", 0, 119, 5, 1)}),
    ({"best_rule": "source-unit"}, {"best_mass_source-unit": ("Source mass alpha", 0, 100, 10, 0.1)}),
    ({"best_capacity": "degree"}, {"best_mass": ("Source mass (in mean capacities)", 0, 119, 30, 1)}),
    ({"preset": "As in the paper"}, {"paper_mass": ("Source mass alpha", 0, 100, 50, 0.1),
                                     "paper_seeds": ("Seeds N", 0, 105, 40, 1)}),
    ({"preset": "Token budget"}, {"tokens_mass": ("Token budget", 0, 3428, 857, 1)})],
    ids=lambda value: " ".join(value))
def test_the_range_of_a_control_follows_the_graph_and_the_other_controls(controls, sliders, home):
    app = page("explore", q=Q, more="true", **controls)
    found = {slider.key: (slider.label, slider.min, slider.max, slider.value, slider.step)
             for slider in app.slider}
    assert {key: found[key] for key in sliders} == sliders


def test_more_mass_by_the_control_wins_over_the_link(home):
    app = page("explore", tab="Table", q=Q, best_mass="5")
    linked = full(app.dataframe[0].value)
    app.slider(key="best_mass").set_value(60.0).run()
    moved = full(app.dataframe[0].value)
    assert linked < moved
    assert "¶ Malus domestica" in moved


def test_the_question_of_a_link_wins_over_the_example_and_a_typed_one_over_both(home):
    app = page("explore", q="Which river meets the Amazon near Manaus?")
    assert "Rio Negro" in shown(app)
    app.text_input(key="q").set_value("Who drew the first logo of Apple?").run()
    assert "Ronald Wayne" in shown(app)
    assert "Teatro" not in shown(app)


def test_another_preset_keeps_its_own_mass(home):
    app = page("explore", q=Q, best_mass="7")
    app.radio(key="preset").set_value("tokens").run()
    assert "best_mass" not in [slider.key for slider in app.slider]
    app.radio(key="preset").set_value("best").run()
    assert app.slider(key="best_mass").value == 7


def test_names_are_listed_for_a_question_that_asks_for_names_alone(home):
    listed = shown(page("explore", q=Q))
    assert "Retrieved: " in listed
    assert "The graph add" in listed  # what search alone has not
    assert "<p>iPad: Steve Jobs showed the iPad in 2010" in listed
    assert "Retrieved: " not in shown(page("explore", q="When did Steve Jobs show the iPad?"))


def test_the_name_of_the_best_sentence_is_listed_first_and_the_way_ends_there(home):
    text = shown(page("explore", q="Which river meets the Amazon near Manaus?"))
    listed = re.findall(r">([^<]+)</span>", text.partition("Retrieved: ")[2].partition("</p>")[0])
    assert listed[0] == "Rio Negro"
    assert re.search(r"Amazon → .*→ Rio Negro$", text, re.MULTILINE)


def compared(**controls):
    """The table of Compare: names, then passages within the budget, with a column for each method."""
    return page("compare", view="Table", q=Q, **controls).dataframe[0].value


def names_of(table, method):
    return int(table[table["kind"] != "passage"].iloc[:, 3 + method].notna().sum())


def passages(table):
    return int((table["kind"] == "passage").sum())


@pytest.mark.parametrize(("controls", "effect"), [
    ({"budget": "400"}, lambda now, was: 0 < passages(now) < passages(was)),
    ({"methods": ["vector", "lexical"]}, lambda now, was: (len(now.columns), len(was.columns)) == (5, 7)),
    ({"best_mass": "5"}, lambda now, was: names_of(now, 0) < names_of(was, 0)
                                          and names_of(now, 1) == names_of(was, 1)),
    ({"best_seeding": "keywords"}, lambda now, was: names_of(now, 0) != names_of(was, 0)),
], ids=["budget", "methods", "mass", "seeds"])
def test_a_control_of_compare_changes_what_its_methods_find(controls, effect, home):
    assert effect(compared(**controls), compared())


def test_the_tabs_are_drawn_on_request_and_by_a_link_to_one(home):
    app = page("explore", q=Q)
    assert "1. Steve Jobs" not in shown(app)
    app.toggle(key="more").set_value(True).run()
    assert "1. Steve Jobs" in shown(app)
    assert "import qafd" in shown(page("explore", q=Q, tab="Code"))
