"""A workspace in a folder that cannot be written: read as ever, and one sentence for a change."""

import os
from contextlib import contextmanager
from pathlib import Path

import pytest
from tiny import tiny_index

from qafd.errors import StoreError
from qafd.ingest import jobs
from qafd.samples import copy_sample
from qafd.storage import open_workspace

pytestmark = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="permissions of another kind")


@contextmanager
def nobody():
    """Root may write everywhere, whatever the permissions say."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


@pytest.fixture
def folder():
    """A folder that everybody can read; those of pytest belong to one user."""
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as made:
        place = Path(made)
        place.chmod(0o755)
        yield place
        place.chmod(0o755)


@pytest.mark.parametrize("locked", ["folder", "file"])
def test_what_cannot_be_written_is_read(folder, locked, caplog):
    path = folder / "work.db"
    tiny_index(path, [("ada.txt", b"Ada met Bob in Paris.")])
    with open_workspace(path) as store:
        digest = store.graph.digest()
    before = path.read_bytes()
    if locked == "file":
        path.chmod(0o444)
        folder.chmod(0o777)
    else:
        path.chmod(0o666)
        folder.chmod(0o555)
    with nobody():
        for _ in range(2):
            with open_workspace(path) as store:
                assert store.graph.digest() == digest
                assert [file.name for file in store.files.all()] == ["ada.txt"]
                with pytest.raises(StoreError, match="cannot be opened or written .*permissions"):
                    jobs.enqueue(store, [("b.txt", b"Bob.")])
        if locked == "folder":
            with pytest.raises(StoreError, match="nothing can be written next to it"):
                jobs.start_worker(path)
    assert path.read_bytes() == before
    assert [record.getMessage() for record in caplog.records] == [
        f"{path} or its folder cannot be written, so it can be read but not changed."]


def test_a_log_that_a_crash_left_where_nothing_can_be_written_is_one_sentence(folder):
    path, live = folder / "work.db", folder / "live"
    live.mkdir()
    open_workspace(live / path.name).close()
    with open_workspace(live / path.name) as store:
        path.write_bytes((live / path.name).read_bytes())
        store.files.add("later.txt", b"Bob met Cyd.")
        Path(f"{path}-wal").write_bytes(Path(f"{live / path.name}-wal").read_bytes())
    for file in folder.glob("work.db*"):
        file.chmod(0o444)
    folder.chmod(0o555)
    with nobody(), pytest.raises(StoreError, match="a log that a crash left"):
        open_workspace(path)
    folder.chmod(0o755)
    path.chmod(0o644)
    with open_workspace(path) as store:
        assert [file.name for file in store.files.all()] == ["later.txt"]


def test_a_sample_that_cannot_be_copied_says_where_to(folder):
    folder.chmod(0o555)
    with nobody(), pytest.raises(StoreError, match=r"cannot be copied into .* QAFD_HOME"):
        copy_sample("songbook", folder)
    with nobody(), pytest.raises(StoreError, match=r"cannot be copied into .* QAFD_HOME"):
        copy_sample("songbook", folder / "new")
