"""Settings of calls to a language model, which app, command line and Python share."""

from dataclasses import dataclass

from qafd.errors import ParameterError, ReplyLimitError

RULES = 600  # tokens of a prompt next to question and data
_TOKENS = (1, 1_000_000)
_RANGES = {"deadline": (0.1, 3600.0), "temperature": (0.0, 2.0), "context": (0, 100_000_000),
           "answer_tokens": _TOKENS, "plan_tokens": _TOKENS, "judge_tokens": _TOKENS,
           "sql_tokens": _TOKENS, "write_tokens": _TOKENS}


_RAISE = {
    "answer": "{model} used up the reply limit of answers before its answer was whole; raise it in "
              "Settings, Calls, or with --reply-tokens.",
    "plan": "{model} used up the reply limit of questions before its answer was whole; raise it in "
            "Settings, Calls, or with --plan-tokens.",
    "judge": "{model} used up the reply limit of grades before its answer was whole; raise it in "
             "Settings, Calls, or with --judge-tokens.",
    "sql": "{model} used up the reply limit of SQL before its answer was whole; raise it in Settings, "
           "Calls, or with --sql-tokens.",
    "write": "{model} used up the reply limit of reports and summaries before one was whole; raise it in "
             "Settings, Calls, or with --write-tokens.",
    "extract": "{model} used up the reply limit of reading before its answer was whole; raise it on "
               "Documents, or with --reply-tokens."}


def name_limit(error: ReplyLimitError, purpose: str) -> ReplyLimitError:
    """Return the error with the name of the setting to raise for a purpose, such as "answer"."""
    if purpose not in _RAISE:
        return error
    named = ReplyLimitError(_RAISE[purpose].format(model=error.model), error.model)
    named.tokens = error.tokens
    return named


@dataclass(frozen=True)
class CallSettings:
    """Settings of one call; see `qafd.preferences` and the options of `qafd answer`.

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
    plan_tokens, judge_tokens, sql_tokens, write_tokens : int
        Most of a reply that reads a question, grades answers, writes SQL, or a report or summary.
    """

    deadline: float = 120.0
    temperature: float = 0.0
    answer_tokens: int = 1024
    context: int = 0
    plan_tokens: int = 1024
    judge_tokens: int = 512
    sql_tokens: int = 1024
    write_tokens: int = 600

    def __post_init__(self) -> None:
        for name, (least, most) in _RANGES.items():
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
                raise ParameterError(f"{name} is {str(value)[:40]}; it is a number from "
                                     f"{least} to {most:,}")

    def fit(self, budget: int, question_tokens: int = 0) -> int:
        """Return how many tokens of data, at most `budget`, fit next to rules, question and answer.

        Raises
        ------
        ParameterError
            Nothing fits.
        """
        if not self.context:
            return budget
        left = self.context - self.answer_tokens - RULES - question_tokens
        if left < 1:
            raise ParameterError(f"the model reads {self.context:,} tokens at once; an answer of "
                                 f"{self.answer_tokens:,} leaves no room for passages; lower the "
                                 "reply limit, or raise the server's context length")
        return min(budget, left)
