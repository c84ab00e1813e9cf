"""Names in texts of other scripts and languages; offsets are those of the letters that they must cover."""

import pytest
from texts_in_languages import CHINESE, CHINESE_QUESTIONS, GERMAN, JAPANESE, JAPANESE_QUESTIONS

from qafd.ingest.grounding import ground
from qafd.knowledge import KnowledgeGraph
from qafd.models.prompts import Records
from qafd.reading.names import LocalExtractor
from qafd.reading.names.foreign import sentences
from qafd.reading.names.languages import language_of
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
    entry = ground(chunk, local, records, "model")
    assert [m.name for m in entry.mentions] == found
    assert all(text[m.start:m.end] == m.name for m in entry.mentions)
    assert [(a.source, a.target) for a in entry.assertions] == [
        (canonical(names[0]), canonical(names[1]))]


@pytest.fixture(scope="module")
def extractor():
    return LocalExtractor()


def read(extractor, text):
    return extractor.extract(Chunk("c", "d", "", text, 0, len(text)))


def names(extraction):
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
    ("यह दिल्ली है। वह आगरा है।", ["यह दिल्ली है।", "वह आगरा है।"]),
    ("Սա Երևանն է։ Այն մեծ է։", ["Սա Երևանն է։", "Այն մեծ է։"]),
    ("Name: 林\nOrt: 北京", ["Name: 林\nOrt: 北京"]),
    ("- eins zwei\n- drei vier", ["eins zwei", "drei vier"]),
])
def test_sentences_end_where_readers_end_them(text, parts):
    assert [text[start:end] for start, end in sentences(text)] == parts


@pytest.mark.parametrize(("text", "twice"), [
    ("กรุงเทพมหานครเป็นเมืองหลวงของประเทศไทย และเป็นศูนย์กลางการปกครอง แม่น้ำเจ้าพระยาไหลผ่านกรุงเทพมหานคร "
     "ประเทศไทยมีแม่น้ำหลายสาย เช่น แม่น้ำเจ้าพระยาและแม่น้ำโขง",
     {"กรุงเทพมหานคร", "ประเทศไทย", "แม่น้ำเจ้าพระยา", "แม่น้ำ"}),
    ("दिल्ली भारत की राजधानी है। यमुना नदी दिल्ली से बहती है। नई दिल्ली में संसद भवन है और भारत की सरकार है।",
     {"दिल्ली", "भारत"}),
    ("لعب نيوتن في كارولينا. قال نيوتن إن دنفر قوية. خسرت كارولينا أمام دنفر.",
     {"نيوتن", "كارولينا", "دنفر"}),
    ("서울은 대한민국의 수도이다. 대한민국의 정부는 서울에 있다.", {"대한민국의"}),
], ids=["th", "hi", "ar", "ko"])
def test_terms_without_capitals_are_what_a_passage_says_twice(extractor, text, twice):
    terms = [m for m in read(extractor, text).mentions if m.kind == "term"]
    assert {m.name for m in terms} == twice
    assert all(text[m.start:m.end] == m.name for m in terms)


@pytest.mark.parametrize(("text", "code"), [
    ("Thành phố Hồ Chí Minh là thành phố lớn nhất của Việt Nam và là trung tâm của cả nước.", "vi"),
    ("Kolayca görüldüğü gibi bu şehir ülkenin en büyük şehridir ve çok eski bir tarihi vardır.", "tr"),
    ("La ville de Lyon est située au confluent du Rhône et de la Saône.", "fr"),
    ("Ayşe Kaya'nın dükkânı Bodrum'da. Dükkân 1998'de açıldı.", "tr"),
    ("Name: José Núñez\nTown: Málaga\n\nName: Jörg Müller\nTown: Köln\n\nName: Bo Lund\nTown: Bodø", "en"),
    ("Żółw śpi w Łodzi.", "pl"),
    ("Երևանը Հայաստանի մայրաքաղաքն է։", "und"),
    ("თბილისი საქართველოს დედაქალაქია", "other"),
    ("name,price\nbolt,3\nscrew 3 mm,7", "en"),
    ("Rukn (رکن الدوله دیلمی) was the first amir of northern and central Iran.", "en"),
    ("Lương Văn Được Em (born 1985 in Hồng Ngự) is a footballer who plays for the club.", "en"),
])
def test_a_language_is_told_by_letters_and_function_words(text, code):
    assert language_of(text) == code


def test_a_long_text_without_signs_is_cut_at_its_spaces():
    text = " ".join(["กรุงเทพมหานครเป็นเมืองหลวงของประเทศไทย"] * 12)
    parts = [text[start:end] for start, end in sentences(text)]
    assert " ".join(parts) == text
    assert all(120 <= len(part) <= 160 for part in parts[:-1])


def test_english_passages_are_read_as_without_others(extractor):
    english = Chunk("a", "d", "", "Ada Lovelace wrote to Charles Babbage in London.", 0, 48)
    other = Chunk("b", "d", "", CHINESE["青石桥"], 0, len(CHINESE["青石桥"]))
    mixed = list(extractor.extract_all([other, english, other]))
    assert mixed[1] == extractor.extract(english)
    assert mixed[0] == mixed[2]


LANGUAGES = {"zh": (CHINESE, CHINESE_QUESTIONS), "ja": (JAPANESE, JAPANESE_QUESTIONS)}


@pytest.fixture(scope="module")
def workspaces(tmp_path_factory):
    """For each language a workspace of its eight documents."""
    built = {}
    for language, (texts, _) in LANGUAGES.items():
        folder = tmp_path_factory.mktemp(language)
        for name, text in texts.items():
            (folder / f"{name}.txt").write_text(text, "utf-8")
        built[language] = KnowledgeGraph(folder / "w.db")
        built[language].add_files([folder / f"{name}.txt" for name in texts], processes=1)
    return built


@pytest.mark.parametrize("method", ["qafd", "lexical"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_passage_that_answers_comes_first(workspaces, language, method):
    knowledge, answers = workspaces[language], LANGUAGES[language][1]
    first = {question: knowledge.retrieve(knowledge.plan(question), method).passages[0].title
             for question in answers}
    assert first == answers
