"""Write the tables of README and docs/research.md from benchmarks/results.

    python benchmarks/table.py
"""

import json
import re
import statistics
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[1]
KINDS = {"longdocs": "longdocs, a book, a handbook, RST", "cranfield": "Cranfield, abstracts without names",
         "pubmedqa": "PubMedQA, untitled sections", "lihua_world": "LiHua, chats",
         "musique": "MuSiQue", "hotpotqa": "HotpotQA", "2wiki": "2WikiMultihopQA"}
RIVALS = {"pagerank .95": "PageRank .95, same graph", "fusion": "dense + BM25", "vector": "dense",
          "lexical": "BM25", "pagerank": "HippoRAG 2", "linear": "LinearRAG"}


def result(name):
    """The stored rows of one benchmark, or its methods."""
    stored = json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text("utf-8"))
    return stored.get("rows") or stored["methods"]


def lines():
    """(what, measured, wanted, script) of every line."""
    for part in (of_the_app, of_indexing, of_growth, of_many, of_questions, of_recall,
                 of_answers, of_the_solver):
        yield from part()


def median_of(rows, name):
    """The median of a figure of some rows."""
    return statistics.median(row[name] for row in rows)


def of_the_app():
    starts = [row for row in result("start") if "start" in row]
    foreign = next(row for row in result("start") if "foreign_requests" in row)
    slow = [row for row in result("start") if "slow_skeleton_s" in row]
    first = median_of(starts, "first_picture_s")
    yield "server start to colored sample in the browser", f"{first:.1f} s", "5 s", "start.py"
    slider = median_of(starts, "slider_ms_median")
    yield "slider move to redrawn graph, median", f"{slider:.0f} ms", "250 ms", "start.py"
    cards = median_of(starts, "card_ms_median")
    yield "click on a node to its card, median", f"{cards:.0f} ms", "200 ms", "start.py"
    frames = median_of(starts, "drag_frame_ms_median")
    yield "frame while the mass is dragged, median", f"{frames:.1f} ms", "16.7 ms", "start.py"
    skeleton, painted = median_of(slow, "slow_skeleton_s"), median_of(slow, "slow_first_picture_s")
    yield ("skeleton and first picture at 1.6 Mbit/s", f"{skeleton:.1f} s, {painted:.1f} s", "1 s, 8 s",
           "start.py")
    yield "requests to other hosts", str(foreign["foreign_requests"]), "0", "start.py"


def of_indexing():
    indexing, kills = result("indexing")[:2]
    yield (f"indexing {indexing['passages']:,} passages",
           f"{indexing['passages_per_second']:.1f} a second", "25 a second", "indexing.py")
    yield ("largest process while indexing", f"{max(indexing['peak_mb_per_process'])} MB",
           "1,000 MB", "indexing.py")
    if kills["kills"]:
        yield (f"same graph after {kills['kills']} kill -9", "yes" if kills["same_digest"] else "no", "yes",
               "indexing.py")


def of_growth():
    rows = {round(row["passages"], -4): row for row in result("scale") if "passages" in row}
    first, grown = rows[0], rows[100_000]
    changed = ("add s", "delete s", "undo s")
    yield (f"add, delete, undo one document at {grown['passages']:,} passages",
           ", ".join(f"{grown[what]:.2f}" for what in changed) + " s of CPU", "1 s", "scale.py")
    yield (f"... over {first['passages']:,} passages",
           ", ".join(f"{grown[what] / first[what]:.1f}" for what in changed) + " times", "1.3 times",
           "scale.py")
    yield (f"open, first question at {grown['passages']:,} passages",
           f"{grown['open s']:.2f}, {grown['first question s']:.2f} s of CPU", "1 s, 1.5 s", "scale.py")
    yield (f"question on {grown['passages']:,} drawn passages, median and p95",
           f"{grown['warm ms']}, {grown['p95 ms']} ms of CPU", "80 ms, 150 ms", "scale.py")
    for size, goal in ((100_000, "1,200 MB"), (1_000_000, "2,500 MB")):
        yield (f"memory of asking {rows[size]['passages']:,} passages",
               f"{rows[size]['MB of questions']:,} MB", goal, "scale.py")
    yield ("ten questions at once over one, p95, in one and in two processes",
           f"{grown['ten at once, p95 / p95']}, {grown['ten at once, two processes']}", "6", "scale.py")


