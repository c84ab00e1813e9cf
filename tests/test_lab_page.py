"""The pages Lab and Learn without a browser."""


import pytest
from clicks import page, shown


def quiet(name, **query):
    """A page that shows no error."""
    app = page(name, **query)
    assert not app.error
    return app


@pytest.mark.parametrize("tab", ["Timeline", "Robustness"])
def test_an_experiment_says_its_chart_in_words_and_gives_its_data(tab, home):
    app = quiet("lab", experiment=tab)
    [chart] = app.get("plotly_chart")
    assert any(letter.isdigit() for letter in chart.proto.alt)
    assert [button.proto.label for button in app.get("download_button")
                               if button.proto.label == "Data as CSV"] == ["Data as CSV"]


def test_the_timeline_over_pushes_is_the_movie(home):
    app = quiet("lab", experiment="Timeline", over="Pushes")
    assert not app.get("plotly_chart")
    assert "after 500 pushes" in shown(app)


def test_a_link_has_the_settings_of_an_experiment(home):
    app = page("lab", experiment="Guarantees", planted_relevant="40", planted_draws="3",
               planted_source="false")
    assert app.slider(key="planted_relevant").value == 40
    assert not app.toggle(key="planted_source").value
    assert "of 3 draws" in shown(app)


def test_the_family_leads_from_pagerank_to_flow_and_is_measured(home):
    app = quiet("lab", experiment="Family", family="0.25")
    assert "at 0.25" in shown_html(app)
    assert "all proved optimal" in shown(app)
    next(button for button in app.button if button.label == "Measure the bundled questions").click().run()
    assert not app.exception
    assert "mean of 24 questions" in shown_html(app)


def shown_html(app):
    return " ".join(html.proto.body for html in app.get("html"))
