"""Names of short texts in five languages, against what a reader of them would mark."""

import pytest
from texts_in_languages import CHINESE, GERMAN, JAPANESE

from qafd.reading.names import LocalExtractor
from qafd.reading.names.foreign import sentences
from qafd.records import Chunk, Extraction


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
