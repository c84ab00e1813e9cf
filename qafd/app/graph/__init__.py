"""The Graph page: names, their map, possible duplicates, edits, and the graph as a file."""

from qafd.app.asking import empty_workspace
from qafd.app.documents.work import jobs_panel
from qafd.app.explore.overview import overview_map
from qafd.app.graph.edits import duplicates, history
from qafd.app.graph.entities import entity_table
from qafd.app.graph.export import exports
from qafd.app.pages import heading
from qafd.app.session import choose_option
from qafd.app.workspaces import workspace

VIEWS = {"Entities": entity_table, "Map": overview_map, "Possible duplicates": duplicates, "Edits": history,
         "Export": exports}


def show() -> None:
    """Draw the page."""
    knowledge = workspace()
    heading("Graph", "The names in your documents and their connections; correct what is wrong.")
    if not len(knowledge.graph):
        empty_workspace(knowledge)
        return
    shown = choose_option("View", {name: name for name in VIEWS}, "part", label_visibility="collapsed")
    jobs_panel(knowledge)
    VIEWS[shown](knowledge)
