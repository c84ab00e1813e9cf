"""Names in Chinese and Japanese text, read from the parts of speech of a dictionary."""

import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.resources import files
from typing import Any, NamedTuple

from qafd.reading.names.languages import CHINESE
from qafd.reading.text import as_typed
from qafd.reading.text.scripts import KATAKANA

PERSON, PLACE, GROUP, WORK, ANY, TERM = "PERSON", "GPE", "ORG", "WORK_OF_ART", "OTHER", "term"
LONG = 4  # letters from which a run of nouns is a term

# What ends the name of an institution, of a place and of an event.
_ENDS = {
    GROUP: """
        公司 株式会社 集团 银行 銀行 大学 大學 学院 學院 学校 小学 中学 高校 医院 病院 诊所
        研究所 研究院 科学院 委员会 委員会 协会 協会 学会 基金会 出版社 书店 書店 剧院 乐团 楽団
        合唱団 交響楽団 博物馆 博物館 美术馆 美術館 图书馆 図書館 水族館 天文台 党 议会 政府
        法院 厂 工厂 工場 造船厂 製作所 酒造 鉄道 社 院 館 団 省 庁 队 局 报 新聞 俱乐部 报社""",
    PLACE: """
        山 江 河 川 湖 海 岛 島 半岛 半島 桥 橋 路 街 大坝 水库 寺 庙 宫 宮 塔 陵 城 公园 公園
        机场 空港 车站 駅 港 铁路 线 線 神社 洲 州 市 县 県 区 镇 村 町""",
    ANY: """
        奖 赏 賞 战争 戦争 战役 革命 条约 条約 猜想 定理 运动会 号 号线 茶 節 祭"""}
_KIND = {end: kind for kind, ends in _ENDS.items() for end in ends.split()}
# Institutions that are no names without one.
_ALONE = frozenset(re.findall(r"\S+", """
    有限公司 股份公司 分公司 子公司 总公司 出版社 博物馆 博物館 图书馆 図書館 水族館 天文台
    研究所 科学院 造船厂 人民政府 委员会 委員会 株式会社 合唱団 製作所 美术馆 美術館"""))
_TITLED = re.compile("《([^《》\n]{1,40})》|『([^『』\n]{1,40})』")
_LATIN = re.compile(
    r"[A-Z][\w&.'\u2019\-]*(?: (?:(?:of|the|and|de|von|van) )?[A-Z][\w&.'\u2019\-]*)*", re.ASCII)
_PARTED = re.compile(f"[{KATAKANA}]{{2,}}(?:[・=＝·][{KATAKANA}]+)+")
# The characters that foreign names are written with in Chinese.
_SOUNDS = (
    "阿埃艾爱安昂奥巴白班邦保鲍贝本比彼毕别波伯博布查楚茨达戴丹道德登邓迪蒂丁杜顿多厄恩尔法范"
    "菲费芬弗福夫富盖甘冈戈哥格根古圭哈海汉豪赫黑亨胡华怀霍基吉季加贾简杰金卡凯坎康考柯科克肯"
    "库夸拉莱赖兰朗劳勒雷黎理里利莉立连列林琳龙卢鲁路露伦罗洛吕马玛迈麦曼芒梅门蒙米密明摩莫默"
    "姆穆拿纳娜奈南内尼涅纽农努诺欧帕派潘庞佩彭皮珀普奇齐契乔切琼丘屈热仁荣茹瑞若萨塞赛桑瑟沙"
    "莎舍申森圣施史斯思丝苏索塔泰坦汤唐陶特腾提田廷图托瓦万汪旺威韦维魏温沃乌武锡席夏香肖谢辛"
    "欣休许雪逊雅亚延扬耶叶伊依英尤约泽扎詹珍芝治朱祖佐")
