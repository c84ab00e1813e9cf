"""The pages Lab and Learn without a browser."""

import csv
import io
import subprocess
import sys
from pathlib import Path

import pytest
from clicks import page, shown
from streamlit.testing.v1 import AppTest

from qafd.knowledge import KnowledgeGraph
from qafd.retrieve.qafd import FlowDiffusion


def quiet(name: str, **query: str) -> AppTest:
    """A page that shows no error."""
    app = page(name, **query)
    assert not app.error
    return app


@pytest.mark.parametrize("tab", ["Timeline", "Robustness"])
def test_an_experiment_says_its_chart_in_words_and_gives_its_data(tab: str, home: Path) -> None:
    app = quiet("lab", experiment=tab)
    [chart] = app.get("plotly_chart")
    assert any(letter.isdigit() for letter in chart.proto.alt)
    assert [button.proto.label for button in app.get("download_button")
                               if button.proto.label == "Data as CSV"] == ["Data as CSV"]


def test_a_link_has_the_settings_of_an_experiment(home: Path) -> None:
    app = page("lab", experiment="Guarantees", planted_relevant="40", planted_draws="3",
               planted_source="false")
    assert app.slider(key="planted_relevant").value == 40
    assert not app.toggle(key="planted_source").value
    assert "of 3 draws" in shown(app)


def test_a_teachers_link_hides_every_control(home: Path) -> None:
    app = quiet("learn", teach="1", card="gates", mass="8", variant="product", seed="3")
    assert not [*app.slider, *app.get("button_group"), *app.selectbox]
    text = shown(app)
    assert "Gates that know the question" in text
    assert "Pipes and buckets" not in text


def sweep(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, "-m", "qafd", "sweep", *arguments], text=True,
                          capture_output=True, timeout=120)


def test_the_command_prints_one_row_per_combination(tmp_path: Path) -> None:
    knowledge = KnowledgeGraph.sample("apple-amazon", tmp_path)
    question = "Introduce Steve Jobs's products in Apple."
    db = "--db", knowledge.place.written
    result = sweep(question, *db, "--over", "qafd.variant=plain,product", "--over", "qafd.mass=1,5", "--over",
                   "qafd.seeds=5", "--over", "qafd.rule=source-degree", "--csv")
    assert result.returncode == 0, result.stderr
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    assert [(r["mass"], r["variant"]) for r in rows] == [
        ("1.0", "plain"), ("5.0", "plain"), ("1.0", "product"), ("5.0", "product")]
    alone = knowledge.retrieve(question, FlowDiffusion(
        mass=5.0, seeds=5, variant="product", rule="source-degree"))
    assert int(rows[3]["nodes"]) == sum(n.importance > 0 for n in alone.nodes)
    eight = sweep(question, *db, "--csv")
    assert len(eight.stdout.splitlines()) == 9
    wrong = sweep(question, *db, "--over", "qafd.mass=5", "--gold", "No such title")
    assert wrong.returncode == 2
    assert "no passage has the title 'No such title'" in wrong.stderr
