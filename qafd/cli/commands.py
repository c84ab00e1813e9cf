"""The commands with their options and helps; what they do is imported when they run."""

import click

from qafd.cli import qafd
from qafd.cli.command import command, with_store, with_workspace, work
from qafd.cli.inquiry import asks
from qafd.cli.models import may_call_model, reader_options
from qafd.cli.options import (
    FILE,
    SOME,
    db_option,
    engine_option,
    limit_option,
    location,
    model_options,
    name_option,
    out_option,
    question_argument,
    reading_options,
    writing_options,
)
from qafd.cli.starting import app_options

# Names that their modules, which take long to import, have too.
EVIDENCE = ("relation", "sentence", "passage")
EXPORTS = "nodes.csv, edges.csv, passages.csv, graphml, gexf, json, csv, html"

dialect_option = click.option(
    "--dialect", default="", metavar="NAME", help="SQL dialect of DDL or JSON: sqlite, postgres, mysql, "
    "duckdb, tsql and others of sqlglot.")


@command(as_json=False)
@app_options
@work("starting.start")
def demo() -> None:
    """Start the app on its sample."""


@command(as_json=False)
@db_option
@app_options
@work("starting.start")
def app() -> None:
    """Start the app."""


@command(as_json=False)
@with_workspace
@may_call_model
@reading_options
@work("serving.mcp")
def mcp() -> None:
    """Serve a workspace over the Model Context Protocol.

    A program that speaks it starts this command itself: give it 'qafd', 'mcp', '--db' and the file.
    It gets eight tools, which only read.
    """


@command(as_json=False)
@with_workspace
@click.option("--port", type=click.IntRange(1, 65535), default=8601)
@click.option("--host", default="127.0.0.1")
@name_option
@click.option("--token-file", type=FILE, help="File with the token that requests must send, at "
                                              "least 16 characters; or set $QAFD_TOKEN. There is no"
                                              " default token.")
@click.option("--otel", metavar="PLACE", help="Also write each question as a span of OpenTelemetry: to a "
                                              "file of OTLP JSON, or to http(s)://host/v1/traces.")
@may_call_model
@reading_options
@work("serving.serve")
def serve() -> None:
    """Serve a workspace to other programs over HTTP, read-only.

    /openapi.json describes them. Requests are not encrypted: put a proxy with TLS in front
    if other machines use it.
    """


@command("index")
@db_option
@click.argument("files", nargs=-1)
@click.option("--rebuild", "again", flag_value="graph",
              help="Rebuild the graph from the stored extractions.")
@click.option("--re-embed", "again", flag_value="vectors",
              help="Compute all vectors again with the chosen model, and rebuild the graph.")
@click.option("--sync", is_flag=True,
              help="Delete documents whose files are gone from these folders; 'qafd docs --undo' restores "
                   "them.")
@click.option("--name", default="stdin.txt",
              help="Name of a document that is read from stdin.")
@reader_options
@engine_option
@click.option("--dry-run", is_flag=True, help="Print the estimated cost and stop.")
@work("indexing.index_files")
def index_files() -> None:
    """Add files and folders, and build their graph.

    FILES are files or folders; '-' reads text from stdin.
    """


@command(as_json=False)
@db_option
@engine_option
@click.option("--once", is_flag=True, help="End when no job is waiting.")
@work("indexing.worker")
def worker() -> None:
    """Read new documents of all workspaces of a database.

    It runs until it is stopped. Any number may run, on any host: a workspace that one of them works on
    is left to it. Whatever ends one, another goes on where it stopped.
    """


@command("import")
@db_option
@click.argument("files", nargs=-1, required=True)
@click.option("--dry-run", is_flag=True, help="Print the contents of the files and import nothing.")
@work("indexing.import_graph")
def import_graph() -> None:
    """Import a graph that another program wrote.

    GraphML, GEXF, node-link JSON, CSV, GraphRAG, LightRAG. Communities and reports of GraphRAG are used
    unchanged while the workspace has no other documents.
    FILES make one graph, or are the folder of GraphRAG or LightRAG.
    """


@command()
@with_store
@work("contents.status")
def status() -> None:
    """Count the contents of the workspace."""


@command()
@with_store
@click.argument("to", type=location)
@work("contents.backup")
def backup() -> None:
    """Copy the workspace safely while it is in use.

    TO is a new file, or postgresql://host/database/name of a new workspace in a database.
    """


@command("layers")
@with_workspace
@click.option("--build", "names", metavar="NAME", multiple=True,
              help="Build this layer if it is missing or stale; 'all' builds all.")
