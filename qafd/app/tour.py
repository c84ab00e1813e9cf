"""The tour of the first page: four steps, which a visitor sees once and may skip."""

from qafd.app.component import component

STEPS = (
    "Ask your documents a question, or choose one of these. The answer is found in the graph of "
    "their names and passages.",
    "The picture is the part of that graph that answers. Mass enters at the names of the question (boxes) "
    "and flows along the arrows.",
    "A filled node is full, so it is retrieved. Click one, or an arrow, to read why it is there and the "
    "sentences behind it.",
    "More mass fills more nodes: move this control and watch the picture. Nothing changes its "
    "place.",
)


def tour() -> None:
    """Draw the tour for those who have not seen it; the browser remembers who has."""
    # In a list: Streamlit would look for data frames in a dict, and load pandas for it.
    component("tour")(key="tour", data=[{
        "steps": list(STEPS), "next": "Next", "skip": "Skip the tour",
        "done": "Done", "of": "Step {number} of {all}"}])
