"""What flow diffusion starts with for a graph and a question, by every preset and rule."""

from dataclasses import replace
from pathlib import Path

import pytest

from qafd.errors import InfeasibleError
from qafd.flow.sources import RULES
from qafd.knowledge import KnowledgeGraph, read_corpus
from qafd.retrieve.methods import tune
from qafd.retrieve.qafd import PRESETS, FlowDiffusion


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_works_with_every_rule(
        preset: str, rule: str, songs: KnowledgeGraph) -> None:
    plan = songs.plan("Who founded the prize that Salt Road won?")
    own = PRESETS[preset].method
    method = tune(own, {"rule": rule}, songs.graph)
    assert isinstance(method, FlowDiffusion)
    if rule not in (own.rule, "budget", "total"):
        assert method.mass == {"source-degree": 50.0, "source-unit": 10.0, "path": 10.0,
                               "volume": 0.25, "paper-literal": 0.01}[rule]
    started = method.start_for(read_corpus(songs), plan)
    found = songs.retrieve(plan, started)
    assert any(n.state == "saturated" for n in found.nodes)
    # A mass that the rule cannot take is made to fit as well.
    if rule in ("volume", "paper-literal"):
        full = replace(method, mass=2.0).start_for(read_corpus(songs), plan)
        assert 0 < songs.retrieve(plan, full).params["mass"] < 1


def test_the_rule_of_section_2_2_ends_below_what_is_full(tmp_path: Path) -> None:
    knowledge = KnowledgeGraph.open(tmp_path / "two.db")
    knowledge.add_text("a.txt", "Ada Lovelace met Charles Babbage.")
    plan = knowledge.plan("Whom did Ada Lovelace meet?")
    method = replace(PRESETS["paper"].method, rule="paper-literal", seeds=2)
    span = method.span(read_corpus(knowledge), plan)
    # Each of two seeds is poured alpha times the capacity of both: they are full at a half.
    assert span[1] == pytest.approx(0.5)
    end = method.scale(knowledge.graph, span)[1]
    assert end == pytest.approx(0.49)
    knowledge.retrieve(plan, replace(method, mass=end))
    with pytest.raises(InfeasibleError):
        knowledge.retrieve(plan, replace(method, mass=0.5))