@click.option("--write", is_flag=True, help="Let --model write the reports, summaries and "
                                            "descriptions of the layers that --build names.")
@click.option("--dry-run", is_flag=True, help="Print the estimated cost of --write and stop.")
@may_call_model
@work("indexing.list_layers")
def list_layers() -> None:
    """List the derived layers that methods need, and build them."""


@command()
@with_store
@click.option("--by", default="run",
              type=click.Choice(["run", "document", "chunk", "question", "model", "purpose"]))
@work("contents.ledger")
def ledger() -> None:
    """Sum up the calls to language models."""


@command()
@with_workspace
@click.option("--search", metavar="WORDS", help="Search all passages for these words.")
@click.option("--errors", metavar="FILE", help="List the passages of a file whose reply from a "
                                               "model could not be read, with the reply.")
@click.option("--delete", metavar="NAME", multiple=True,
              help="Delete a file or a document; --undo restores it.")
@click.option("--undo", metavar="NAME", multiple=True)
@click.option("--erase", metavar="NAME", multiple=True,
              help="Remove a file or a document for good. Without --yes only list what would go.")
@click.option("--yes", is_flag=True, help="Confirm --erase.")
@work("curating.docs")
def docs() -> None:
    """List, search, delete, restore or erase documents."""


@command("entities")
@with_workspace
@click.argument("words", nargs=-1)
@click.option("--near", metavar="ENTITY",
              help="List the neighbors of this entity and the edges to them.")
@click.option("--alike", is_flag=True,
              help="List possible duplicates, with the reason.")
@click.option("--mixed", is_flag=True,
              help="List entities that may be two things, with the passages of each.")
@work("curating.list_entities")
def list_entities() -> None:
    """List entities, or possible duplicates.

    With WORDS those with these words in a name.
    """


@command()
@with_workspace
@click.option("--call", nargs=2, metavar="ENTITY NAME",
              help="Rename an entity; if NAME is another entity, merge them.")
@click.option("--apart", nargs=2, metavar="ENTITY OTHER",
              help="Mark two entities as different, so that they are not suggested again.")
@click.option("--hide", metavar="ENTITY", help="Hide a name that is not an entity.")
@click.option("--split", nargs=2, metavar="ENTITY NAME",
              help="Split the entity: in the passages of --passage it is another one, called NAME.")
@click.option("--passage", "passages", multiple=True, metavar="ID",
              help="A passage of --split; 'qafd entities --mixed' lists those of an entity that may be two.")
@click.option("--connect", nargs=2, metavar="ENTITY OTHER",
              help="Add an edge from one entity to another; see --label and --note.")
@click.option("--disconnect", nargs=2, metavar="ENTITY OTHER", help="Remove the edges between two "
              "entities, also those of later documents.")
@click.option("--undo", type=int, metavar="N",
              help="Undo edit N.")
@click.option("--label", default="", metavar="WORDS",
              help="Name of the relation of --connect, such as 'founded'.")
@click.option("--note", "reason", default="", metavar="TEXT",
              help="Reason for the edge, shown in place of a sentence.")
@work("curating.edit")
def edit() -> None:
    """Rename, merge, split, hide or connect entities.

    Without options all edits are listed; --undo N takes one back.
    """


@command()
@asks()
@click.option("--keep", is_flag=False, flag_value="", metavar="[NOTE]",
              help="Save the run, with a note if one is given.")
@may_call_model
@reading_options
@work("asking.query")
def query() -> None:
    """Retrieve the subgraph and passages for a question."""


@command()
@asks()
@may_call_model
@writing_options
@reading_options
@click.option("--prompt", is_flag=True, help="Print the prompt for a model without sending it.")
@click.option("--follow", is_flag=True,
              help="Complete the question from the last one that was asked here.")
@click.option("--check", is_flag=True, help="Let the model read each cited statement again beside its "
                                            "passages, in one more call.")
@work("answering.answer")
def answer() -> None:
    """Answer a question with quoted sentences, or in a model's words."""


@command()
@with_workspace
@question_argument
@click.option("--evidence", type=click.Choice(EVIDENCE), default="passage",
              help="Weakest evidence that meets a condition: a relation, a sentence or a passage "
                   "with both names.")
@click.option("--answers", type=click.IntRange(1, 200), default=10,
              help="Number of answers to list.")
@click.option("--condition", "conditions", multiple=True, metavar="NAME", help="A condition, instead of "
              "those read from the question; may be repeated. Write \"not NAME\" if the answer must not "
              "be related to it.")
@may_call_model
@work("answering.exact")
def exact() -> None:
    """List the answers that meet all conditions of a question."""


