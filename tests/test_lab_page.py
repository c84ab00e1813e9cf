"""The pages Lab and Learn without a browser."""

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from clicks import page, shown
from faults import serving
from streamlit.testing.v1 import AppTest

from qafd.app.movie import movie_data
from qafd.ingest import index
from qafd.ingest.reader import ModelChoice, choose
from qafd.knowledge import KnowledgeGraph
from qafd.learn.cards import CARDS
from qafd.retrieve.qafd import FlowDiffusion
from qafd.storage import open_workspace
from qafd.view.panel import NAME_LENGTH

ROOT = Path(__file__).parents[1]
TABS = ["Sweep", "Timeline", "Movie", "Gates", "Robustness", "Embeddings", "Guarantees", "Scale"]


def quiet(name: str, **query: str) -> AppTest:
    """A page that shows no error."""
    app = page(name, **query)
    assert not app.error
    return app


@pytest.mark.parametrize("tab", TABS)
def test_every_experiment_runs_on_the_sample_with_words_and_data(tab: str, home: Path) -> None:
    app = quiet("lab", experiment=tab)
    charts = app.get("plotly_chart")
    assert len(charts) == {"Sweep": 3, "Guarantees": 2, "Movie": 0, "Embeddings": 0}.get(tab, 1)
    data = [button for button in app.get("download_button")
            if button.proto.label == "Data as CSV"]
    assert len(data) == (len(charts) or {"Movie": 1}.get(tab, 0))
    for chart in charts:
        assert any(letter.isdigit() for letter in chart.proto.alt)


@pytest.mark.parametrize("tab", ["Guarantees", "Scale"])
def test_experiments_on_graphs_of_their_own_show_no_control_that_does_nothing(
        tab: str, home: Path) -> None:
    app = quiet("lab", experiment=tab)
    assert not app.text_input
    assert "best_mass" not in [slider.key for slider in app.slider]
    assert "nodes retrieved" not in shown(app)


def test_a_sweep_outlines_the_settings_it_began_with(home: Path) -> None:
    charts = quiet("lab", best_mass="33").get("plotly_chart")
    shapes = [json.loads(chart.proto.spec)["layout"].get("shapes", []) for chart in charts]
    assert [len(some) for some in shapes] == [0, 0, 1]  # plain, hybrid, product
    [cell] = shapes[2]
    across = json.loads(charts[2].proto.spec)["data"][0]["x"]
    assert across[int(cell["x0"] + 0.5)] == "33"
    assert (cell["y0"], cell["y1"]) == (0.5, 1.5)  # 5 of 0, 5, 10, 20 seeds
    assert "outlined: mass 33, 5 seeds" in charts[2].proto.alt


