"""Character sets, canonical text and labels."""

import unicodedata

import pytest
from hostile import STRINGS
from hypothesis import example, given
from hypothesis import strategies as st

from qafd.reading.text.plaintext import clean, decode, label, one_line

texts = st.text(st.characters(exclude_categories=()), max_size=60)  # surrogates included

SENTENCES = {
    "fr": "Le café de l’été à Besançon, où les élèves étudient l’œuvre de Molière.",
    "de": "Größe und Übermut führten über die Brücke. Herr Müller aß Äpfel.",
    "es": "¿Dónde está la señora Ibáñez? El niño llegó ayer a la plaza de Córdoba.",
    "tr": "Çalışmaları su işleri müdürü İsmail Şahingöz yönetmektedir. İçme suyu tankerden alınabilir.",
    "pl": "Zażółć gęślą jaźń. Łódź jest dużym miastem w środkowej Polsce, założonym w 1423.",
    "ru": "Москва является столицей России. Она расположена на реке Москве.",
    "el": "Η Αθήνα είναι η πρωτεύουσα της Ελλάδας και η μεγαλύτερη πόλη της.",
    "ja": "東京は日本の首都であり、世界最大の都市の一つである。人口は約1400万人。",
    "zh": "北京是中华人民共和国的首都，也是世界上人口最多的首都。",
    "ko": "서울은 대한민국의 수도이자 최대 도시이다. 한강을 끼고 있다.",
    "he": "ירושלים היא עיר הבירה של מדינת ישראל והעיר הגדולה ביותר בה.",
    "ar": "القاهرة هي عاصمة جمهورية مصر العربية وأكبر مدنها.",
}
LEGACY = [("fr", "cp1252"), ("de", "latin-1"), ("es", "cp1252"), ("tr", "cp1254"), ("pl", "cp1250"),
          ("pl", "iso8859_2"),
          ("ru", "cp1251"), ("ru", "koi8_r"), ("el", "cp1253"), ("ja", "shift_jis"),
          ("ja", "euc_jp"), ("zh", "gb18030"), ("ko", "euc_kr"), ("he", "cp1255"),
          ("ar", "cp1256")]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be",
                                      "utf-32", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize("language", ["fr", "ru", "ja", "ar"])
def test_every_utf_is_read_with_and_without_a_byte_order_mark(language, encoding):
    text = SENTENCES[language] + "\n" + SENTENCES[language]
    assert decode(text.encode(encoding)) == (text, False)


@pytest.mark.parametrize(("language", "encoding"), LEGACY)
def test_a_legacy_character_set_is_guessed_and_said_to_be(language, encoding):
    data = SENTENCES[language].encode(encoding, "replace")
    assert decode(data) == (data.decode(encoding), True)


def test_a_few_broken_bytes_do_not_turn_utf8_into_mojibake():
    data = (SENTENCES["fr"] * 3).encode() + b"\xff"
    assert decode(data)[0] == SENTENCES["fr"] * 3 + "\ufffd"


@pytest.mark.parametrize("data", [bytes(range(256)) * 8, b"\x01\x02\x03\x04" * 50, b"\0" * 99])
def test_bytes_that_are_no_text_are_refused(data):
    with pytest.raises(ValueError, match="no text"):
        decode(data)


def is_canonical(text):
    unwanted = {c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Cs")}
    return unicodedata.is_normalized("NFC", text) and unwanted <= set("\t\n\u200c\u200d")


@given(texts)
@example("e\u200b\u0301")
@example("\ud83d\ude00")
@example("a\u200d\u0301\u200c")
@example("\u0915\u200b\u200d\u0937")
@example("\n\u0301")
def test_clean_text_is_canonical_and_stays_as_it_is(text):
    once = clean(text)
    assert is_canonical(once)
    assert clean(once) == once


@pytest.mark.parametrize("text", STRINGS, ids=range(len(STRINGS)))
def test_every_hostile_string_becomes_canonical_text(text):
    assert is_canonical(clean(text))
    assert "\n" not in one_line(text)
    assert len(one_line(text)) <= 300


@pytest.mark.parametrize(("name", "expected"), [
    ("notes/a b.md", "notes/a b.md"),
    ("../../../tmp/evil.pdf", "tmp/evil.pdf"),
    ("C:\\Windows\\..\\win.ini", "Windows/win.ini"),
    ("/etc/passwd", "etc/passwd"),
    ("a.pdf\0.exe", "a.pdf.exe"),
    ("\u202egpj.exe", "gpj.exe"),
    ("line\nbreak.txt", "line/break.txt"),
    ("..", "document"), ("", "document"), ("\0", "document"),
    ("x" * 5000 + ".pdf", "x" * 236 + ".pdf"),
])
def test_a_label_names_a_document_and_is_no_path(name, expected):
    assert label(name) == expected


@given(texts)
def test_no_label_leads_anywhere(name):
    shown = label(name)
    assert 0 < len(shown) <= 240
    assert is_canonical(shown)
    assert not any(part.strip(". ") == "" for part in shown.split("/"))
    assert label(shown) == shown
