"""Names in texts of other scripts; every offset is checked against the letters it must cover."""

import pytest

from qafd.ingest.grounding import ground
from qafd.models.prompts import Records
from qafd.reading.text import NameIndex, canonical
from qafd.reading.text.bm25 import Bm25, content_words, words
from qafd.reading.text.scripts import is_other
from qafd.records import Chunk, Description, Extraction

CASES = [
    ("乔布斯与沃兹尼亚克于1976年在加州创立了苹果公司。",
     ["乔布斯", "苹果公司", "加州"], ["乔布斯", "加州", "苹果公司"]),
    ("ＩＢＭの本社はｱｯﾌﾟﾙ社と別で、アップルパイではない。", ["IBM", "アップル"], ["ＩＢＭ", "ｱｯﾌﾟﾙ"]),
    ("スティーブ・ジョブズはパリにいた。", ["スティーブ・ジョブズ", "パリ"],
     ["スティーブ・ジョブズ", "パリ"]),
    ("Поэт Пушкин жил в Москве. О Пушкине писали в России.", ["Пушкин", "Москва", "Россия"],
     ["Пушкин", "Москве", "Пушкине", "России"]),
    ("ولد نجيب محفوظ في القاهرة. عاش بالقاهرة.", ["نجيب محفوظ", "القاهرة"],
     ["نجيب محفوظ", "القاهرة", "القاهرة"]),
    ("서울은 대한민국의 수도이다.", ["서울", "대한민국"], ["서울", "대한민국"]),
    ("กรุงเทพมหานครเป็นเมืองหลวงของประเทศไทย", ["กรุงเทพมหานคร", "ประเทศไทย"],
     ["กรุงเทพมหานคร", "ประเทศไทย"]),
    ("महात्मा गांधी का जन्म पोरबंदर में हुआ।", ["महात्मा गांधी", "पोरबंदर"],
     ["महात्मा गांधी", "पोरबंदर"]),
]
IDS = ["zh", "width", "ja", "ru", "ar", "ko", "th", "hi"]


@pytest.mark.parametrize(("text", "names", "found"), CASES, ids=IDS)
def test_names_are_found_in_any_script(text, names, found):
    index = NameIndex(map(canonical, names))
    assert [text[start:end] for _, start, end in index.find(text, [0])] == found


@pytest.mark.parametrize(("text", "names", "found"), CASES, ids=IDS)
def test_records_of_a_model_stay_where_the_text_has_them(text, names, found):
    chunk = Chunk("c", "d", "", text, 0, len(text))
    local = Extraction("c", "local", ((0, len(text)),), (), ())
    records = Records(tuple(Description(name, kind="PERSON", text="x") for name in names), (
        Description(names[0], names[1], keywords=("k",), text="x"),))
    entry = ground(chunk, local, records, "model").extraction
    assert [m.name for m in entry.mentions] == found
    assert all(text[m.start:m.end] == m.name for m in entry.mentions)
    assert [(a.source, a.target) for a in entry.assertions] == [
        (canonical(names[0]), canonical(names[1]))]


def test_a_name_may_be_written_with_a_space_or_dot_more():
    index = NameIndex(["スティーブ・ジョブズ"])
    assert [(a, b) for _, a, b in index.find("スティーブ ジョブズと")] == [(0, 10)]


def test_european_text_is_read_as_before():
    assert not is_other("Émile naïve “quoted” – straße Αθήνα 5 €".replace("Αθήνα", ""))


def test_words_without_spaces_are_pairs_of_letters():
    assert words("苹果公司由ＩＢＭ创立 in 1976") == [
        "苹果", "果公", "公司", "司由", "ibm", "创立", "in", "1976"]


def test_a_question_is_searched_for_without_its_function_letters():
    assert content_words("谁创立了苹果公司？") == ["创立", "苹果", "果公", "公司"]
    assert content_words("アップルを作ったのは誰ですか") == ["アッ", "ップ", "プル"]
    assert content_words("谁的？") == ["谁的"]


def test_pairs_of_letters_find_the_passage():
    bm25 = Bm25.build(["苹果公司在加州", "谷歌公司在加州", "水果"])
    found = bm25.contributions(content_words("苹果公司在哪里？"))
    assert found.sum(axis=1).argmax() == 0
