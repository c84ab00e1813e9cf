"""How much of the tables and columns that a question needs is retrieved from a schema, and linked.

    python benchmarks/schema_linking.py NAME:SCHEMAS:QUESTIONS [...]

SCHEMAS has one JSON object a line with db, tables (table, columns with name, type, pk), perhaps
sample_rows and foreign_keys ("a.b" pairs); QUESTIONS one with db, question, gold_tables and
gold_columns. No values are looked up, as there are no rows. Recall, precision and F1 are means over
questions: of what the diffusion retrieves at several masses, and of what is linked at the usual one.
Writes results/schema_linking.json.
"""

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from results import write

from qafd.flow import kernel
from qafd.models.embedder import local_embedder
from qafd.plan import Planner
from qafd.retrieve.base import SATURATED
from qafd.sql.database import Database
from qafd.sql.diffusion import METHOD, schema_corpus, schema_graph
from qafd.sql.schema import Column, Join, Schema, Table

MASSES = (1.0, 1.5, 2.0, 3.0, 4.0)


def lines(path):
    """The objects of a file."""
    return [json.loads(line) for line in Path(path).read_text("utf-8").splitlines()]


def schema(record):
    """The schema of one database."""
    def values(table, column):
        rows = [row.get(column) for row in table.get("sample_rows") or []]
        return tuple(str(value)[:40] for value in rows if value not in (None, ""))[:3]

    tables = [Table(t["table"], tuple(Column(
        t["table"], c["name"], c["type"], bool(c.get("pk")), values(t, c["name"]))
        for c in t["columns"])) for t in record["tables"]]
    ends = [[end.split(".", 1) for end in pair] for pair in record.get("foreign_keys", [])]
    return Schema.of(tables, [Join(a, (b,), c, (d,)) for (a, b), (c, d) in ends], has_rows=False)


def scored(found, gold):
    """Recall, precision and F1 of some names."""
    gold = {name.lower() for name in gold}
    found = {name.lower() for name in found}
    hits = len(gold & found)
    return hits / len(gold), hits / max(len(found), 1), 2 * hits / (len(found) + len(gold))


def means(questions, found):
    """Means over questions of the tables and columns that a function finds for each."""
    rows = []
    for question, parts in questions:
        tables, columns = found(*parts)
        row = {"tables": len(tables)}
        for what, names, gold in (("table", tables, question["gold_tables"]),
                                  ("column", columns, question.get("gold_columns"))):
            for measure, value in zip(("recall", "precision", "F1"),
                                      scored(names, gold) if gold else (None,) * 3, strict=True):
                row[f"{what} {measure}"] = value
        row["all tables"] = float(row["table recall"] == 1)
        rows.append(row)
    return {name: float(np.mean([row[name] for row in rows if row[name] is not None]))
            for name in rows[0]}


def measured(questions, mass):
    """Means of what is retrieved, and the median milliseconds of CPU of a retrieval."""
    spent = []

    def retrieved(database, plan):
        corpus = schema_corpus(database.graph, database.schema, ())
        begin = time.process_time()
        retrieval = replace(METHOD, mass=mass).retrieve(corpus, plan)
        spent.append(time.process_time() - begin)
        full = {n.name for n in retrieval.nodes if n.state == SATURATED}
        columns = {c.label for c in database.schema.columns if c.label in full}
        return {label.rpartition(".")[0] for label in columns} | {
            t.name for t in database.schema.tables if t.name in full}, columns

    found = means(questions, retrieved)
    return {**found, "milliseconds": 1000 * float(np.median(spent))}


def linked(database, plan):
    """The tables and columns that are linked to a question."""
    found = database.ask(plan.question).linked
    return found.tables, found.columns


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="+")
    arguments = parser.parse_args()
    kernel.load()
    embedder, found = local_embedder(), {}
    for spec in arguments.data:
        name, schemas, questions = spec.split(":")
        own = {record["db"]: schema(record) for record in lines(schemas)}
        bases = {db: Database(db, one, schema_graph(one, embedder), embedder)
                 for db, one in own.items()}
        planners = {db: Planner(base.graph, embedder) for db, base in bases.items()}
        asked = [(q, (bases[q["db"]], planners[q["db"]].plan(q["question"])))
                 for q in lines(questions) if q["gold_tables"]]
        found[name] = {"questions": len(asked), "schemas": len(own),
                       "linked": means(asked, linked), "mass": {
                           str(mass): measured(asked, mass) for mass in MASSES}}
        print(name, json.dumps(found[name], indent=1))
    write("schema_linking", found, None,
          "the constants of qafd.sql.diffusion and qafd.sql.linking were chosen on spider1_dev")


if __name__ == "__main__":
    main()
