"""Bytes to clean text: character sets, and characters barred from documents and names.

Canonical text is NFC with "\\n" line ends and without NUL, other control characters, lone
surrogates, noncharacters and invisible format characters (Unicode category Cf). The zero-width
joiner and non-joiner stay between letters of scripts that spell with them.
"""

import re
import unicodedata

FORMULA = re.compile(r"[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
"""How a text begins that a spreadsheet would run."""
# The last two characters of each plane but the first.
_LAST = "".join(chr(plane << 16 | 0xFFFE) + chr(plane << 16 | 0xFFFF) for plane in range(1, 17))
# Control characters other than tab and line feed, surrogates, noncharacters.
_ILLEGAL = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff" + _LAST + "]")
_LINE_ENDS = re.compile("\r\n|[\r\v\f\x85\u2028\u2029]")
_WIDE_SPACES = re.compile("[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]")
_JOINERS = "\u200c\u200d"
# Arabic, Syriac, N'Ko, Mandaic; the Indic blocks to Myanmar; Khmer and Mongolian.
_JOINING = re.compile("[\u0600-\u08ff\u0900-\u109f\u1780-\u18af]")
_CONTROL = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")

_BOMS = (
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe\x00\x00", "utf-32-le"),
    (b"\x00\x00\xfe\xff", "utf-32-be"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)
_WIDE = ("utf-32-le", "utf-32-be", "utf-16-le", "utf-16-be")
_LATIN = ("cp1252", "cp1250", "iso8859_2", "cp1254")
_OTHER = (
    "cp1251", "cp1253", "cp1255", "cp1256", "koi8_r",
    "shift_jis", "euc_jp", "gb18030", "big5", "euc_kr",
)  # fmt: skip
_JAPANESE = frozenset((*range(0x81, 0x84), *range(0x88, 0x98)))  # first bytes of kana and common kanji
# Python knows codecs by name that are no character sets, or that take quadratic time.
_DECLARABLE = re.compile(
    r"iso-?8859-([1-9]|1[013-6])|windows-125[0-8]|koi8-[ru]|shift_jis|euc-(jp|kr)|gb(2312|k|18030)|big5"
)
# A symbol inside or at the start of a word, or a replacement: a Latin set read as another.
_OPENED = re.compile("¿(?=[^¿?]{1,300}\\?)|¡(?=[^¡!]{1,300}!)")  # as a sentence in Spanish is
_MISSPELT = re.compile("[¡-¿ˇ˘˙˛˝]+(?<![»«§°])[a-zß-ž]|[a-z][¡-¿ˇ˘˙˛˝ˆ‰Ľ](?<![»«°²³®])|\ufffd")

_SHIFTED = re.compile(rb"\x1b\$[@B]")  # how ISO-2022-JP, which has ASCII bytes alone, begins its kanji
COLUMN = 60  # characters of a column's name at most


def clean(text: str) -> str:
    """Return the text in canonical form; `clean(clean(t)) == clean(t)`."""
    if text.isascii() and text.replace("\n", "").isprintable() and not _has_loose_lines(text):
        return text.strip()  # most texts of cells and fields
    text = _LINE_ENDS.sub("\n", text)
    if not text.isascii():
        # Pairs of surrogates are characters; `_ILLEGAL` removes those that stay alone.
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        text = _without_format_characters(_WIDE_SPACES.sub(" ", _ILLEGAL.sub("", text)))
        text = unicodedata.normalize("NFC", text)
    else:
        text = _ILLEGAL.sub("", text)
    text = re.sub(r"(?<![ \t])[ \t]+\n", "\n", text)
    return re.sub(r"\n{3,}", "\n\n", text).strip()


def _has_loose_lines(text: str) -> bool:
    """Return True if lines end with blanks, or if more than one empty line follows another."""
    return " \n" in text or "\n\n\n" in text


def storable(text: str) -> str:
    """Return the text with "?" for each character that a database cannot hold: lone surrogates and NUL."""
    # File names can hold bytes that are no UTF-8, and pasted text lone surrogates. SQLite stores NUL, but
    # `json_each`, by which rows are found, ends a text there.
    return text.encode("utf-8", "replace").decode().replace("\0", "?")


def one_line(text: str, longest: int = 300) -> str:
    """Return a title, heading or label: canonical, without line breaks, at most `longest` characters."""
    # A name is cut before it is normalized: a long run of combining marks takes quadratic time.
    text = " ".join(clean(text[: 4 * longest]).split())
    return text if len(text) <= longest else text[: longest - 1].rstrip() + "…"


def label(name: str) -> str:
    """Return a user's file name as text to show: no `..`, drive, root, control or direction characters.

    It names a document in the workspace and is never used as a path. The end, where the
    ending is, survives when a name is too long.
    """
    parts = [" ".join(part.split()) for part in re.split(r"[/\\\n]+", clean(name[-1000:]))]
    kept = [part for part in parts if part.strip(". ") and not re.fullmatch("[A-Za-z]:", part)]
    return "/".join(kept)[-240:].lstrip("/ ") or "document"


def decode(data: bytes, declared: str | None = None) -> tuple[str, bool]:
    """Return the text of a file in any common character set, and whether the set had to be guessed.

    A byte order mark decides; then the zero bytes of UTF-16 and UTF-32; then UTF-8 when all
    bytes fit; then the set that a web page declares; then a guess among the legacy sets.
    Bytes that do not fit become U+FFFD.

    Raises
    ------
    ValueError
        When the bytes are not text in any of them.
    """
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            return data[len(bom) :].decode(encoding, "replace"), False
    if _SHIFTED.search(data[:65536]) and data.isascii():
        return data.decode("iso2022_jp_2", "replace"), False
    wide = _wide_encoding(data[:4096])
    if wide:
        return data.decode(wide, "replace"), False
    try:
        text, guessed = data.decode("utf-8"), False
    except UnicodeDecodeError:
        if declared and _DECLARABLE.fullmatch(declared.lower()):
            text, guessed = data.decode(declared, "replace"), False
        else:
            text, guessed = _legacy(data), True
    if len(_CONTROL.findall(text, 0, 65536)) > 4 + min(len(text), 65536) // 100:
        raise ValueError("the bytes are no text in any known character set")
    return text, guessed


def _without_format_characters(text: str) -> str:
    invisible = {c for c in set(text) if unicodedata.category(c) == "Cf"}
    if joiners := invisible.intersection(_JOINERS):
        text = re.sub(f"[{''.join(joiners)}]+", lambda run: _joiner(text, run), text)
    return text.translate({ord(c): None for c in invisible.difference(_JOINERS)})


def _joiner(text: str, run: re.Match[str]) -> str:
    before, after = text[run.start() - 1 : run.start()], text[run.end() : run.end() + 1]
    # A joiner may end a word in Indic scripts, so only what comes before must be such a letter.
    return run[0][0] if _JOINING.match(before) and not after.isascii() else ""


def _wide_encoding(head: bytes) -> str | None:
    """Decode UTF-16 or UTF-32 without a byte order mark; only bytes with zeros among them can be."""
    if 0 not in head:
        return None
    shares = {name: _share_of_text(head, name) for name in _WIDE}
    best = max(_WIDE, key=lambda name: shares[name])
    return best if shares[best] > 0.97 else None


def _share_of_text(head: bytes, encoding: str) -> float:
    """Return the share of letters, marks, numbers, punctuation, symbols and spaces."""
    text = head.decode(encoding, "replace")
    good = sum(
        c in "\t\r\n" or unicodedata.category(c)[0] in "LMNPSZ" for c in text if c != "\ufffd"
    )
    # Letters of one text share their high bytes; read in the wrong byte order they do not.
    return (good - 0.02 * len({ord(c) >> 8 for c in text})) / max(len(text), 1)


def _legacy(data: bytes) -> str:
    """Return the text of a file that is not UTF-8 throughout, guessing the lines that are not."""
    text = data.decode("utf-8", "replace")
    wrong = text.count("\ufffd")
    if wrong * 8 < sum(1 for c in text if c > "\x7f"):
        return text  # UTF-8 with a few broken bytes
    lines = data.split(b"\n")
    others = [number for number, line in enumerate(lines) if not _is_utf8(line)]
    known = sum(not line.isascii() for line in lines) - len(others)
    if 2 * known < len(others):
        return data.decode(_guess(data[:65536]), "replace")
    encoding = _guess(b"\n".join(lines[number] for number in others)[:65536])
    texts = [line.decode("utf-8", "replace") for line in lines]
    for number in others:
        texts[number] = lines[number].decode(encoding, "replace")
    return "\n".join(texts)


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _guess(head: bytes) -> str:
    """Return the character set of some bytes that are no UTF-8."""
    if _is_shift_jis(head):
        return "cp932"
    from charset_normalizer import from_bytes

    best = from_bytes(head, cp_isolation=list(_LATIN + _OTHER), threshold=0.3).best()
    encoding = "cp1252" if best is None else best.encoding
    if encoding in _LATIN:  # these differ in a few letters only: take the one that spells words
        texts = {name: _OPENED.sub("", head.decode(name, "replace")) for name in _LATIN}
        # What spells Turkish in its own set also has words in the others: "yapýlacak".
        first = ("cp1254",) if best and best.language == "Turkish" else ()
        encoding = min((*first, *_LATIN), key=lambda name: len(_MISSPELT.findall(texts[name])))
    return encoding


def _is_shift_jis(head: bytes) -> bool:
    """Return True if bytes are mostly kana and common kanji of Shift-JIS, by their first bytes."""
    high = sum(byte > 0x7f for byte in head)
    if 4 * high < sum(byte > 0x20 for byte in head):
        return False
    try:
        text = head[:head.rfind(b"\n") + 1 or None].decode("cp932")
    except UnicodeDecodeError:
        return False
    letters = [letter.encode("cp932")[0] for letter in text if letter > "\x7f"]
    return sum(first in _JAPANESE for first in letters) > 0.85 * len(letters) > 0


def amount(count: int, what: str) -> str:
    """Return a number and the things it counts: "2 comments", "1 formula without a value"."""
    if count == 1:
        return f"1 {what}"
    thing, _, rest = re.sub(r"(?= (?:without|of|in|on|that) )", "\n", what, count=1).partition("\n")
    many = f"{thing[:-1]}ies" if re.search("[^aeiou]y$", thing) else f"{thing}s"
    return f"{count:,} {many}{rest}"


def has_digit(text: str) -> bool:
    """Return True if a text has a digit of any script."""
    return any(map(str.isdigit, text))
