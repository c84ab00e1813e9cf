"""A page that draws made-up retrievals, to look at the component and to test it.

`streamlit run tests/panel_app.py` (with the repository on PYTHONPATH unless qafd is
installed), then e.g. `/?panels=4&mass=3` or `/?sample=hostile`.
"""

from dataclasses import replace

import streamlit as st
from panel_example import apple, hostile

from qafd.app.component import panels, read_selection
from qafd.view.drawing import Caption, Drawing, Look, scale_of
from qafd.view.groups import Groups
from qafd.view.layout import layout
from qafd.view.panel import panel_data

CAPTIONS = {"qafd": Caption("QAFD-RAG", "query-aware flow diffusion"),
            "community": Caption("GraphRAG", "whole communities"),
            "ego": Caption("LightRAG", "1-hop ego networks"),
            "flow_path": Caption("FlowRAG", "flow-scored paths")}

st.set_page_config("Panels", layout="wide")
query = st.query_params
count = st.number_input("panels", 0, 6, int(query.get("panels", "1")))
methods = [list(CAPTIONS)[i % 4] for i in range(count)]
mass = st.slider("mass", 1, 10, int(query.get("mass", "5")))
contract = st.toggle("contract passages", "contract" in query)
thickness = "weight" if st.toggle("thickness by weight") else "flow"


def retrieve(sample, mass, method):
    """The subgraph of one method for "apple" or "hostile"."""
    return apple(mass, method) if sample == "apple" else replace(hostile(mass), method=method)


@st.cache_data(max_entries=8)
def frozen(sample):
    """What the largest mass brings, and where it stands."""
    wide = retrieve(sample, 10, "qafd")
    return wide, layout([n.id for n in wide.nodes], [(e.source, e.target) for e in wide.edges],
                        labels={n.id: n.name for n in wide.nodes})


sample = query.get("sample", "apple")
wide, positions = frozen(sample)
drawing = Drawing(contract, thickness)
ids = sorted(n.id for n in wide.nodes)
groups = Groups(("even.md", "odd.md"), ("one",), {n: [i % 2] for i, n in enumerate(ids)}, {})
picked = panels(panel_data(
    [retrieve(sample, mass, method) for method in methods], drawing, positions=positions,
    look=Look([CAPTIONS[method] for method in methods], wide.nodes, read_selection("picture"),
              scale=scale_of(wide, drawing) if "steady" in query else None, groups=groups,
              graph_size=4311 if len(methods) == 1 else None)), key="picture")
st.text(f"selected: {picked}")
