"""Scripts: the words of a text that is written without spaces, capitals or fixed endings."""

import re
import unicodedata
from collections.abc import Iterator, Sequence

HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Chinese characters
# Thai to Khmer, hiragana, Chinese characters, and Hangul, where particles follow without a space.
UNSPACED = f"\u0e01-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3041-\u309f{HAN}\uac00-\ud7a3"
KATAKANA = "\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f"
STOPS = "、。《》「」『』！（），：；？"
_MARKS = "\u0300-\u036f\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670"
_SIGNS = "\u0900-\u0963\u0966-\u0dff"  # vowels of India, which are no letters to `re`
_OTHER = re.compile(f"[{_MARKS}\u0400-\u1fff\u3001-\ud7ff\uf900-\ufaff\ufb1d-\uffef"
                    "\U00010000-\U0003ffff]")
_LETTER = rf"(?:[^\W{UNSPACED}{KATAKANA}]|[{_MARKS}{_SIGNS}])"
_WORD = re.compile(rf"[{UNSPACED}]|[{KATAKANA}]+|{_LETTER}+(?:[.'\u2019&\-]{_LETTER}+)*\.?"
                   rf"|[{STOPS}]")
_PART = re.compile(rf"[{UNSPACED}{KATAKANA}]+|{_LETTER}+")
_RUN = re.compile(f"[{UNSPACED}{KATAKANA}]")
_SPELLED = re.compile("[\u0e01-\u0eff\u1000-\u109f\u1780-\u17ff]")  # unspaced letters of sounds
_SILENT = re.compile(f"[{_MARKS}]")
_CYRILLIC = re.compile("[\u0400-\u04ff]{4,}")
_CASE = re.compile(  # endings of Russian names in their cases
    "(?:иями|[ыияа]ми|ией|ия[мх]|[ое]го|[ое]му|[оеыи]й|[оеыиая]м|[ыиая]х|[ая]я|[ую]ю|и[яеию]|ью|"
    "[аяыиеуюоьй])$")
_CLITIC = re.compile("[وفبلك](?=[\u0621-\u064a]{3})")  # Arabic "and", "in" and "for" before a name


def is_other(text: str) -> bool:
    """Return True if a text has letters beyond Latin and Greek, or ones of full or half width."""
    return not text.isascii() and _OTHER.search(text) is not None


def is_latin(text: str) -> bool:
    """Return True if at least half of the letters of a text are Latin or Greek."""
    if not is_other(text):
        return True
    letters = sum(map(str.isalpha, text))
    return 2 * sum(letter.isalpha() and letter < "\u0400" or "\u1e00" <= letter < "\u2000"
                   for letter in text) >= letters


def is_unspaced(text: str) -> bool:
    """Return True if a text has letters that stand without spaces between words."""
    return not text.isascii() and _RUN.search(text) is not None


def found_words(text: str) -> Iterator["re.Match[str]"]:
    """Return the words of a text: letters one by one where no spaces part words, but runs of katakana.

    A mark that ends a clause is a word too, so that no name is found across it.
    """
    return _WORD.finditer(text)


def plain(word: str) -> str:
    """Return a word in the widths that most texts have, casefolded, without marks of pronunciation."""
    return _SILENT.sub("", unicodedata.normalize("NFKC", word).casefold())


def form_of(word: str) -> str:
    """Return the part that the cases of a Russian name have in common; any other word itself."""
    if word.isascii() or not _CYRILLIC.fullmatch(word):
        return word
    stem = _CASE.sub("", word)
    return stem if len(stem) > 2 else word


def without_clitic(word: str) -> str:
    """Return an Arabic word without the conjunction or preposition it is written with, else ""."""
    return "" if word.isascii() or not _CLITIC.match(word) else word[1:]


def bears_no_capital(word: str) -> bool:
    """Return True if a word is written in a script that has no capitals."""
    return (not word.isascii() and word.lower() == word.upper()
            and any(letter.isalpha() for letter in word))


def is_written_small(name: str) -> bool:
    """Return True if a name has no capital although its script has them."""
    return name == name.lower() and not bears_no_capital(name)


def inside_word(text: str, start: int) -> bool:
    """Return True if an offset is within a Korean word; names stand where one begins."""
    return all("\uac00" <= letter <= "\ud7a3" for letter in text[start - 1:start + 1]) and start > 0


def terms(text: str) -> list[str]:
    """Return the words to search for in a text: letters by two where no spaces part words.

    Letters of sounds, as in Thai, go by three: pairs of them are in too many words.
    """
    found: list[str] = []
    for part in _PART.findall(unicodedata.normalize("NFKC", text)):
        size = 3 if _SPELLED.match(part) else 2
        if _RUN.match(part) and len(part) >= size:
            found += [part[at:at + size] for at in range(len(part) - size + 1)]
        else:
            found.append(plain(part))
    return found


def length(text: str) -> int:
    """Estimate the words of a text; without spaces two letters make one."""
    if not is_unspaced(text):
        return len(text.split())
    single = len(_RUN.findall(text))
    return single // 2 + len(re.findall(r"\w+", _RUN.sub(" ", text)))


def same(words: Sequence[str], wanted: Sequence[str]) -> bool:
    """Return True if words are those of a name, of which the first may have a clitic."""
    return words == wanted or (
        words[1:] == wanted[1:] and bool(wanted) and without_clitic(words[0]) == wanted[0])