_SOUND = re.compile(f"[{_SOUNDS}]{{1,8}}(?:·[{_SOUNDS}]{{1,8}})*")
_LEAD = re.compile("^[由与和在是向给对把被从](?=..)")
# Parts of speech, as jieba writes them, of a letter that is no given name.
_NO_NAME = frozenset(("p", "c", "d", "v", "m", "q", "r", "f", "y", "ul", "uj", "ug", "uz", "uv"))
_MISTAKEN = frozenset(("d", "q", "zg", "ad", "a", "i"))  # what unknown words before "大学" are
_WEAK_VERBS = frozenset((
    "是", "有", "为", "在", "到", "来", "去", "会", "能", "要", "让", "使",
    "する", "ある", "いる", "なる"))


class Word(NamedTuple):
    """A word at `start:end`; its part of speech: a kind of name, "noun", "verb", or "" for others.

    `base` is the form that a dictionary has.
    """

    start: int
    end: int
    part: str
    base: str


class Found(NamedTuple):
    """A name or term at `start:end`."""

    start: int
    end: int
    kind: str


def read(text: str, language: str) -> tuple[list[Found], list[Word]]:
    """The names and terms of a text, in order, and its verbs.

    A name is what the dictionary says is one, up to the word that says what it is ("大学"), a title
    in brackets, and what stands in Latin letters with a capital. A term is a run of nouns of four
    letters or more.
    """
    typed = as_typed(text)
    if language == CHINESE:
        typed = typed.translate(_simplified())
    words = list((_chinese if language == CHINESE else _japanese)(typed))
    found = [Found(*one.span(one.lastindex or 0), WORK) for one in _TITLED.finditer(text)]
    for pattern, kind in ((_PARTED, PERSON), (_LATIN, ANY)):
        found += [Found(*one.span(), kind) for one in pattern.finditer(typed)]
    if language == CHINESE:
        found += _with_dots(typed, words)
    found = _apart(found)
    for run in _runs(words, found):
        found += _named(run, typed)
    verbs = [word for word in words if word.part == "verb" and word.base not in _WEAK_VERBS]
    if language == CHINESE:
        verbs = [word._replace(base=text[word.start:word.end]) for word in verbs]
    return sorted(found), verbs


def _chinese(text: str) -> Iterator[Word]:
    """The words that jieba tells apart."""
    import rjieba

    at = 0
    held: list[Word] = []  # a family name whose given name was not known
    tagged = rjieba.tag(text)
    for (surface, tag), (after, _) in zip(tagged, [*tagged[1:], ("", "")], strict=True):
        start, at = at, at + len(surface)
        part = ("verb" if tag == "v" else PERSON if tag.startswith("nr") else
                PLACE if tag == "ns" else GROUP if tag == "nt" else ANY if tag == "nz" else
                "noun" if tag[0] == "n" or tag in ("vn", "j", "b", "l", "an") else "")
        if part in ("", "verb") and (
                surface in _KIND and tag[0] in "vqmkg"
                or len(surface) > 1 and len(after) > 1 and after in _KIND and tag in _MISTAKEN):
            part = "noun"
        if part == PERSON and (lead := _LEAD.match(surface)) and len(surface) > 2:
            start += len(lead.group())
            surface = surface[len(lead.group()):]
        if held:
            whole = at - held[0].start
            if surface.isalpha() and whole <= 3 and (
                    tag in ("ns", "nr", "nz") or len(surface) == 1 and tag not in _NO_NAME):
                held = [Word(held[0].start, at, PERSON, "")]
                continue
            yield from (one for one in held if one.end - one.start > 1)
            held = []
        if part == PERSON and len(surface) == 1:
            held = [Word(start, at, PERSON, surface)]
            continue
        yield Word(start, at, part, surface)
    yield from (one for one in held if one.end - one.start > 1)


@cache
def _simplified() -> dict[int, str]:
    """Traditional characters and the simplified ones that the dictionary has, one for one."""
    lines = (files("opencc") / "dictionary/TSCharacters.txt").read_text("utf-8").splitlines()
    pairs = (line.split()[:2] for line in lines if line.strip())
    return {ord(traditional): simple for traditional, simple in pairs
            if len(traditional) == len(simple) == 1}


@cache
def _tokenizer() -> Any:  # the library says nothing about its types
    lindera = import_module("lindera")
    return lindera.Tokenizer(lindera.load_dictionary("embedded://ipadic"), mode="normal")