def luminance(color: str) -> float:
    """Relative luminance of "#rrggbb", from the definition in WCAG 2.1."""
    parts = [int(color[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    line = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * line[0] + 0.7152 * line[1] + 0.0722 * line[2]


def test_every_number_of_a_sweep_can_be_read_on_the_color_of_its_cell(home: Path) -> None:
    for chart in quiet("lab").get("plotly_chart"):
        figure = json.loads(chart.proto.spec)
        heat, *texts = [trace for trace in figure["data"]
                        if trace["type"] == "heatmap" or trace.get("mode") == "text"]
        stops = [color for _, color in heat["colorscale"]]
        numbers = [(float(text.replace(",", "")), trace["textfont"]["color"])
                   for trace in texts for text in trace["text"]]
        assert len(numbers) == 32  # 8 masses, 4 numbers of seeds
        for value, ink in numbers:
            at = (value - heat["zmin"]) / (heat["zmax"] - heat["zmin"]) * (len(stops) - 1)
            below = min(int(at), len(stops) - 2)
            cell = luminance("#" + "".join(f"{round(a + (at - below) * (b - a)):02x}" for a, b in (
                [int(stop[i:i + 2], 16) for stop in stops[below:below + 2]] for i in (1, 3, 5))))
            text = luminance(ink)
            assert (max(cell, text) + 0.05) / (min(cell, text) + 0.05) >= 4.2


def test_a_timeline_has_a_line_at_the_mass_of_now(home: Path) -> None:
    [chart] = quiet("lab", experiment="Timeline", best_mass="33").get("plotly_chart")
    [line] = json.loads(chart.proto.spec)["layout"]["shapes"]
    assert (line["x0"], line["x1"]) == (33, 33)
    assert "the mass is 33 now" in chart.proto.alt


def test_a_seed_that_brings_nobody_is_named_once_in_a_timeline(home: Path) -> None:
    [chart] = quiet("lab", experiment="Timeline", preset="As in the paper").get("plotly_chart")
    figure = json.loads(chart.proto.spec)
    headings = [words["text"].removeprefix("<b>").removesuffix("</b>")
                for words in figure["layout"]["annotations"] if words["text"].startswith("<b>")]
    lanes = [[text.strip() for text in trace["text"]]
             for trace in figure["data"] if trace.get("mode") == "text"]
    alone = [names[0] for names in lanes if len(names) == 1]
    assert "Amazon" in alone
    assert not set(alone) & set(headings)
    assert any(len(names) > 1 and names[0] in headings for names in lanes)


def test_robustness_begins_with_noise_that_some_nodes_do_not_outlast(home: Path) -> None:
    app = quiet("lab", experiment="Robustness")
    [chart] = app.get("plotly_chart")
    figure = json.loads(chart.proto.spec)
    shares = [share for bars in figure["data"][:2] for share in bars["x"]]
    assert max(shares) == 100
    assert min(shares) < 100
    usual = figure["data"][0]["x"]
    assert usual == sorted(usual, reverse=True)
    axis = figure["layout"]["xaxis"]
    assert 100 in axis["tickvals"]
    assert axis["range"][1] >= 100


def test_data_is_offered_by_what_looks_like_a_button(home: Path) -> None:
    for tab in ("Sweep", "Movie"):
        data = [button.proto for button in quiet("lab", experiment=tab).get("download_button")
                if button.proto.label == "Data as CSV"]
        assert {button.type for button in data} == {"secondary"}


@pytest.mark.parametrize("preset", ["best", "paper"])
@pytest.mark.parametrize("tab", TABS[:5])
def test_every_experiment_works_on_a_tiny_workspace(tab: str, preset: str, home: Path) -> None:
    KnowledgeGraph(home / "tiny.db").add_text("a.txt", "Ada Lovelace met Charles Babbage.")
    app = quiet("lab", experiment=tab, ws="tiny", q="Whom did Ada Lovelace meet?", preset=preset)
    assert app.get("plotly_chart") or tab == "Movie"


@pytest.mark.parametrize("tab", TABS)
def test_every_experiment_works_on_an_empty_workspace(tab: str, home: Path) -> None:
    KnowledgeGraph.open(home / "fresh.db")
    app = quiet("lab", experiment=tab, ws="fresh", q="who?")
    assert ("This workspace is empty" in shown(app)) is (tab in TABS[:5])


def test_a_sweep_counts_its_solves_and_shows_recall_once_gold_is_named(home: Path) -> None:
    app = quiet("lab")
    assert "96 solves took" in shown(app)
    assert "Recall" not in app.segmented_control(key="sweep_metric").options
    gold = app.multiselect[0]
    gold.set_value([gold.options[0]]).run()
    assert not app.exception
    assert "Recall" in app.segmented_control(key="sweep_metric").options


def test_a_place_where_the_theorem_fails_moves_the_sliders_and_is_named(home: Path) -> None:
    app = quiet("lab", experiment="Guarantees")
    app.button_group(key="place").set_value("Gamma is 0").run()
    assert not app.exception
    assert app.slider(key="planted_gamma").value == 0.0
    assert "nothing is separated" in shown(app)


def test_a_link_has_the_settings_of_an_experiment(home: Path) -> None:
    app = page("lab", experiment="Guarantees", planted_relevant="40", planted_draws="3",
               planted_source="false")
    assert app.slider(key="planted_relevant").value == 40
    assert not app.toggle(key="planted_source").value
    assert app.table[0].value["happened"][0].endswith("of 3 draws")
    scaled = page("lab", experiment="Scale", largest="10,000", scale_mass="30")
    assert scaled.select_slider(key="largest").value == 10_000
    assert scaled.slider(key="scale_mass").value == 30


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.key)
def test_every_card_is_shown_with_its_place_in_the_paper(card, home: Path) -> None:
    app = quiet("learn", card=card.key)
    assert card.where in shown(app)
    assert card.answer.split(".")[0] in shown(app)
    assert len([*app.slider, *app.get("button_group")]) == 1 + len(card.ranges)


def test_a_teachers_link_hides_every_control(home: Path) -> None:
    app = quiet("learn", teach="1", card="gates", mass="8", variant="product", seed="3")
    assert not [*app.slider, *app.get("button_group"), *app.selectbox]
    text = shown(app)
    assert "Gates that know the question" in text
    assert "Pipes and buckets" not in text


def test_a_teachers_link_to_no_card_opens_the_first(home: Path) -> None:
    assert CARDS[0].title in shown(quiet("learn", teach="1", card="<script>"))


def test_names_in_a_movie_are_cleaned_and_unplaced_nodes_are_kept() -> None:
    from qafd.learn.card import filmed

    card = CARDS[0]
    movie = filmed(card, card.start)
    names = ["‮<b>evil\n", "x" * 500, *card.toy.names[2:]]
    data = movie_data(movie, names, {0: (0.1, 0.2)})
    assert data["nodes"][0]["name"] == "<b>evil"
    assert len(data["nodes"][1]["name"]) == NAME_LENGTH
    assert data["nodes"][1]["at"] is None
    assert json.loads(json.dumps(data))["edges"][2] == movie.weight.tolist()


def sweep(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, "-m", "qafd", "sweep", *arguments], text=True,
                          capture_output=True, timeout=120)


def test_the_command_prints_one_row_per_combination(tmp_path: Path) -> None:
    knowledge = KnowledgeGraph.sample("apple-amazon", tmp_path)
    question = "Introduce Steve Jobs's products in Apple."
    result = sweep(question, "--db", str(knowledge.path), "--alpha", "1,5", "--seeds", "5",
                   "--variant", "plain,product", "--csv")
    assert result.returncode == 0, result.stderr
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    assert [(r["mass"], r["variant"]) for r in rows] == [
        ("1.0", "plain"), ("5.0", "plain"), ("1.0", "product"), ("5.0", "product")]
    alone = knowledge.retrieve(question, FlowDiffusion(
        mass=5.0, seeds=5, variant="product", rule="source-degree"))
    assert int(rows[3]["size"]) == sum(n.importance > 0 for n in alone.nodes)
    wrong = sweep(question, "--db", str(knowledge.path), "--mass", "5", "--gold", "No such title")
    assert wrong.returncode == 2
    assert "no passage has the title 'No such title'" in wrong.stderr


def test_two_embedding_models_are_compared_side_by_side(home: Path) -> None:
    path = KnowledgeGraph.sample("apple-amazon", home).path
    with serving() as server:
        with open_workspace(path) as store:
            choose(store, ModelChoice(embedder="m", embedder_url=server.url))
            store.vectors.forget()
            store.graph.drop()
        index(path, processes=1)
        app = quiet("lab", experiment="Embeddings")
        text = shown(app)
        assert "Now: m, 4 dimensions. Earlier: all-MiniLM-L6-v2-w8a8, 384" in text
        assert [chart.proto.alt.split(" ")[0] for chart in app.get("plotly_chart")] == [
            "Histogram"] * 3
        assert "only in the second" in text
        next(b for b in app.button if b.label == "Drop the earlier vectors").click().run()
        assert not app.exception
        assert "This workspace has one embedding: m" in shown(app)
