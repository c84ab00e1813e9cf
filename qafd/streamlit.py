"""The picture of a retrieval for other Streamlit apps."""

from qafd.app.component import panels, read_selection
from qafd.retrieve.base import Retrieval
from qafd.retrieve.methods import label_of
from qafd.view.drawing import Caption, Drawing, Look
from qafd.view.panel import panel_data
from qafd.view.placement import freeze


def subgraph(retrieval: Retrieval, *, key: str = "qafd subgraph", drawing: Drawing = Drawing()) -> str | None:
    """Draw a retrieval in the app that calls it, and return the id of the node that the user selected.

    Parameters
    ----------
    key : str
        Unique in the app; the selection stays while it reruns.
    drawing : Drawing
        How it is drawn.

    Examples
    --------
    In a script that `streamlit run` starts::

        import qafd
        import streamlit as st
        from qafd.streamlit import subgraph

        kg = qafd.KnowledgeGraph.sample()
        question = st.text_input("Question", "Introduce Steve Jobs's products in Apple.")
        subgraph(kg.retrieve(question))
    """
    positions = freeze([retrieval], {node.id for node in retrieval.retrieved})[0]
    look = Look([Caption(label_of(retrieval.method), "")], (), read_selection(key))
    return panels(panel_data([retrieval], drawing, positions=positions, look=look), key=key)
