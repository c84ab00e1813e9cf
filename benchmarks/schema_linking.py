"""How much of the tables and columns that a question needs is retrieved from a schema.

    python benchmarks/schema_linking.py NAME:SCHEMAS:QUESTIONS [...]

SCHEMAS has one JSON object a line with db, tables (table, columns with name, type, pk), perhaps
sample_rows and foreign_keys ("a.b" pairs); QUESTIONS one with db, question, gold_tables and
gold_columns. No values are looked up, as there are no rows. Recall and precision are means over
questions. Writes results/schema_linking.json.
"""

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from results import write

from qafd.flow import kernel
from qafd.knowledge import local_embedder
from qafd.plan import Planner
from qafd.retrieve.base import SATURATED
from qafd.sql.link import METHOD, schema_corpus, schema_graph
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
    return Schema.of(tables, [Join(a, (b,), c, (d,)) for (a, b), (c, d) in ends])


def measured(questions, mass):
    """Means over questions, and the median milliseconds of CPU of a retrieval."""
    rows, spent = [], []
    for question, (own, graph, plan) in questions:
        corpus = schema_corpus(graph, own, ())
        begin = time.process_time()
        retrieval = replace(METHOD, mass=mass).retrieve(corpus, plan)
        spent.append(time.process_time() - begin)
        full = {n.name for n in retrieval.nodes if n.state == SATURATED}
        columns = {c.label.lower() for c in own.columns if c.label in full}
        tables = {c.table.lower() for c in own.columns if c.label in full} | {
            t.name.lower() for t in own.tables if t.name in full}
        row = {"tables": len(tables)}
        for what, found, gold in (("table", tables, question["gold_tables"]),
                                  ("column", columns, question.get("gold_columns") or [])):
            gold = {name.lower() for name in gold}
            hits = len(gold & found)
            row[f"{what} recall"] = hits / len(gold) if gold else None
            row[f"{what} precision"] = hits / max(len(found), 1) if gold else None
        row["all tables"] = float(row["table recall"] == 1)
        rows.append(row)
    means = {name: float(np.mean([row[name] for row in rows if row[name] is not None]))
             for name in rows[0]}
    return {**means, "milliseconds": 1000 * float(np.median(spent))}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="+")
    arguments = parser.parse_args()
    kernel.load()
    embedder, found = local_embedder(), {}
    for spec in arguments.data:
        name, schemas, questions = spec.split(":")
        own = {record["db"]: schema(record) for record in lines(schemas)}
        graphs = {db: schema_graph(one, embedder) for db, one in own.items()}
        planners = {db: Planner(graph, embedder) for db, graph in graphs.items()}
        asked = [(q, (own[q["db"]], graphs[q["db"]], planners[q["db"]].plan(q["question"])))
                 for q in lines(questions) if q["gold_tables"]]
        found[name] = {"questions": len(asked), "schemas": len(own), "mass": {
            str(mass): measured(asked, mass) for mass in MASSES}}
        print(name, json.dumps(found[name], indent=1))
    write("schema_linking", found, None,
          "the constants of qafd.sql.link were chosen on spider1_dev")


if __name__ == "__main__":
    main()
