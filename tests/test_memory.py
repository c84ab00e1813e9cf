"""The memory of a session: which value of a control wins, and what is kept between runs and pages."""

from streamlit.testing.v1 import AppTest

SCRIPT = """
import streamlit as st
from qafd.app import session as memory
page = st.query_params.get("page", "one")
if page == "one":
    st.slider("Mass", 0, 10, 5, **memory.bound("mass"))
    memory.choose_option("Edges", {"flow": "Flow", "weight": "Weight"}, "edges")
    memory.choose_option("Tab", {1: "One", 2: "Two"}, "tab", 2)
elif page == "linked":
    memory.keep_linked("mass")
elif page == "forget":
    memory.forget_all_but("edges")
elif page == "put":
    memory.put_next("mass", 9)
values = [memory.value_of(key, "none") for key in ("mass", "edges", "tab")]
st.session_state.shown = values + [memory.is_private(), memory.exchange("question", page)]
"""


def visit(app, page, **query):
    """Show a page with a link; return the values that it sees."""
    for key in list(app.query_params):
        if key != "page":
            del app.query_params[key]
    for key, value in {"page": page, **query}.items():
        app.query_params[key] = value
    app.run()
    assert not app.exception
    return list(app.session_state.shown)


def app():
    return AppTest.from_string(SCRIPT)


def test_a_control_is_kept_over_other_pages_and_a_link_wins_over_the_usual_value():
    at = app()
    assert visit(at, "one") == [5, "flow", 2, False, "one"]
    at.slider(key="mass").set_value(7).run()
    assert visit(at, "other") == [7, "flow", 2, False, "one"]
    assert visit(at, "one") == [7, "flow", 2, False, "other"]
    assert visit(app(), "one", mass="3", tab="One") == [3, "flow", 1, False, "one"]


def test_a_link_to_a_page_without_the_control_is_kept_for_the_next():
    at = app()
    assert visit(at, "other", mass="4")[0] == "4"
    assert visit(at, "third")[0] == "none"
    assert visit(at, "linked", mass="4")[0] == "4"
    assert visit(at, "third")[0] == "4"


def test_all_but_some_controls_are_forgotten():
    at = app()
    visit(at, "one")
    at.slider(key="mass").set_value(7).run()
    at.segmented_control(key="edges").set_value("weight").run()
    assert visit(at, "forget")[:3] == ["none", "weight", "none"]
    assert visit(at, "one")[:3] == [5, "weight", 2]


def test_a_control_that_is_set_for_the_next_run_begins_with_that_value():
    at = app()
    visit(at, "one")
    visit(at, "put")
    assert visit(at, "one")[0] == 9
    at.slider(key="mass").set_value(2).run()
    assert visit(at, "one")[0] == 2


def test_results_are_computed_once_for_a_key_and_a_cleared_widget_has_another_key():
    at = AppTest.from_string("""
import streamlit as st
from qafd.app import session as memory
calls = []
def compute(value):
    calls.append(value)
    return value
found = [memory.remember("a", 1, lambda: compute("x")), memory.remember("a", 1, lambda: compute("y")),
         memory.recall("a", 1), memory.recall("a", 2), memory.recall("b", 1),
         memory.remember("a", 2, lambda: compute("z")), memory.recall("a", 1)]
shared = [memory.compute_shared("n", key, lambda: compute(key)) for key in (1, 1, 2)]
key = memory.fresh_key("box")
memory.empty("box")
st.session_state.shown = found, shared, calls, key, memory.fresh_key("box")
""").run()
    assert not at.exception
    found, shared, calls, key, after = at.session_state.shown
    assert found == ["x", "x", "x", None, None, "z", None]
    assert shared == [1, 1, 2]
    assert calls == ["x", "z", 1, 2]
    assert (key, after) == ("box0", "box1")
