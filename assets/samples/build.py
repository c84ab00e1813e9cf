"""Rebuild the sample workspaces from their documents: `make samples`."""

import sys
from pathlib import Path

from qafd.knowledge import KnowledgeGraph
from qafd.samples import SAMPLES

HERE = Path(__file__).parent


def build(name: str, folder: Path) -> Path:
    """Index one sample into `folder`."""
    path = folder / f"{name}.db"
    path.unlink(missing_ok=True)
    knowledge = KnowledgeGraph(path)
    knowledge.add_files([HERE / name], processes=1)
    with knowledge.store() as store:
        store.compact()
    path.with_name(f".{path.name}.lock").unlink(missing_ok=True)  # of its writer
    return path


if __name__ == "__main__":
    for sample in SAMPLES:
        built = build(sample, Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)
        print(f"{built}: {built.stat().st_size / 1e6:.1f} MB")