def of_many():
    cold = next(row for row in result("sessions") if row["what"] == "cold")
    yield (f"{cold['sessions']} sessions that open Explore at once, p95; lost",
           f"{cold['p95 s']:.1f} s; {cold['lost']}", "10 s; 0", "sessions.py")
    measured = [row for row in result("backends") if "times" in row]
    largest = max(row["passages"] for row in measured)
    by = {row["what"]: row for row in measured if row["passages"] == largest}
    for what in ("add a document", "question", "search"):
        row = by[what]
        yield (f"PostgreSQL over SQLite at {largest:,} passages: {what}; round trips",
               f"{row['times']:.1f}; {row['round trips']:.0f}", "2.5", "backends.py")


def of_questions():
    query = {(row["passages"], row["what"]): row["median_ms"] for row in result("query")}
    for size in dict.fromkeys(passages for passages, _ in query):
        yield (f"question on {size:,} passages, median", f"{query[size, 'whole question']:.0f} ms",
               "60 ms", "query.py")
        yield "... of it diffusion", f"{query[size, 'diffusion']:.1f} ms", "5 ms", "query.py"
    asked = {row["question"]: row["median_ms"] for row in result("compare")}
    yield ("new question on Compare, four panels, 994 documents, median", f"{asked['new']} ms",
           "1,000 ms", "compare.py")


def of_recall():
    quality = defaultdict(list)
    for row in result("kinds"):
        quality[row["method"]].append(row["R@5"])
    for name, label in (("qafd", f"recall@5, mean of {len(KINDS)} kinds of documents"),
                        ("pagerank .95", "... PageRank, same graph and seeds"),
                        ("fusion", "... dense + BM25"), ("vector", "... dense")):
        yield label, f"{statistics.mean(quality[name]):.3f}", "", "kinds.py"


def of_answers():
    """Figures of the chooser fitted without the set, next to ten lines of rules."""
    for row in result("chooser"):
        if "first" in row:
            yield (f"first sentence right, {row['set']}, {row['questions']} questions; ten lines",
                   f"{row['first']:.2f}; {row['rival_first']:.2f}", "", "fit_chooser.py")
            yield ("... one quoted sentence right; ten lines",
                   f"{row['quoted']:.2f}; {row['rival_quoted']:.2f}", "", "fit_chooser.py")


def of_the_solver():
    solver = {(row["path"], row["nodes"], row["alpha"]): row for row in result("solver")
              if "path" in row and "alpha" in row}
    for path, wanted in (("numpy", "10 ms"), ("compiled", "2 ms")):
        yield (f"diffusion over 100,000 nodes, support near 800, {path}",
               f"{solver[path, 100000, 50.0]['ms']:.1f} ms", wanted, "solver.py")


def table(lines):
    """Rows of (what, measured, wanted, script) in Markdown."""
    rows = [f"| {what} | {measured} | {wanted} | `benchmarks/{script}` |"
            for what, measured, wanted, script in lines]
    return "\n".join(["| what | measured | goal | script |", "|---|---|---|---|", *rows])