@command()
@db_option
@question_argument
@click.option("--methods", default="qafd,community,ego,flow_path",
              help="Two to six methods, separated by commas; names of papers such as lightrag "
              "work too. NAME=FILE.jsonl, NAME=http://... or the NAME of imported runs adds "
              "a retriever of yours.")
@click.option("--budget", type=int, default=1200, help="Tokens of passages for each method.")
@may_call_model
@reading_options
@work("asking.compare")
def compare() -> None:
    """Ask several methods the same question and list the differences."""


@command()
@asks()
@click.argument("node")
@click.option("--against", metavar="NAME=PLACE", help="Also ask a retriever of yours, as for 'qafd compare "
                                                      "--methods'.")
@click.option("--to", metavar="NAME", help="Explain the edge to this node instead, with the flow "
                                           "through passages.")
@work("explaining.why")
def why() -> None:
    """Explain why a node is retrieved, or why not.

    NODE is its name, '¶ title' for a passage, or its id.
    """


@command()
@asks()
@click.option("--to", help="Only list paths that end at this node.")
@click.option("--most", type=SOME, default=20,
              help="Number of paths to list.")
@work("explaining.paths")
def paths() -> None:
    """List the paths that the mass took."""


@command()
@asks()
@click.option("--without-document", "documents", multiple=True, metavar="NAME")
@click.option("--without-node", "nodes", multiple=True, metavar="NAME")
@click.option("--without-seed", "seeds", multiple=True, metavar="NAME")
@click.option("--without-edge", "edges", multiple=True, nargs=2, metavar="NAME NAME")
@work("explaining.whatif")
def whatif() -> None:
    """Solve again with something taken out."""


@command(as_json=False)
@asks(needed=False)
@click.option("--graph", is_flag=True, help="Write the whole graph instead of a retrieval.")
@click.option("--format", "form", required=True, metavar="NAME",
              help=f"{EXPORTS}, or that of an installed extension; csv is a zip file of two tables.")
@out_option
@work("asking.export")
def export() -> None:
    """Write a retrieval, or the whole graph, as a file."""


@command()
@click.argument("file")
@work("runs.verify")
def verify() -> None:
    """Check the certificate of a run from its own numbers.

    FILE is the output of 'qafd query --json' or a run saved as JSON; '-' reads stdin.
    """


@command("runs")
@with_workspace
@click.argument("ids", nargs=-1)
@click.option("--add", metavar="FILE", help="Save the run of a JSON file in this workspace, or the "
                                            "retrievals that another system recorded: JSON lines, "
                                            "OpenTelemetry, LightRAG, GraphRAG.")
@click.option("--as", "name", default="mine", metavar="NAME", help="Name of that other system.")
@click.option("--note", "text", help="Give the run this note.")
@click.option("--delete", "deleting", is_flag=True, help="Delete the runs.")
@click.option("--undo", "undoing", is_flag=True, help="Restore the runs that were deleted last.")
@work("runs.list_runs")
def list_runs() -> None:
    """List saved runs, show one, or compare two.

    Without IDS all are listed. The beginning of an id is enough. With --json one run is
    printed as a file that verify, replay and --add read.
    """


@command()
@with_workspace
@click.argument("run", metavar="RUN")
@work("runs.replay")
def replay() -> None:
    """Ask the question of a run again and compare the results.

    RUN is a JSON file, or the id of a saved run.
    """


@qafd.group("eval")
def evaluation() -> None:
    """Measure methods on questions with known supporting passages."""


@command()
@click.argument("source")
@question_argument
@click.option("--run", "running", is_flag=True, help="Also run the SQL, read-only.")
@click.option("--mass", type=float, default=2.0,
              help="Mass of each seed; more mass retrieves more of the schema.")
@dialect_option
@db_option
@may_call_model
@work("foreign.sql")
def sql() -> None:
    """Draft SQL for a question to a database, read-only.

    SOURCE is a SQLite file, a table (.csv, .tsv, .xlsx), or .sql with a schema, as pg_dump --schema-only
    writes it. With --model a language model writes the SQL too; its calls are noted in the workspace that
    --db names.
    """


@command()
@db_option
@click.option("--quick", is_flag=True, help="Check only the installation.")
@click.option("--deep", is_flag=True, help="Also recompute the graph from its log and compare.")
@click.option("--endpoint", is_flag=True,
              help="Also test the language model: model list, JSON, vectors, context.")
@model_options
@click.option("--embed-model", envvar="QAFD_EMBED_MODEL", show_envvar=True,
              help="Name of an embedding model.")
