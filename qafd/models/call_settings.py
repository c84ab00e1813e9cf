"""How a language model is called: what app, command line and Python share."""

from dataclasses import dataclass

from qafd.errors import ParameterError

RULES = 600  # tokens of a prompt beside question and data
_RANGES = {"deadline": (0.1, 3600.0), "temperature": (0.0, 2.0), "answer_tokens": (1, 1_000_000),
           "context": (0, 100_000_000)}


@dataclass(frozen=True)
class CallSettings:
    """Of one call; see `qafd.preferences` and the options of `qafd answer`.

    Parameters
    ----------
    deadline : float
        Seconds, retries included.
    temperature : float
        0 for the same words each time.
    answer_tokens : int
        Most of a written answer, thoughts included.
    context : int
        Tokens that the model can read at once, with its answer; 0 is unknown.
    """

    deadline: float = 120.0
    temperature: float = 0.0
    answer_tokens: int = 1024
    context: int = 0

    def __post_init__(self) -> None:
        for name, (least, most) in _RANGES.items():
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
                raise ParameterError("{name} is {value}; it is a number from {least} to {most:,}",
                                     name=name, value=str(value)[:40], least=least, most=most)

    def fit(self, budget: int, question_tokens: int = 0) -> int:
        """How many tokens of data, at most `budget`, fit beside rules, question and answer.

        Raises
        ------
        ParameterError
            Nothing fits.
        """
        if not self.context:
            return budget
        left = self.context - self.answer_tokens - RULES - question_tokens
        if left < 1:
            raise ParameterError(
                "the model reads {context:,} tokens at once, which an answer of {answer:,} leaves no "
                "room in for passages; lower the reply limit, or let the server read more",
                context=self.context, answer=self.answer_tokens)
        return min(budget, left)
