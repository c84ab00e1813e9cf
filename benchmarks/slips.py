"""What one slip of the keyboard in each question costs, with words put right and without.

    python benchmarks/slips.py NAME WORKSPACE QUESTIONS [NAME WORKSPACE QUESTIONS ...]

Sets and measures are those of benchmarks/typed.py. A word in small letters of six letters or more,
chosen by lot, gets one letter left out, changed or exchanged with the next, not its last; a question
without such a word stays. Writes results/slips.json.
"""

import random
from string import ascii_lowercase
from unittest.mock import patch

from typed import measure_sets

from qafd.plan.spelling import right_word

SEED, LONG = 0, 6


def with_a_slip(question, rng):
    """The question with one slip in one of its long words."""
    typed = question.split(" ")
    may = [at for at, word in enumerate(typed)
           if len(word) >= LONG and word.isascii() and word.isalpha() and word.islower()]
    if not may:
        return question
    at = rng.choice(may)
    word = typed[at]
    i = rng.randrange(1, len(word) - 2)
    typed[at] = rng.choice((word[:i] + word[i + 1:],
                            word[:i] + rng.choice(ascii_lowercase) + word[i + 1:],
                            word[:i] + word[i + 1] + word[i] + word[i + 2:]))
    return " ".join(typed)


def measure(typed):
    """A line for the questions as they are, with slips, and with slips that stay."""
    rng = random.Random(SEED)
    slipped = [with_a_slip(question, rng) for question in typed.questions]
    for told, texts, put_right in (("as they are", typed.questions, right_word),
                                   ("with a slip", slipped, right_word),
                                   ("with a slip, not put right", slipped, lambda *_: "")):
        with patch("qafd.plan.linking.right_word", put_right):
            yield {"typed": told, **typed.rate(texts)}


if __name__ == "__main__":
    measure_sets("slips", __doc__, measure, SEED)
