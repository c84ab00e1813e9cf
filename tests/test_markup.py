"""HTML that the pages write of texts: marks, names, tables and bars."""

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


def test_ticks_of_full_nodes_are_apart_from_those_to_come():
    html = markup.ticks([(0.1, True), (0.255, True), (0.9, False)], "<hint>", "2 full")
    assert html == ("<div role='img' class='ticks' title='&lt;hint&gt;' aria-label='2 full'>"
                    "<b><i style='left:10.0%'></i><i style='left:25.5%'></i></b>"
                    "<i style='left:90.0%'></i></div>")
