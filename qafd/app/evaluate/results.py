"""The results of an evaluation: verdict, chart, tables of numbers, and question by question."""

import json
from collections.abc import Sequence
from textwrap import wrap
from typing import Any

import streamlit as st

from qafd.app.escaping import brief, plain, safe
from qafd.app.figures import GREEN
from qafd.app.markup import paragraph
from qafd.app.pages import way
from qafd.app.session import choose_option, forget, value_of
from qafd.app.tables import download, table
from qafd.evaluate import Evaluation
from qafd.view.panel import clean
from qafd.wording import count
from qafd.wording.comparison import (
    MEASURES,
    say_differences,
    say_gap,
    say_highest,
    say_interval,
    say_missed,
)
from qafd.wording.reasons import word_notice

MISSED = "–"
NAME_WIDTH = 18  # letters of a method's name on a line next to its bar
COLUMNS = {"difference (95%)": "Difference to the first method, question by question",
           "nodes": "Mean number of retrieved entities, passages and nodes of layers",
           "tokens": "Mean tokens of the retrieved nodes",
           "ms": "Median time of a retrieval once the question was read"}


def verdict(result: Evaluation) -> str:
    """Draw the size of the evaluation, the choice of a measure, and the verdict.

    Returns the chosen one of `qafd.evaluate.MEASURES`.
    """
    st.caption(f"{count(len(result.questions), 'question')}, "
                f"{count(result.passages, 'passage')}. Intervals are 95% bootstrap intervals "
                "over the questions.")
    for notice in result.notices:
        st.caption(f":material/info: {plain(word_notice(notice))}")
    for score in result.scores:
        if score.errors:
            refused = next(trial.error for trial in score.trials if trial.error)
            words = (f"{score.label} refused {score.errors} of "
                     f"{count(len(score.trials), 'question')}, which count as missed: "
                     f"{refused}")
            st.caption(f":material/error: {plain(words)}")
    if value_of("by", None) not in (None, *MEASURES):
        forget("by")
    labels = {key: words.label for key, words in MEASURES.items()}
    measure = choose_option("Compare by", labels, "by", result.main)
    st.caption(MEASURES[measure].meaning)
    st.html(paragraph(safe(say_differences(result.scores, measure)), "verdict"))
    for sentence in say_missed(result.scores):
        st.html(paragraph(safe(sentence), "verdict"))
    return measure


def chart(result: Evaluation, measure: str) -> None:
    """Draw a measure of each method as a bar with its interval."""
    scores = result.scores
    shares = [score.intervals[measure] for score in scores]
    labels = [clean(score.label, 60) for score in scores]
    narrow = ["<br>".join(wrap(label.replace("<", "‹"), NAME_WIDTH)) for label in labels]
    means = [share.mean for share in shares]
    end = max(0.1, *(share.high for share in shares))
    # a bar too short for its number leaves it to the table
    texts = [f"{mean:.2f}" if mean > 0.2 * end else "" for mean in means]
    figure = {
        "data": [{
            "type": "bar", "orientation": "h", "x": means, "y": narrow, "text": texts,
            "textposition": "inside", "insidetextanchor": "start", "textangle": 0,
            "marker": {"color": GREEN}, "insidetextfont": {"color": "#ffffff"},
            "error_x": {"type": "data", "symmetric": False, "color": "#7a7a7a", "thickness": 2,
                        "array": [share.high - share.mean for share in shares],
                        "arrayminus": [share.mean - share.low for share in shares]}}],
        "layout": {
            "xaxis": {"range": [0, 1.04 * end]},
            "yaxis": {"automargin": True, "autorange": "reversed"}, "height": 90 + 36 * len(scores),
            "margin": {"l": 0, "r": 10, "t": 10, "b": 0}}}
    told = [f"{label} {share.mean:.2f} ({say_interval(share)})"
            for label, share in zip(labels, shares, strict=True)]
    st.plotly_chart(
        figure, theme="streamlit", config={"displayModeBar": False},
        alt=f"{MEASURES[measure].label}, with 95% intervals: {'; '.join(told)}")
    highest = say_highest(result.best(measure), len(scores), measure)
    st.caption(f"Bars: mean {MEASURES[measure].phrase}; whiskers: 95%. {plain(highest)}")


def numbers(result: Evaluation, measure: str) -> None:
    """Draw one row per method: the measure, its difference from that of the first method, and the cost."""
    scores, words = result.scores, MEASURES[measure]
    gaps = [""] + [say_gap(score.differences[measure]) for score in scores[1:]]
    table({"method": _methods(result), words.label: [score.intervals[measure].mean for score in scores],
           "95%": [say_interval(score.intervals[measure]) for score in scores],
           "difference (95%)": gaps, "nodes": [score.nodes for score in scores],
           "tokens": [round(score.tokens) for score in scores],
           "ms": [score.milliseconds for score in scores]},
          formats={words.label: "%.3f", "nodes": "%.0f", "tokens": "localized", "ms": "%.1f"},
          meanings={words.label: words.meaning, **COLUMNS})
    download("Everything as JSON", lambda: json.dumps(result.to_dict(), ensure_ascii=False),
             "evaluation.json", "application/json", help="With every measure, question by question.")


def _methods(result: Evaluation) -> list[str]:
    return [score.label for score in result.scores]


def questions_table(result: Evaluation, measure: str) -> None:
    """List the questions, failures first; a selected one shows all of its gold and its ranks."""
    st.header("Question by question", anchor=False)
    order = result.failures_first(measure)
    cells: dict[str, list[Any]] = {"question": [result.questions[place].text for place in order]}
    config = {"question": st.column_config.TextColumn(width=340)}
    for score in result.scores:
        trials = [score.trials[place] for place in order]
        cells[score.label] = [_ranks(trial.ranks) for trial in trials]
        config[score.label] = st.column_config.TextColumn(clean(score.label, 40))
    event = table(cells, on_select="rerun", selection_mode="single-row", key="evaluated",
                  column_config=config)
    st.caption("“1, 4” means that the first gold passage is ranked first and the second fourth; “–” means "
               "not ranked. Failures come first. Choose a row to see what was missed.")
    chosen = [row for row in event["selection"]["rows"] if row < len(order)]
    _question(result, order[chosen[0] if chosen else 0])


def _question(result: Evaluation, place: int) -> None:
    """Draw one question with its gold, and links."""
    question = result.questions[place]
    st.markdown(f"### {brief(question.text, 600)}")
    with st.container(horizontal=True, gap="small"):
        way("explore", "Open in Explore", q=question.text)
        way("compare", "Open in Compare", q=question.text)
    st.caption(plain(f"Gold passages, in the order of the ranks: {clean(' | '.join(question.gold), 600)}"))
    if question.answers:
        st.caption(plain(f"Known answer: {clean(' | '.join(question.answers), 600)}"))


def _ranks(ranks: Sequence[int | None]) -> str:
    return ", ".join(MISSED if rank is None else str(rank) for rank in ranks)
