"""Many sessions that open Explore at the same time, each with a question of its own.

    python -m qafd demo --port 8501 &
    python benchmarks/sessions.py http://127.0.0.1:8501 [MORE ADDRESSES ...] [--sessions 50]

A session speaks as the browser does: it opens the websocket, asks for the page of a question, and has
come to its end when the server says that the script has. "Cold" is from opening to there, all sessions
at once; "warm" is the same page once more, all at once. With several addresses (apps over one folder)
sessions take turns. A session is lost when it gets an error on the page, or no end. Writes
results/sessions.json.
"""

import argparse
import asyncio
import time
from statistics import median
from urllib.parse import urlencode

import results
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.asyncio.client import connect

from qafd.samples import EXAMPLES

PATIENCE = 120  # seconds


async def page(socket, query):
    """Seconds until the script of a page came to its end, its messages, and what it complained of."""
    asked = BackMsg()
    asked.rerun_script.query_string = query
    begin, messages, errors = time.perf_counter(), 0, []
    await socket.send(asked.SerializeToString())
    while True:
        told = ForwardMsg.FromString(await asyncio.wait_for(socket.recv(), PATIENCE))
        messages += 1
        if told.delta.new_element.HasField("exception"):
            errors.append(told.delta.new_element.exception.message)
        if told.HasField("script_finished") and not told.script_finished:  # 0: to the end
            return time.perf_counter() - begin, messages, errors


async def session(address, query, everybody):
    """A cold and a warm page of one session, each begun when everybody is ready."""
    await everybody.wait()
    begin = time.perf_counter()
    stream = f"{address.replace('http', 'ws', 1)}/_stcore/stream"
    async with connect(stream, subprotocols=["streamlit"], max_size=None, open_timeout=PATIENCE,
                       origin=address) as socket:
        _, messages, errors = await page(socket, query)
        cold = time.perf_counter() - begin
        await everybody.wait()
        warm, _, more = await page(socket, query)
    return cold, warm, messages, errors + more


async def measure(addresses, many):
    """What each session took, or the exception that ended it."""
    questions = [(name, question) for name, some in EXAMPLES.items() for question in some]
    everybody = asyncio.Barrier(many)
    asked = []
    for number in range(many):
        name, question = questions[number % len(questions)]
        query = urlencode({"ws": name, "q": question, "mass": 20 + number})  # no picture twice
        asked.append(session(addresses[number % len(addresses)], query, everybody))
    return await asyncio.gather(*asked, return_exceptions=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("addresses", nargs="+")
    parser.add_argument("--sessions", type=int, default=50)
    options = parser.parse_args()
    found = asyncio.run(measure(options.addresses, options.sessions))
    whole = [one for one in found if not isinstance(one, BaseException)]
    errors = [str(one) for one in found if isinstance(one, BaseException)]
    for *_, complaints in whole:
        errors += complaints
    rows = []
    for what, place in (("cold", 0), ("warm", 1)):
        seconds = sorted(one[place] for one in whole)
        rows.append({"what": what, "sessions": options.sessions, "processes": len(options.addresses),
                     "median s": round(median(seconds), 2),
                     "p95 s": round(seconds[int(.95 * len(seconds))], 2),
                     "worst s": round(seconds[-1], 2), "lost": options.sessions - len(whole),
                     "errors": len(errors)})
        print(rows[-1])
    print(*errors[:5], sep="\n")
    results.write("sessions", rows, 0, f"{median(one[2] for one in whole):.0f} messages a page")


if __name__ == "__main__":
    main()
