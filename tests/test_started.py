"""What flow diffusion starts with for a graph and a question, by every preset and rule."""

from dataclasses import replace
from pathlib import Path

import pytest

from qafd.cli.inquiry import Inquiry
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
                               "volume": 0.25, "paper-literal": 0.02}[rule]
    found = songs.retrieve(plan, method)
    assert any(n.state == "saturated" for n in found.nodes)
    assert found.params["mass"] == method.mass


def test_one_alpha_holds_in_python_compare_and_the_command_line(songs: KnowledgeGraph) -> None:
    question = "Who founded the prize that Salt Road won?"
    compared = songs.compare(question, ["qafd-paper", "vector"]).retrievals["qafd-paper"]
    asked = Inquiry(songs, question, "qafd:paper").retrieve()
    for retrieval in (songs.retrieve(question, "qafd-paper"), asked):
        assert retrieval.params == compared.params
        assert retrieval.nodes == compared.nodes
    assert compared.params["mass"] == 50.0


def test_the_rule_of_section_2_2_ends_below_what_is_full(tmp_path: Path) -> None:
    knowledge = KnowledgeGraph.open(tmp_path / "two.db")
    knowledge.add_text("a.txt", "Ada Lovelace met Charles Babbage.")
    plan = knowledge.plan("Whom did Ada Lovelace meet?")
    method = replace(PRESETS["paper"].method, rule="paper-literal", seeds=2)
    span = replace(method, mass=0.01).problem(read_corpus(knowledge), plan).span()
    # Each of two seeds is poured alpha times the capacity of both: they are full at a half.
    assert span[1] == pytest.approx(0.5)
    knowledge.retrieve(plan, replace(method, mass=0.49))
    with pytest.raises(InfeasibleError):
        knowledge.retrieve(plan, replace(method, mass=0.5))
