"""A page that draws made-up retrievals, to look at the component and to test it.

`streamlit run tests/panel_app.py`, then e.g. `/?panels=4&alpha=3&nodes=60`.
"""

import sys
from dataclasses import replace
from pathlib import Path

import streamlit as st

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parent)]

from panel_example import apple, hostile, large

from qafd.view.component import panels, selected
from qafd.view.layout import layout
from qafd.view.panel import Caption, panel_data

st.set_page_config("Panels", layout="wide")
query = st.query_params
count = int(query.get("panels", "1"))
size = int(query.get("nodes", "0"))
mass = st.slider("mass", 1, 10, int(query.get("alpha", "5")))
contract = st.toggle("contract passages", bool(query.get("contract")))
thickness = "weight" if st.toggle("thickness by weight") else "flow"

make = (lambda m, s: large(size, m)) if size else hostile if query.get("hostile") else apple


@st.cache_data(max_entries=4)
def frozen(size: int, hostile: str | None) -> dict[str, tuple[float, float]]:
    wide = make(10, "qafd")
    return layout([n.id for n in wide.nodes], [(e.source, e.target) for e in wide.edges],
                  labels={n.id: n.name for n in wide.nodes})


STYLES = {"qafd": Caption("QAFD-RAG", "query-aware flow diffusion"),
          "community": Caption("GraphRAG", "whole communities"),
          "ego": Caption("LightRAG", "1-hop ego networks"),
          "flow_path": Caption("FlowRAG", "flow-scored paths")}
chosen = [list(STYLES)[i % 4] for i in range(count)]
data = panel_data(
    [replace(make(mass, method), method=method) for method in chosen],
    positions=frozen(size, query.get("hostile")), others=make(10, "qafd").nodes,
    captions=[STYLES[method] for method in chosen], contract=contract, thickness=thickness,
    ramp=query.get("ramp", "green"), selected=selected("picture"),
    graph_size=4311 if count == 1 else None)
picked = panels(data, key="picture")
st.text(f"selected: {picked}")
