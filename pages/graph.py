"""Graph: names, their map, which may be one, what was put right, and all of it as a file."""

import streamlit as st

from qafd.ui.curate import ALIKE, ENTITIES, EXPORT, MAP, entity_table, history, pairs, view
from qafd.ui.documents import jobs_panel
from qafd.ui.explore import empty_workspace
from qafd.ui.overview import overview_map
from qafd.ui.whole import exports
from qafd.ui.workspaces import workspace

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
