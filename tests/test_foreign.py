"""Names of short texts in five languages, against what a reader of them would mark."""

import pytest
from texts_in_languages import CHINESE, FRENCH, GERMAN, JAPANESE, SPANISH

from qafd.reading.names import LocalExtractor
from qafd.reading.names.foreign import sentences
from qafd.reading.names.languages import language_of
from qafd.records import Chunk, Extraction


@pytest.fixture(scope="module")
def extractor() -> LocalExtractor:
    return LocalExtractor()


def read(extractor: LocalExtractor, text: str) -> Extraction:
    return extractor.extract(Chunk("c", "d", "", text, 0, len(text)))


def names(extraction: Extraction) -> list[str]:
    return [m.name for m in extraction.mentions if m.kind not in ("title", "term")]


@pytest.mark.parametrize(("text", "found"), [
    (CHINESE["江湖诊所"], ["林晓梅", "绍兴市", "江湖诊所", "鉴湖", "陈国强", "林晓梅", "浙江大学"]),
    (CHINESE["白鹭研究所"], ["白鹭研究所", "英国", "史蒂夫·哈里森", "厦门大学"]),
    (CHINESE["月光乐团"], ["月光乐团", "广州", "马思远", "维也纳", "春江花月夜"]),
    ("林語堂在廈門創辦了《論語》雜誌。國立臺灣大學位於臺北市。",
     ["林語堂", "廈門", "論語", "國立臺灣大學", "臺北市"]),
    (JAPANESE["桜井書店"], ["桜井書店", "東京", "神保町", "中村一郎", "霧の灯台", "桜井文子"]),
    (JAPANESE["ミナト水族館"], ["ミナト水族館", "神戸港", "山本由紀", "カリフォルニア大学"]),
    (GERMAN["Merkel"], ["Angela Merkel", "Hamburg", "Leipzig", "Deutschland", "Olaf Scholz"]),
    (GERMAN["Sternwarte"], ["Universität Tübingen", "Karl von Lindau", "Wien", "Göttingen"]),
    (FRENCH["Poète"], ["Victor Hugo", "Les Misérables", "Guernesey", "Hugo", "France"]),
    (FRENCH["Peintre"], ["Henri de Montfort", "Lyon", "Claude Monet", "Giverny", "Musée d'Orsay"]),
    (SPANISH["Barco"], ["Santa Lucía", "Cádiz", "Juan de la Vega", "La Habana"]),
    ("Александр Пушкин родился в Москве. Он учился в Царском Селе и жил в Петербурге.",
     ["Александр Пушкин", "Москве", "Царском Селе", "Петербурге"]),
], ids=["zh 1", "zh 2", "zh 3", "zh 4", "ja 1", "ja 2", "de 1", "de 2", "fr 1", "fr 2", "es", "ru"])
def test_most_names_that_a_reader_would_mark_are_found(extractor, text, found):
    extraction = read(extractor, text)
    marked = set(found)
    assert len(marked.intersection(names(extraction))) >= 0.7 * len(marked)
    assert all(text[m.start:m.end] == m.name for m in extraction.mentions)


@pytest.mark.parametrize("texts", [CHINESE, JAPANESE, GERMAN, FRENCH, SPANISH],
                         ids=["zh", "ja", "de", "fr", "es"])
def test_every_document_has_names_and_relations_in_its_sentences(extractor, texts):
    for text in texts.values():
        extraction = read(extractor, text)
        assert len(extraction.sentences) == text.count(".") + text.count("。")
        assert len(names(extraction)) > 2
        assert extraction.assertions
        for m in extraction.mentions:
            start, end = extraction.sentences[m.sentence]
            assert start <= m.start < m.end <= end


@pytest.mark.parametrize(("text", "pair", "label"), [
    ("李文博在北京创立星河出版社。", ("李文博", "星河出版社"), "创立"),
    ("夏目漱石は東京帝国大学で学んだ。", ("夏目漱石", "東京帝国大学"), "学ぶ"),
    ("井深大がソニー株式会社を創業した。", ("井深大", "ソニー株式会社"), "創業"),
    ("Karl Benz lebte in Mannheim und war dort auch zu Hause.", ("karl benz", "mannheim"), ""),
])
def test_relations_are_labeled_by_verbs_that_are_known(extractor, text, pair, label):
    found = {(a.source, a.target): a.label for a in read(extractor, text).assertions}
    assert found[pair] == label


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


@pytest.mark.parametrize(("text", "language"), [
    ("谁创立了苹果公司？", "zh"), ("アップルを創業したのは誰ですか", "ja"),
    ("서울은 수도이다", "other"),
    ("Wo wurde Angela Merkel geboren?", "de"), ("Où est né Victor Hugo ?", "fr"),
    ("¿Quién fundó Zara?", "es"), ("Где родился Пушкин?", "ru"), ("Who is Angela Merkel?", "en"),
    ("Victor Hugo", "en"), ("", "en"), ("x = y + 1; print(x)", "en"),
    ("El Cielo en las manos is a 1950 Argentine film.", "en"),
    ("The kanji 東京都庁舎 names the Tokyo Metropolitan Government Building.", "en"),
])
def test_the_language_of_a_text(text, language):
    assert language_of(text, least=1) == language


def test_english_passages_are_read_as_without_others(extractor):
    english = Chunk("a", "d", "", "Ada Lovelace wrote to Charles Babbage in London.", 0, 48)
    other = Chunk("b", "d", "", CHINESE["青石桥"], 0, len(CHINESE["青石桥"]))
    mixed = list(extractor.extract_all([other, english, other]))
    assert mixed[1] == extractor.extract(english)
    assert mixed[0] == mixed[2]
