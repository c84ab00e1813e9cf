"""The example notebooks and pictures outside the app: executed, drawn, offline."""

from html import unescape
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from streamlit.testing.v1 import AppTest

NOTEBOOKS = sorted((Path(__file__).parents[1] / "examples" / "notebooks").glob("*.ipynb"))
QUESTION = "Introduce Steve Jobs's products in Apple."


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
@pytest.mark.filterwarnings("ignore:.*:DeprecationWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_example_notebook_compares_and_draws(path):
    notebook = nbformat.read(path, 4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert len(code[0].source.split("\n")) <= 12
    NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    first, second, last = (cell.outputs for cell in code)
    assert "fresnel.md" in first[0]["data"]["text/plain"]
    assert "yours" in second[0]["data"]["text/plain"]
    assert "iframe" in last[-1]["data"]["text/html"]


def test_the_picture_of_a_retrieval_is_one_page_without_network(apple):
    retrieval = apple.retrieve(QUESTION)
    page = retrieval.to_html()
    assert "default-src 'none'" in page
    assert all(node.name in page for node in retrieval.retrieved)
    frame = retrieval._repr_html_()
    assert unescape(frame.partition('srcdoc="')[2].partition('" title=')[0]) == page


def test_show_displays_the_picture(apple, capsys):
    from IPython.core.displaypub import CapturingDisplayPublisher
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell.instance()
    published = CapturingDisplayPublisher()
    usual, shell.display_pub = shell.display_pub, published
    try:
        apple.retrieve(QUESTION).show()
    finally:
        shell.display_pub = usual
        InteractiveShell.clear_instance()
    assert "iframe" in published.outputs[0]["data"]["text/html"]


def test_another_streamlit_app_draws_a_retrieval(apple):
    def script(url, question):
        import streamlit as st

        from qafd.knowledge import KnowledgeGraph
        from qafd.streamlit import subgraph

        st.write(f"selected: {subgraph(KnowledgeGraph(url).retrieve(question))}")

    app = AppTest.from_function(script, args=(apple.url, QUESTION), default_timeout=60).run()
    assert not app.exception
    assert app.get("bidi_component")
    assert app.markdown[0].value == "selected: None"
