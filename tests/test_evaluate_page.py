"""The Evaluate page: bundled, uploaded and written gold, and what it says about methods."""

from urllib.parse import parse_qs

from clicks import page, shown


def measure(app):
    next(button for button in app.button if button.label.startswith("Measure ")).click().run()


def test_nothing_is_measured_before_it_is_asked_for_and_then_on_the_bundled_questions(home):
    app = page("evaluate")
    assert not app.dataframe
    measure(app)
    assert not app.exception
    assert not app.error
    assert "24 questions, 14 passages" in shown(app)
    told = next(html.proto.body for html in app.get("html") if "verdict" in html.proto.body)
    numbers, questions = (frame.value for frame in app.dataframe)
    assert list(numbers["method"])[0] == "QAFD flow diffusion"
    assert all(name in told for name in numbers["method"])
    assert len(questions) == 24
    alt = app.get("plotly_chart")[0].proto.alt
    assert [f"{name} {share:.2f} (" in alt for name, share in zip(
        numbers["method"], numbers["Found in 2"], strict=True)] == [True] * len(numbers)
    assert list(questions.columns) == ["question", *numbers["method"]]
    assert list(numbers["difference (95%)"])[0] == ""
    assert (numbers["nodes"] > 0).all()
    assert "Gold passages, in the order of the ranks: " in shown(app)
    links = [(link.proto.label, link.proto.query_string) for link in app.get("page_link")]
    assert [label for label, _ in links] == ["Open in Explore", "Open in Compare"]
    assert [parse_qs(query) for _, query in links] == 2 * [
        {"ws": ["apple-amazon"], "q": [questions["question"][0]]}]
