"""The commands query and answer, apart from their work, so that their help comes at once."""

from typing import Any

import click

from qafd.cli.command import Outcome, command
from qafd.cli.inquiry import Inquiry, QuestionCommand, asks
from qafd.cli.models import ModelRequest, may_call_model
from qafd.cli.options import writing_options


@command(kind=QuestionCommand)
@asks(method=True)
@click.option("--keep", is_flag=False, flag_value="", metavar="[NOTE]",
              help="Save the run, with a note if one is given.")
def query(inquiry: Inquiry, keep: str | None) -> Outcome:
    from qafd.cli.asking import answer_query

    return answer_query(inquiry, keep)


@command(kind=QuestionCommand)
@asks(method=True)
@may_call_model
@writing_options
@click.option("--prompt", is_flag=True, help="Print the prompt for a model without sending it.")
@click.option("--plan", type=click.Choice(["rules", "model"]), default="rules",
              help="Read the question by rules, or let --model name its keywords and parts.")
@click.option("--follow", is_flag=True,
              help="Complete the question from the last one that was asked here.")
def answer(inquiry: Inquiry, asked: ModelRequest, **wishes: Any) -> Outcome:
    from qafd.cli.answering import answer_inquiry

    return answer_inquiry(inquiry, asked, **wishes)
