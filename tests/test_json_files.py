"""Small files that several processes share."""

import pytest
from filelock import FileLock

from qafd import json_files
from qafd.errors import BusyError, StoreError
from qafd.json_files import lock_file


def test_a_lock_that_another_holds_is_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr(json_files, "PATIENCE", 0.05)
    with FileLock(tmp_path / ".day.json.lock"), pytest.raises(BusyError, match="stayed locked"), \
            lock_file(tmp_path / "day.json"):
        pass
    with lock_file(tmp_path / "day.json"):
        pass


@pytest.mark.parametrize("taken", [".day.json.lock", "."])
def test_a_folder_or_a_file_in_the_way_is_one_sentence(tmp_path, taken):
    home = tmp_path / "home"
    if taken == ".":
        home.write_text("a file")
    else:
        (home / taken).mkdir(parents=True)
    with pytest.raises(StoreError, match="cannot be locked"), lock_file(home / "day.json"):
        pass