def short():
    """The figures of README in Markdown, each with what to compare it with."""
    kinds = defaultdict(list)
    for row in result("kinds"):
        kinds[row["method"]].append(row["R@5"])
    recall = {name: f"{statistics.mean(values):.2f}" for name, values in kinds.items()}
    answers = {row["set"]: row for row in result("chooser") if "first" in row}
    first = answers["hotpotqa"]
    sent = {row["method"]: row["all"] for row in result("prompt") if row.get("tokens") == 1500}
    steps = next(row for row in result("prompt") if "two steps" in row)
    growth = {round(row["passages"], -4): row for row in result("scale") if "passages" in row}
    large = growth[100_000]
    starts = median_of([row for row in result("start") if "start" in row], "first_picture_s")
    solver = {(row["path"], row["nodes"], row["alpha"]): row["ms"] for row in result("solver")
              if "path" in row and "alpha" in row}
    rows = [
        (f"recall@5, mean of {len(KINDS)} kinds of documents", recall["qafd"],
         f"PageRank on the same graph {recall['pagerank .95']}, dense + BM25 {recall['fusion']}, "
         f"dense {recall['vector']}", "kinds.py"),
        ("all gold passages in a prompt of 1,500 tokens, MuSiQue", f"{sent['qafd']:.2f}",
         f"dense + BM25 {sent['fusion']:.2f}, PageRank {sent['pagerank']:.2f}, ego net {sent['ego']:.2f}",
         "prompt.py"),
        (f"recall@5 with further questions of a model, {steps['questions']} of MuSiQue",
         f"{steps['two steps'][0]:.2f}", f"without {steps['one step'][0]:.2f}", "prompt.py"),
        (f"first quoted sentence is right, {first['questions']} questions of HotpotQA",
         f"{first['first']:.2f}", f"ten lines of rules {first['rival_first']:.2f}", "fit_chooser.py"),
        (f"question at {large['passages']:,} passages, median", f"{large['warm ms']} ms of CPU",
         f"at {growth[0]['passages']:,}: {growth[0]['warm ms']} ms", "scale.py"),
        ("diffusion over 100,000 nodes, 800 filled", f"{solver['numpy', 100000, 50.0]:.1f} ms",
         f"compiled {solver['compiled', 100000, 50.0]:.1f} ms", "solver.py"),
        ("server start to first picture", f"{starts:.1f} s", "", "start.py")]
    lines = [f"| {what} | {measured} | {other} | `benchmarks/{script}` |"
             for what, measured, other, script in rows]
    return "\n".join(["| what | measured | to compare | script |", "|---|---|---|---|", *lines])


def retrieval():
    """Every method and ablation in Markdown: R@5 / all gold in the top 5 by set, and means."""
    found = result("retrieval_quality")
    sets = list(found["qafd"]["sets"])
    head = ["method", *sets, "R@2", "R@5", "qafd ahead by (95% interval)", "ms"]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for name, row in found.items():
        cells = [f"{row['sets'][s]['recall@5']:.3f}/{row['sets'][s]['all@5']:.2f}" for s in sets]
        gain, low, high = row["qafd_gain"]
        ms = statistics.mean(row["sets"][s]["ms"] for s in sets)
        ahead = "" if name == "qafd" else f"{gain:+.3f} ({low:+.3f} to {high:+.3f})"
        shown = f"**{name}**" if name == "qafd" else name
        shown += " †" * (row["commit"] != found["qafd"]["commit"])
        lines.append(f"| {shown} | " + " | ".join(cells) + f" | {row['mean']['recall@2']:.3f} | "
                     f"{row['mean']['recall@5']:.3f} | {ahead} | {ms:.0f} |")
    return "\n".join(lines)


def kinds():
    """QAFD and its rivals on each kind of documents in Markdown: R@5 / MRR, the best in bold."""
    found = {(row["set"], row["method"]): row for row in result("kinds")}
    methods = {"qafd": "qafd"} | RIVALS
    head = ["set, questions", *methods.values(), "lead over the best rival, R@5"]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for name, label in KINDS.items():
        rows = {method: found[name, method] for method in methods}
        best = {}
        for what in ("R@5", "MRR"):
            best[what] = max(f"{row[what]:.3f}" for row in rows.values())
        cells = []
        for row in rows.values():
            figures = (f"{row[what]:.3f}" for what in best)
            bold = (f"**{figure}**" if figure == best[what] else figure
                    for what, figure in zip(best, figures, strict=True))
            cells.append("/".join(bold))
        rival = max(RIVALS, key=lambda method: rows[method]["R@5"])
        lead = rows[rival]["ahead"]["R@5"]
        lines.append(f"| {label}, {rows['qafd']['questions']} | " + " | ".join(cells)
                     + f" | {lead['mean']:+.4f} ({lead['low']:+.3f} to {lead['high']:+.3f}) |")
    return "\n".join(lines)


def main():
    """Replace the tables between their marks."""
    for file, mark, made in (("README.md", "measured", short()),
                             ("docs/research.md", "figures", table(lines())),
                             ("docs/research.md", "measured", retrieval()),
                             ("docs/research.md", "kinds", kinds())):
        page = ROOT / file
        between = re.compile(f"<!-- {mark} -->.*<!-- /{mark} -->", re.DOTALL)
        page.write_text(between.sub(f"<!-- {mark} -->\n{made}\n<!-- /{mark} -->",
                                    page.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
