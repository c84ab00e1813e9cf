"""HTML that the pages write of texts: marks, names, tables and bars."""

from urllib.parse import unquote

import pytest

from qafd.app import markup


@pytest.mark.parametrize(("marks", "stretch", "html"), [
    ([(2, 4)], (0, None), "ab<mark>cd</mark>efgh"),
    ([(3, 6), (2, 4)], (0, None), "ab<mark>cd</mark><mark>ef</mark>gh"),
    ([(0, 8)], (2, 5), "<mark>cde</mark>"),
    ([(6, 99)], (0, 4), "abcd")])
def test_spans_are_marked_in_a_stretch_of_a_text(marks, stretch, html):
    assert markup.mark_spans("abcdefgh", marks, *stretch) == html


def test_lines_are_kept_with_the_spaces_at_their_ends():
    assert markup.keep_spaces("a \n  <b>\nc") == "a <br> &lt;b&gt;<br>c"
    assert markup.keep_spaces("a\nb", " · ") == "a · b"
    assert markup.mark_spans("a\nb", [], between=" · ") == "a · b"


def test_the_longest_name_wins_and_parts_of_words_are_no_names():
    names = {"Apple": "a", "Apple Inc.": "b", "C++": "c"}
    assert markup.find_names("Apple Inc. and Apples, C++.", names) == [(0, 10, "Apple Inc."), (23, 26, "C++")]
    assert markup.find_names("Apple", {}) == []


def test_names_are_linked_in_text_and_not_in_tags():
    html = markup.mark_names("<b title='Ada'>Ada &amp; Bob, Ada</b>", {"Ada": "n1", "Ada & Bob": "n<2"})
    link = "<span class='name' role='button' tabindex='0' data-name='{}'>{}</span>"
    linked = f"{link.format('n&lt;2', 'Ada &amp; Bob')}, {link.format('n1', 'Ada')}"
    assert html == f"<b title='Ada'>{linked}</b>"


def test_numbers_of_a_table_are_set_apart_and_texts_escaped():
    assert markup.read_table(("name", "mass"), [("<i>", "1,204.5"), ("x", "7 of 9"), ("y", "-2e-5%")]) == (
        "<table class='facts'><tr><th>name</th><th>mass</th></tr>"
        "<tr><td>&lt;i&gt;</td><td class='number'>1,204.5</td></tr>"
        "<tr><td>x</td><td>7 of 9</td></tr><tr><td>y</td><td class='number'>-2e-5%</td></tr></table>")


def test_ticks_are_one_picture_and_full_up_to_a_share():
    html = markup.ticks([0.1, 0.255, 0.9], 0.3, "<hint>", "2 full")
    assert html.startswith("<div role='img' class='ticks' title='&lt;hint&gt;' aria-label='2 full' "
                           "style='--full:30.0%;")
    assert "d='M100,0v1M255,0v1M900,0v1'" in unquote(html)


def test_the_asked_cell_of_a_row_is_marked():
    html = markup.quote_row([("City", "Rome"), ("Size", "<2>")], 1, "<sup>3</sup>")
    assert html.count("<mark>") == 1
    assert "<th scope='row'>City</th><td>Rome</td>" in html
    assert "<th scope='row'>Size</th><td><mark>&lt;2&gt;</mark></td>" in html
    assert html.index("</table>") < html.index("<sup>3</sup>")


@pytest.mark.parametrize(("html", "expected"), [
    (markup.paragraph("a"), "<p>a</p>"), (markup.paragraph("a", "lead"), "<p class='lead'>a</p>"),
    (markup.lines("a", "", "b"), "a<br>b"), (markup.heading("<a>"), "<h2>&lt;a&gt;</h2>"),
    (markup.heading("a", "b"), "<h2>a</h2><small>b</small>"), (markup.best("a", True), "<b>a</b>"),
    (markup.best("a", False), "a"), (markup.best("abc", True, 2), "<b>a…</b>"),
    (markup.cite("1"), "<sup>1</sup>"),
    (markup.bullets(["a", "<b>"]), "<ul><li>a</li><li>&lt;b&gt;</li></ul>"),
    (markup.fold("a", "b"), "<details><summary>a</summary>b</details>"),
    (markup.jump("a", "b"), "<a href='#b'>a ↓</a>"),
    (markup.add_hint("a", "'b"), "<span title='&#x27;b'>a</span>"),
    (markup.anchor_source("a", "b", 3), "<div id='b-3' class='source'>a</div>"),
    (markup.side_by_side(["a", "b"], 3),
     "<div class='beside' style='--columns:3'><section>a</section><section>b</section></div>"),
    (markup.style_words({"a": 'b"'}), '<style>:root {--a: "b\\"";}</style>'),
    (markup.link("compare", {"q": "a & b", "at": ["1-2", "3-4"]}, "x"),
     "<a href='compare?q=a+%26+b&amp;at=1-2&amp;at=3-4' target='_blank'>x</a>")], ids=lambda text: text[:20])
def test_parts_of_a_page_are_these_tags(html, expected):
    assert html == expected
