"""The map of a workspace; passages, shared passages and joins are counted by hand."""

from itertools import combinations

import numpy as np
import pytest

from qafd.graph import Graph
from qafd.view.overview import find_communities, map_data, overview, place_names


def graph(mentions, passages):
    """Entities by name, each with the passages (one letter each) that mention it."""
    names = list(mentions)
    row = {letter: len(names) + i for i, letter in enumerate(passages)}
    ends = [(i, row[p]) for i, name in enumerate(names) for p in mentions[name]]
    u, v = zip(*ends, strict=True) if ends else ((), ())
    return Graph.build([*names, *passages], u, v, None, "mention", names=[*names, *passages],
                       kinds=["entity"] * len(names) + ["passage"] * len(passages))


def edges(made, most=80):
    drawn = overview(made, most)
    return {(drawn.ids[u], drawn.ids[v]): shared for u, v, shared in zip(
        drawn.u.tolist(), drawn.v.tolist(), drawn.shared.tolist(), strict=True)}


def cliques(count, size):
    """The ends of complete graphs, each joined to the next by one edge."""
    pairs = [(size * at + u, size * at + v) for at in range(count) for u, v in combinations(range(size), 2)]
    pairs += [(size * at, size * at + size) for at in range(count - 1)]
    return tuple(np.array(pairs).T)


def test_names_are_counted_by_passages_and_edges_by_shared_ones():
    made = graph({"Turin": "c", "Ada": "abc", "Babbage": "bc"}, "abc")
    drawn = overview(made)
    assert dict(zip(drawn.ids, drawn.passages.tolist(), strict=True)) == {"Ada": 3, "Babbage": 2, "Turin": 1}
    assert drawn.ids[0] == "Ada"
    assert edges(made) == {("Ada", "Babbage"): 2, ("Ada", "Turin"): 1, ("Babbage", "Turin"): 1}


@pytest.mark.parametrize("made", [graph({}, ""), graph({}, "ab"), graph({"Ada": ""}, "")])
def test_graphs_without_edges_have_a_map_too(made):
    assert edges(made) == {}
    assert map_data(overview(made), "", None)["edges"] == [[], [], []]


def test_names_that_share_no_passage_and_common_nouns_are_left_out():
    made = graph({"Ada": "ab", "Babbage": "ab", "Hermit": "c", "engine": "abc"}, "abc")
    assert set(overview(made).ids) == {"Ada", "Babbage"}
    assert list(overview(made, most=1).ids) == ["Ada"]


def test_a_name_asks_for_its_four_nearest_by_ochiai_so_that_a_hub_has_few_edges():
    # The hub is in 36 passages and shares 6 with each other name, which has no further one: the names
    # ask for the hub, and the hub for four; a pair shares one passage more.
    others = {f"N{i}": "".join(chr(200 + 6 * i + j) for j in range(6)) for i in range(6)}
    everything = "".join(others.values())
    made = graph({"Hub": everything, **others}, everything)
    assert edges(made) == {("Hub", name): 6 for name in others}


def test_communities_are_those_of_cliques_and_the_largest_comes_first():
    u, v = cliques(3, 8)
    more = np.array(list(combinations([*range(16, 24), 24, 25], 2))).T  # the last clique has ten nodes
    ends = np.unique(np.concatenate([np.array([u, v]), more], axis=1), axis=1)
    found = find_communities(26, *ends, np.full(ends.shape[1], 1))
    assert found.tolist() == [1] * 8 + [2] * 8 + [0] * 10
    assert find_communities(2, u[:0], v[:0], u[:0]).tolist() == [0, 1]


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_few_nodes_have_places_in_the_frame(n):
    nothing = np.zeros(0, np.int64)
    places = place_names(n, nothing, nothing)
    assert places.shape == (n, 2)
    assert ((places >= 0) & (places <= 1)).all()


def test_joined_names_are_near_each_other_and_others_far():
    u, v = cliques(12, 25)
    places = place_names(300, u, v)
    owner = np.arange(300) // 25
    centers = np.array([places[owner == at].mean(axis=0) for at in range(12)])
    spread = np.linalg.norm(places - centers[owner], axis=1).mean()
    apart = min(np.linalg.norm(a - b) for a, b in combinations(centers, 2))
    assert np.isfinite(places).all()
    assert places.min() >= 0
    assert places.max() <= 1
    assert spread < apart  # a clique does not lie over another one
    assert len(np.unique(places.round(4), axis=0)) > 290
    assert np.array_equal(places, place_names(300, u, v))


def test_the_page_gets_every_name_and_only_colored_communities_of_two():
    made = graph({"Ada": "ab", "Babbage": "ab", "Curie": "cd", "Pierre": "cd", "Radium": "c"}, "abcd")
    data = map_data(overview(made), "A map", "Ada")
    assert data["selected"] == "Ada"
    assert data["caption"] == "A map"
    assert [one["count"] for one in data["communities"]] == [3, 2]
    assert data["communities"][1]["title"] in ("Ada", "Babbage")
    assert len(data["names"]) == len(data["places"]) == 5
    assert max(map(max, data["places"])) == 10_000
