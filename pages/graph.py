"""Graph: names, their map, which may be one, what was put right, and all of it as a file."""

import streamlit as st

from qafd.app.asking import empty_workspace
from qafd.app.documents.work import jobs_panel
from qafd.app.explore.overview import overview_map
from qafd.app.graph import ALIKE, ENTITIES, EXPORT, MAP, entity_table, history, pairs, view
from qafd.app.graph.whole import exports
from qafd.app.workspaces import workspace

knowledge = workspace()
st.title("Graph")

if not len(knowledge.graph):
    empty_workspace(knowledge)
    st.stop()

shown = view()
jobs_panel(knowledge)
if shown == ENTITIES:
    entity_table(knowledge)
elif shown == MAP:
    overview_map(knowledge)
elif shown == ALIKE:
    pairs(knowledge)
elif shown == EXPORT:
    exports(knowledge)
else:
    history(knowledge)
