"""Questions in Chinese and Japanese about documents in them, from files to quoted answers."""

from pathlib import Path

import pytest
from texts_in_languages import CHINESE, CHINESE_QUESTIONS, JAPANESE, JAPANESE_QUESTIONS

from qafd.curate.entities import entities, find
from qafd.knowledge import KnowledgeGraph
from qafd.plan.suggest import questions

LANGUAGES = {"zh": (CHINESE, CHINESE_QUESTIONS), "ja": (JAPANESE, JAPANESE_QUESTIONS)}


@pytest.fixture(scope="module")
def workspaces(tmp_path_factory) -> dict[str, KnowledgeGraph]:
    """For each language a workspace of its eight documents."""
    built = {}
    for language, (texts, _) in LANGUAGES.items():
        folder: Path = tmp_path_factory.mktemp(language)
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


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_question_has_the_name_it_asks_about_as_a_seed(workspaces, language):
    for question in LANGUAGES[language][1]:
        names = workspaces[language].plan(question).names
        assert names
        assert all(name in question for name in names)


@pytest.mark.parametrize(("language", "question", "best"), [
    ("zh", "青石桥是谁修建的？", "工匠王德顺花了十一年修建这座桥。"),
    ("zh", "海鸥号的船长是谁？", "船长赵海涛带领船员到达了南极洲。"),
    ("zh", "马思远在哪里学习？", "指挥家马思远曾在维也纳学习。"),
    ("ja", "鶴見橋を建てたのは誰ですか。", "大工の田中清兵衛が江戸時代に建てた。"),
    ("ja", "北斗鉄道はいつ開通しましたか。", "鉄道は1921年に開通した。"),
])
def test_the_sentence_that_answers_is_quoted(workspaces, language, question, best):
    answer = workspaces[language].answer(question)
    assert not answer.abstained
    assert [sentence.text for sentence in answer.sentences if sentence.best] == [best]


@pytest.mark.parametrize(("language", "question", "missing"), [
    ("zh", "谁发明了电话？", ("电话",)), ("zh", "北极熊住在哪里？", ("北极熊住",)),
    ("ja", "電話を発明したのは誰ですか。", ("電話", "発明")),
])
def test_what_is_in_no_document_is_said_to_be_missing(workspaces, language, question, missing):
    answer = workspaces[language].answer(question)
    assert answer.abstained
    assert answer.missing == missing


@pytest.mark.parametrize(("sought", "titles"), [
    ("北京", ["星河出版社", "铁道博物馆"]), ("北京 詹天佑", ["铁道博物馆"]),
    ("江湖诊", ["江湖诊所"]), ("火星", []),
])
def test_words_within_a_run_of_letters_are_found(workspaces, sought, titles):
    with workspaces["zh"].store() as store:
        assert [hit.chunk.title for hit in store.passages.search(sought).hits] == titles


def test_an_entity_is_found_by_any_part_of_its_name(workspaces):
    with workspaces["zh"].store() as store:
        assert [one.name for one in find(entities(store), "诊所")] == ["江湖诊所"]


def test_suggested_questions_are_in_the_language_of_the_names(workspaces):
    for language, (start, end) in {"zh": ("关于“", "？"), "ja": ("", "書かれていますか。")}.items():
        asked = questions(workspaces[language].graph)
        assert asked[0].startswith(start)
        assert asked[0].endswith(end)
        assert any(title in asked[0] for title in LANGUAGES[language][0])
        assert not any(workspaces[language].answer(question).abstained for question in asked)
