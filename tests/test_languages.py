"""Questions in Chinese and Japanese about documents in them, from files to quoted answers."""


import pytest
from texts_in_languages import CHINESE, CHINESE_QUESTIONS, JAPANESE, JAPANESE_QUESTIONS

from qafd.knowledge import KnowledgeGraph

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
