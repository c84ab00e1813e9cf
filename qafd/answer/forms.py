"""Forms of an English word that count as one word: "lost" and "losing", "city" and "cities"."""

import re
from collections.abc import Iterable

from qafd.reading.text.bm25 import words

PREFIX = 4  # letters that words of one family share: "founder", "founded"

# What begins otherwise than the form that the rules below would give it.
_IRREGULAR = {form: line.split()[0] for line in """
    arise arose arisen; awake awoke awoken; bear bore borne born; become became; begin began begun
    bend bent; bind bound; bite bit bitten; bleed bled; blow blew blown; break broke broken
    breed bred; bring brought; build built; buy bought; catch caught; choose chose chosen choice
    come came; creep crept; deal dealt; dig dug; do did done does; draw drew drawn
    drink drank drunk; drive drove driven; eat ate eaten; fall fell fallen; feed fed
    feel felt; fight fought; flee fled; fly flew flown flies flight
    forbid forbade forbidden; forget forgot forgotten; forgive forgave forgiven; freeze froze frozen
    get got gotten; give gave given; go went gone goes; grind ground; grow grew grown growth
    hang hung; hear heard; hide hid hidden; hold held; keep kept; know knew known
    lay laid; lead led; leave left; lend lent; lie lay lain lying; light lit; lose lost loss
    make made; mean meant; meet met; pay paid; prove proven; ride rode ridden
    ring rang rung; rise rose risen; run ran; say said; see saw seen; seek sought; sell sold sale
    send sent; shake shook shaken; shine shone; shoot shot; show shown; shrink shrank shrunk
    sing sang sung song; sink sank sunk; sit sat; sleep slept; slide slid; speak spoke spoken speech
    speed sped; spend spent; spin spun; spring sprang sprung; stand stood; steal stole stolen theft
    stick stuck; sting stung; strike struck; strive strove; swear swore sworn; sweep swept
    swim swam swum; swing swung; take took taken; teach taught; tear tore torn; tell told
    think thought; throw threw thrown; understand understood; undertake undertook undertaken
    wake woke woken; wear wore worn; weave wove woven; weep wept; win won; wind wound
    withdraw withdrew withdrawn; write wrote written; die died dying dead death
    child children; foot feet; tooth teeth; mouse mice; goose geese; wife wives
    wolf wolves; half halves; use used uses using; good better best; bad worse worst; far further
    overcome overcame; overtake overtook overtaken; oversee oversaw overseen; withstand withstood
    """.replace("\n", ";").split(";") if line.strip() for form in line.split()}
_ENDINGS = (("ies", "y"), ("ied", "y"), ("sses", "ss"), ("ches", "ch"), ("shes", "sh"),
            ("xes", "x"), ("ing", ""), ("ed", ""), ("s", ""))


def base(word: str) -> str:
    """The form of a small-letter word that its irregular forms share, else the word itself."""
    return _IRREGULAR.get(word, word)


def stem(word: str) -> str:
    """What the inflected forms of a small-letter word share: "los" of "lost" and "losing"."""
    word = base(word)
    for ending, instead in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            word = base(word.removesuffix(ending) + instead)
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "sl":
        word = word[:-1]  # "plan" of "planned"
    return word.removesuffix("e") if len(word) > 3 else word


def stems(text: str) -> frozenset[str]:
    """The stems of the words of a text, those of "salinity_limit" too."""
    return frozenset(stem(word) for word in words(re.sub("_", " ", text)))


def families(said: Iterable[str]) -> frozenset[str]:
    """The first letters of some small-letter words, and of the forms that they are made from."""
    return frozenset(form[:PREFIX] for word in said for form in (word, base(word), stem(word)))