@work("checking.doctor")
def doctor() -> None:
    """Check this installation and a workspace.

    Checks Python, packages, models, the folder of the workspaces, configuration, and the workspace
    of --db. Each line reports ok, warn or fail, and a remedy. Exits with 0 if nothing failed,
    else with 1.
    """


@command(as_json=False, group=evaluation)
@click.option("--questions", type=FILE, metavar="Q.jsonl",
              help="By default the questions that are marked or written in --db.")
@click.option("--passages", type=FILE, metavar="P.jsonl",
              help="File of passages; by default those in the questions, or the documents of --db.")
@click.option("--methods", default="qafd,qafd:paper",
              help="Methods such as 'qafd,vector,qafd:paper,qafd(mass=30,variant=plain)'; all are "
                   "compared with the first. NAME=FILE, NAME=http://... or the NAME of imported runs "
                   "is a retriever of yours.")
@click.option("--db", type=location, help="Workspace for the indexed passages; it is reused while they "
                                          "stay the same.")
@limit_option
@click.option("--json", "out", metavar="OUT",
              help="File for the result; '-' is stdout.")
@may_call_model
@reading_options
@work("measuring.retrieval")
def retrieval() -> None:
    """Measure methods on questions with known supporting passages.

    Question files: our own format (question, gold, and answer where it is known), the one with
    gold_pids, HotpotQA, 2WikiMultihopQA, MuSiQue. Prints, as means over the questions: recall of the
    gold passages among the first 2, 5 and 10 (R), precision of the first 5 (P@5: gold among them,
    divided by 5) and F1 of both, the share with all gold in the first 5, the reciprocal rank; nodes,
    tokens and milliseconds. JSON has the intervals of each.
    """


@command("exact", group=evaluation)
@click.argument("questions", type=FILE)
@click.option("--db", type=location, required=True,
              help="Workspace that the questions ask about.")
@click.option("--methods", default="exact,qafd,pagerank,ego,vector",
              help="Methods, as for 'retrieval'; 'community' needs its layer, see 'qafd layers'.")
@limit_option
@click.option("--deleted", is_flag=True, help="Also repeat with 1, 2 and 3 relations deleted that "
                                              "the first method's answers rely on.")
@work("measuring.conditions")
def conditions() -> None:
    """Measure how often an answer that meets all conditions is ranked first.

    A question has 'question', 'answer' (a name or a list) and, if known, 'conditions', their number.
    """


@command("answers", group=evaluation)
@click.option("--questions", type=FILE, required=True, metavar="Q.jsonl",
              help="JSON lines with 'question' and, if known, 'answer' (a text or a list).")
@click.option("--passages", type=FILE, metavar="P.jsonl",
              help="File of passages, as for 'retrieval'.")
@click.option("--methods", default="qafd,vector",
              help="Methods, as for 'retrieval'.")
@click.option("--db", type=location, help="Workspace, which also stores calls so that none is paid "
                                          "twice.")
@limit_option
@may_call_model
@writing_options
@reading_options
@click.option("--judge", type=click.Choice(["correct", "grades", "both", "empowerment"]),
              help="Let the model compare answers with the known ones, grade them by QAFD-RAG's five "
                   "criteria, do both, or grade them by SG-RAG's empowerment score.")
@click.option("--alone", is_flag=True, help="Grade each answer in calls of its own, not side by side.")
@click.option("--judge-model", metavar="NAME",
              help="Another model at the same address as judge; by default the writer judges itself.")
@click.option("--rounds", type=click.IntRange(min=1, max=20), default=2,
              help="Rounds of judging; the order of answers is reversed each time.")
@click.option("--dry-run", is_flag=True, help="Print the largest possible cost and stop.")
@work("measuring.written_answers")
def written_answers() -> None:
    """Compare the answers of methods with the known ones.

    With a model it writes them from what each method retrieves, else they are quoted. Prints exact
    match, F1 of words and whether the known answer is contained; with qafd[measures] also BLEU,
    ROUGE and METEOR (without synonyms); the share of questions without an answer; and what the
    model thinks, if asked: it does not see which method wrote what, and equal answers once.
    """


@command("sql", group=evaluation)
@click.argument("source", type=FILE)
@click.argument("questions", type=FILE)
@limit_option
@db_option
@may_call_model
@work("measuring.written_sql")
def written_sql() -> None:
    """Measure how often SQL for a question returns the rows of the known SQL.

    SOURCE is a SQLite file; a question has 'question' and 'sql'. Without --model the complete drafts of
    the rules are run; the calls of a model are noted in the workspace that --db names.
    """
