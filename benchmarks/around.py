"""What greetings, thanks and other words around each question cost, with all read and with what asks.

    python benchmarks/around.py NAME WORKSPACE QUESTIONS [NAME WORKSPACE QUESTIONS ...]

Sets and measures are those of benchmarks/typed.py. Writes results/around.json.
"""

from unittest.mock import patch

from typed import measure_sets

from qafd.plan.question import find_asking

AROUND = {
    "nothing": "{}",
    "a greeting and thanks": "Hi! {} Thanks!",
    "a polite mail": "Hello, I hope you are well. I have a quick question. {} Many thanks in advance for "
                     "your help.",
    "how it came": "I was reading this over coffee this morning and got curious. {} I could not find it "
                   "anywhere.",
    "please tell me": "Could you please tell me: {}",
    "a request": "{} Please answer in one sentence.",
}
READERS = {"what asks": find_asking, "all": lambda parse, _: parse.text}


def measure(typed):
    """A line for each thing that stands around, by what is read."""
    for around, template in AROUND.items():
        texts = [template.format(question) for question in typed.questions]
        for read, reader in READERS.items():
            with patch("qafd.plan.find_asking", reader):
                yield {"around": around, "read": read, **typed.rate(texts)}


if __name__ == "__main__":
    measure_sets("around", __doc__, measure)