def _japanese(text: str) -> Iterator[Word]:
    """The words that IPADIC knows, and those that look like one."""
    at = 0
    before = Word(0, 0, "", "")
    for token in _tokenizer().tokenize(text):
        start = text.index(token.surface, at)
        at = start + len(token.surface)
        pos, sub, kind = token.details[:3] if len(token.details) > 2 else ("", "", "")
        part = ""
        if pos == "名詞":
            if sub == "固有名詞":
                part = {"人名": PERSON, "地域": PLACE, "組織": GROUP}.get(kind, ANY)
            elif token.is_unknown and len(token.surface) > 2 and token.surface[0] >= "\u30a1":
                part = ANY if token.surface[0] <= "\u30ff" else ""
            elif sub in ("一般", "サ変接続") or (sub == "接尾" and kind != "助数詞"):
                part = "noun"
        elif pos == "動詞" and sub == "自立":
            part = "verb"
        base = token.details[6] if len(token.details) > 6 else token.surface
        if base == "する" and before.end == start:  # the noun before it says what is done
            part, base = ("verb", before.base) if before.part == "noun" else ("", base)
        before = Word(start, at, part, token.surface if base == "*" else base)
        yield before


def _with_dots(text: str, words: list[Word]) -> Iterator[Found]:
    """Foreign names with a dot between their parts, "蒂姆·库克"."""
    ends = {word.end: word for word in words}
    for dot in re.finditer("[·・•]", text):
        before, after = ends.get(dot.start()), _SOUND.match(text, dot.end())
        if before and before.part and after:
            yield Found(before.start, after.end(), PERSON)


def _runs(words: list[Word], taken: list[Found]) -> Iterator[list[Word]]:
    """Nouns and names that stand beside each other, without what is taken."""
    covered = {at for one in taken for at in range(one.start, one.end)}
    run: list[Word] = []
    for word in words:
        noun = word.part not in ("", "verb") and word.start not in covered
        if run and (not noun or word.start != run[-1].end):
            yield run
            run = []
        if noun:
            run.append(word)
    if run:
        yield run


def _named(run: list[Word], text: str) -> Iterator[Found]:
    """The names in a run of nouns; the whole run as a term if it has none."""
    first, named = 0, False
    while first < len(run):
        word = run[first]
        last = _last(run, first, text)
        if last is not None:
            named = True
            yield Found(word.start, run[last].end, _kind(text[run[last].start:run[last].end]))
            first = last + 1
            continue
        if word.part != "noun":
            last = first
            while last + 1 < len(run) and word.part == run[last + 1].part == PERSON and (
                    run[last + 1].end - word.start <= 8):
                last += 1
            named = True
            if run[last].end - word.start > 1:
                yield Found(word.start, run[last].end, word.part)
            first = last
        first += 1
    if not named and run[-1].end - run[0].start >= LONG:
        yield Found(run[0].start, run[-1].end, TERM)


def _last(run: list[Word], first: int, text: str) -> int | None:
    """The word of a run that ends an institution or place which begins at the first one."""
    names = run[first].part != "noun"
    for last in range(first, min(len(run), first + 5)):
        word = run[last]
        said = text[word.start:word.end]
        if last > first and word.part not in ("noun", GROUP, ANY) and said not in _KIND:
            return None
        if _kind(said) and (last > first or (len(said) >= LONG and word.part == "noun")) and (
                names or last > first or said not in _ALONE):
            whole = text[run[first].start:word.end]
            if len(whole) > 2 and whole not in _ALONE:
                return last
    return None


def _kind(word: str) -> str:
    """What kind of name a word ends, "" for none."""
    return next((_KIND[word[at:]] for at in range(len(word)) if word[at:] in _KIND), "")


def _apart(found: list[Found]) -> list[Found]:
    """Without those that overlap an earlier or longer one."""
    kept: list[Found] = []
    for one in sorted(found, key=lambda f: (f.start, -f.end)):
        if not kept or one.start >= kept[-1].end:
            kept.append(one)
    return kept
