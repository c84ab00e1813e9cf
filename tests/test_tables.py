"""Tables of the app, which their readers can save as CSV."""

from pathlib import Path

from streamlit.testing.v1 import AppTest

import qafd


def test_no_text_of_a_table_can_be_run_as_a_formula():
    def draw():
        from qafd.app.tables import table

        table({"=1+1": ["=HYPERLINK(1)", "\t@SUM(1)", "a=b"], "amount": [-1, 2, 3]})

    app = AppTest.from_function(draw).run()
    drawn = app.dataframe[0].value
    assert list(drawn.columns) == ["'=1+1", "amount"]
    assert list(drawn["'=1+1"]) == ["'=HYPERLINK(1)", "'@SUM(1)", "a=b"]
    assert list(drawn["amount"]) == [-1, 2, 3]


def test_every_table_of_the_app_is_drawn_so():
    package = Path(qafd.__file__).parent
    drawing = {file.name for file in package.rglob("*.py")
               if "st.dataframe(" in file.read_text("utf-8") or "st.table(" in file.read_text("utf-8")}
    assert drawing == {"tables.py"}
