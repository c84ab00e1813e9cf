"""The Runs page: what was kept, one run drawn again as it was, what differs between two; bundles."""

from qafd.app.pages import heading
from qafd.app.picture import drawing_controls
from qafd.app.runs.history import history, many_runs, one_run, two_runs
from qafd.app.runs.opened import bundle_view, open_bundle
from qafd.app.workspaces import workspace


def show() -> None:
    """Draw the page."""
    knowledge = workspace()
    heading("Runs", "Runs that were kept, as they were: nothing is computed anew to show them.")
    sent = open_bundle()
    if sent is not None:
        bundle_view(sent, knowledge, drawing_controls())
        return
    past = history(knowledge)

    if past.chosen:
        drawing = drawing_controls()
        if len(past.chosen) == 1:
            one_run(past, drawing)
        elif len(past.chosen) == 2:
            two_runs(past, drawing)
        else:
            many_runs(past)
