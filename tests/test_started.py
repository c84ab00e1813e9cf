"""What flow diffusion starts with for a graph and a question, by every preset and rule."""

import pytest

from qafd.cli.inquiry import Inquiry
from qafd.flow.sources import RULES
from qafd.retrieve.methods import tune
from qafd.retrieve.qafd import PRESETS, FlowDiffusion


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_works_with_every_rule(preset, rule, songs):
    plan = songs.plan("Who founded the prize that Salt Road won?")
    own = PRESETS[preset].method
    method = tune(own, {"rule": rule}, songs.graph)
    assert isinstance(method, FlowDiffusion)
    if rule not in (own.rule, "budget", "total"):
        assert method.mass == {"source-degree": 50.0, "source-unit": 10.0}[rule]
    found = songs.retrieve(plan, method)
    assert any(n.state == "saturated" for n in found.nodes)
    assert found.params["mass"] == method.mass


def test_one_alpha_holds_in_python_compare_and_the_command_line(songs):
    question = "Who founded the prize that Salt Road won?"
    compared = songs.compare(question, ["qafd-paper", "vector"]).retrievals["qafd-paper"]
    asked = Inquiry(songs, question, "qafd:paper").retrieve()
    for retrieval in (songs.retrieve(question, "qafd-paper"), asked):
        assert retrieval.params == compared.params
        assert retrieval.nodes == compared.nodes
    assert compared.params["mass"] == 50.0
