"""What a call to a language model costs on our side, and memory under a stream without end.

    python benchmarks/llm_overhead.py

A server of its own process answers on loopback at once. Every call is a different question, sent
by the bare `openai` client and by `Metered` over `Endpoint`, which also reserves, notes and stores
it; the difference is the wrapper's. Goals: 5 ms a call, 50 MB of growth under an endless stream.
"""

import multiprocessing
import resource
import statistics
import sys
import tempfile
import time
from pathlib import Path

import openai
from results import write

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from faults import FaultServer  # noqa: E402

from qafd.errors import DeadlineError  # noqa: E402
from qafd.knowledge import KnowledgeGraph  # noqa: E402
from qafd.models import Message  # noqa: E402
from qafd.models.cost import Meter, Metered, Price  # noqa: E402
from qafd.models.endpoint import Endpoint  # noqa: E402
from qafd.storage import open_workspace  # noqa: E402

CALLS, SECONDS = 100, 10.0
LAST = "End. "


def serve(pipe):
    """A fault server whose fault comes through the pipe."""
    server = FaultServer(lambda _: "Paris [1]. " * 60 + "End.", lambda *_: server.now)
    # head and body in one packet: else the client's system waits 40 ms before it confirms
    server._server.RequestHandlerClass.wbufsize = -1
    server.now = "ok"
    pipe.send(server.url)
    while server.now != "end":
        server.now = pipe.recv()
        pipe.send("")


def timed(*asks):
    """Milliseconds of wall and of CPU time of each way to ask, in turns, after ten to warm up."""
    took = [[] for _ in asks]
    for i in range(CALLS + 10):
        for ask, times in zip(asks, took, strict=True):
            wall, cpu = time.perf_counter(), time.process_time()
            ask(i)
            times.append((1000 * (time.perf_counter() - wall), 1000 * (time.process_time() - cpu)))
    return [[statistics.median(column) for column in zip(*times[10:], strict=True)]
            for times in took]


def answers(path, model, bare, context):
    """Milliseconds of a streamed answer of one call: alone, with ours to its last word, and after.

    Ours opens the workspace for it. After the last word it notes the call and closes; the file's
    only connection then merges its log into it.
    """
    alone, until, after = [], [], []
    for i in range(CALLS):
        clocks = [(time.perf_counter(), time.process_time())]
        for _ in bare.chat.completions.create(
                model="tiny", max_tokens=1024, temperature=0.0, stream=True,
                messages=[{"role": "user", "content": f"{i} bare {context}"}]):
            pass
        clocks.append((time.perf_counter(), time.process_time()))
        with open_workspace(path):
            for piece in model.stream([Message("user", f"{i} alone {context}")]):
                if piece == LAST:
                    clocks.append((time.perf_counter(), time.process_time()))
        clocks.append((time.perf_counter(), time.process_time()))
        for times, begin, end in zip((alone, until, after), clocks, clocks[1:], strict=False):
            times.append([1000 * (y - x) for x, y in zip(begin, end, strict=True)])
    return [[statistics.median(column) for column in zip(*times, strict=True)]
            for times in (alone, until, after)]


def growth(model):
    """MB of memory that an endless stream adds until its deadline, and the seconds it took."""
    before, begin = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.perf_counter()
    length = 0
    try:
        for piece in model.stream([Message("user", "Go on for ever.")]):
            length += len(piece)
    except DeadlineError:
        pass
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return (after - before) / 1024, time.perf_counter() - begin, length


def main():
    """Measure and store."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=serve, args=(theirs,))
    process.start()
    url = ours.recv()
    context = "Ada Lovelace wrote notes on the Analytical Engine. " * 120  # 1,000 tokens
    with tempfile.TemporaryDirectory() as home:
        path = KnowledgeGraph.sample("songbook", home).place.written
        model = Metered(Endpoint("tiny", url, deadline=SECONDS), path, Meter(), Price(1.0, 1.0),
                        url)
        bare = openai.OpenAI(base_url=url, api_key="none", max_retries=0)

        def alone(i):
            bare.chat.completions.create(model="tiny", max_tokens=1024, temperature=0.0, messages=[
                {"role": "user", "content": f"{i} {context}"}])

        def wrapped(i):
            model.complete([Message("user", f"{i} {context}")])

        with open_workspace(path):  # as a run has it
            during = timed(alone, wrapped, wrapped)  # the second time, the reply is stored
        streamed = answers(path, model, bare, context)
        rows = [{"what": what, "median_ms": round(wall, 2), "median_cpu_ms": round(cpu, 2),
                 "calls": CALLS} for what, (wall, cpu) in zip(
                     ("openai alone", "a call of a run", "answered from the workspace",
                      "openai alone, streamed",
                      "an answer of one call, streamed, workspace opened for it",
                      "noting it and closing the workspace, after its last word"),
                     (*during, *streamed), strict=True)]
        rows += [{"what": f"overhead, {what}", **{
            name: round(row[name] - bare[name], 2) for name in ("median_ms", "median_cpu_ms")}}
            for what, row, bare in (("call of a run", rows[1], rows[0]),
                                    ("answer to its last word", rows[4], rows[3]))]
        ours.send("endless")
        ours.recv()
        grown, took, length = growth(model)
        rows.append({"what": "endless stream", "growth_mb": round(grown, 1),
                     "seconds": round(took, 1), "characters": length, "deadline_s": SECONDS})
    ours.send("end")
    process.join(1)
    process.terminate()
    write("llm_overhead", rows, 0, "the machine was shared with other work; see its load")
    print(*rows, sep="\n")


if __name__ == "__main__":
    main()
