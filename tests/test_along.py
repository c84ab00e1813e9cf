"""What runs along an edge of the picture, against sums over the drawn flows by another rule."""


import pytest

from qafd.view.contraction import drawn_contracted

WHOLE = "What did Mara Delgado sing in Lisbon?"
NEXT = "Who founded the prize that Salt Road won?"


@pytest.fixture(scope="module", params=[[], [NEXT]], ids=["one diffusion", "two"])
def told(songs, request):
    return songs.explain(songs.plan(WHOLE, further=request.param))


def test_the_strands_add_up_to_the_drawn_flow(songs):
    told = songs.explain(WHOLE)
    for edge in drawn_contracted(told.retrieval).edges[::3]:
        found = told.along(edge.source, edge.target, contracted=True)
        assert sum(s.flow for s in found.strands) + found.rest == pytest.approx(edge.flow)
        assert found.flow == edge.flow


def test_the_share_is_of_all_that_reached_the_end(told):
    source = {n.id: n.source for n in told.retrieval.nodes}
    for edge in told.retrieval.edges:
        if edge.flow > 0:
            reached = source[edge.target] + sum(
                e.flow for e in told.retrieval.edges if e.target == edge.target)
            found = told.along(edge.source, edge.target)
            assert found.share == pytest.approx(edge.flow / reached)


def test_either_end_may_be_named_first(told):
    edge = max(told.retrieval.edges, key=lambda e: e.flow)
    found = told.along(edge.source, edge.target)
    assert found == told.along(edge.target, edge.source)
    questions = [run.retrieval.query for run in told.runs]
    assert found.question in (questions if len(questions) > 1 else [""])
