"""Names in texts of other scripts and languages; offsets are those of the letters they must cover."""

import pytest
from texts_in_languages import CHINESE, GERMAN, JAPANESE

from qafd.ingest.grounding import ground
from qafd.models.prompts import Records
from qafd.reading.names import LocalExtractor
from qafd.reading.names.foreign import sentences
from qafd.reading.text import NameIndex, canonical
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


@pytest.fixture(scope="module")
def extractor() -> LocalExtractor:
    return LocalExtractor()


def read(extractor: LocalExtractor, text: str) -> Extraction:
    return extractor.extract(Chunk("c", "d", "", text, 0, len(text)))


def names(extraction: Extraction) -> list[str]:
    return [m.name for m in extraction.mentions if m.kind not in ("title", "term")]


@pytest.mark.parametrize("texts", [CHINESE, JAPANESE, GERMAN], ids=["zh", "ja", "de"])
def test_every_document_has_names_and_relations_in_its_sentences(extractor, texts):
    for text in texts.values():
        extraction = read(extractor, text)
        assert len(extraction.sentences) == text.count(".") + text.count("。")
        assert len(names(extraction)) > 2
        assert extraction.assertions
        for m in extraction.mentions:
            start, end = extraction.sentences[m.sentence]
            assert start <= m.start < m.end <= end


@pytest.mark.parametrize(("text", "parts"), [
    ("他来了。“走吧！”她说。\n\n完", ["他来了。", "“走吧！”", "她说。", "完"]),
    ("本当？はい。", ["本当？", "はい。"]),
    ("Am 3. Mai kam Dr. Vogel z. B. aus Wien. Er blieb.",
     ["Am 3. Mai kam Dr. Vogel z. B. aus Wien.", "Er blieb."]),
    ("¿Dónde está? ¡Aquí!", ["¿Dónde está?", "¡Aquí!"]),
    ("Name: 林\nOrt: 北京", ["Name: 林\nOrt: 北京"]),
    ("- eins zwei\n- drei vier", ["eins zwei", "drei vier"]),
])
def test_sentences_end_where_readers_end_them(text, parts):
    assert [text[start:end] for start, end in sentences(text)] == parts


def test_english_passages_are_read_as_without_others(extractor):
    english = Chunk("a", "d", "", "Ada Lovelace wrote to Charles Babbage in London.", 0, 48)
    other = Chunk("b", "d", "", CHINESE["青石桥"], 0, len(CHINESE["青石桥"]))
    mixed = list(extractor.extract_all([other, english, other]))
    assert mixed[1] == extractor.extract(english)
    assert mixed[0] == mixed[2]
