"""Files as they are given: what is found in folders, and names that several files have."""

import os

import pytest

from qafd.cli import main
from qafd.errors import ParameterError
from qafd.ingest.folders import Given, files_below, told_apart
from qafd.storage import open_workspace


def test_folders_are_read_in_order_without_hidden_files(tmp_path):
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "two.txt").write_text("2")
    (tmp_path / "one.txt").write_text("1")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text("no")
    (tmp_path / "inside.txt").symlink_to(tmp_path / "one.txt")
    (tmp_path / "outside.txt").symlink_to(__file__)
    assert list(files_below([tmp_path])) == [
        ("b/two.txt", b"2"), ("inside.txt", b"1"), ("one.txt", b"1")]
    with pytest.raises(ParameterError, match="there is no file or folder"):
        list(files_below([tmp_path / "nowhere"]))


def write(top, **files):
    for name, text in files.items():
        place = top / name.replace("__", "/").replace("_", ".")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)


def test_files_of_one_name_are_kept_apart_by_their_folders(tmp_path):
    write(tmp_path, A__notes_txt="one", B__notes_txt="two", other_txt="three")
    said = []
    paths = [tmp_path / "A" / "notes.txt", tmp_path / "B" / "notes.txt", tmp_path / "other.txt"]
    found = list(files_below(paths, said.append))
    assert found == [("A/notes.txt", b"one"), ("B/notes.txt", b"two"), ("other.txt", b"three")]
    assert found == list(files_below(paths)), "the same paths give the same names"
    assert said == ["2 different files share their names and are kept apart as A/notes.txt, "
                    "B/notes.txt"]


def test_folders_of_one_name_are_kept_apart_by_a_number(tmp_path):
    write(tmp_path, p__A__a_txt="1", q__A__a_txt="2", r__A__a_txt="3")
    assert [name for name, _ in files_below([tmp_path / top / "A" / "a.txt" for top in "pqr"])] == [
        "A/a.txt", "A/a (2).txt", "A/a (3).txt"]


def test_the_longer_name_of_one_file_is_never_the_name_of_another(tmp_path):
    write(tmp_path, A__a_txt="1", B__a_txt="2", all__A__a_txt="3")
    assert dict(files_below([tmp_path / "A" / "a.txt", tmp_path / "B" / "a.txt",
                             tmp_path / "all"])) == {
        "A/a (2).txt": b"1", "B/a.txt": b"2", "A/a.txt": b"3"}


def test_the_same_bytes_under_one_name_count_once(tmp_path):
    write(tmp_path, A__a_txt="1", B__a_txt="1")
    said = []
    assert list(files_below([tmp_path / "A" / "a.txt", tmp_path / "B" / "a.txt",
                             tmp_path / "A"], said.append)) == [("a.txt", b"1")]
    assert not said


@pytest.mark.skipif(os.name != "posix", reason="names that are no UTF-8")
@pytest.mark.parametrize(("first", "second"), [
    (b"a\xfe.txt", b"a\xff.txt"), (b"a.txt", "a\u200b.txt".encode()), (b"a\t.txt", b"a.txt"),
    (b"\xc3\xa9.txt", b"e\xcc\x81.txt"), (b"a  b.txt", b"a b.txt")])
def test_names_that_are_equal_when_cleaned_are_kept_apart(first, second, tmp_path):
    for name, text in ((first, b"Ada Lovelace"), (second, b"Grace Hopper")):
        with open(os.path.join(os.fsencode(tmp_path), name), "wb") as file:
            file.write(text)
    found = list(files_below(tmp_path))
    with open_workspace(tmp_path / "w.db") as store:
        for name, data in found:
            store.files.add(name, data)
        assert {store.files.claim(file.name) for file in store.files.all()} == {
            b"Ada Lovelace", b"Grace Hopper"}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with a name")
@pytest.mark.parametrize("make", [
    os.mkfifo, lambda path: os.symlink("/dev/null", path)], ids=["fifo", "device"])
def test_what_is_neither_file_nor_folder_is_refused(make, tmp_path):
    make(tmp_path / "odd")
    with pytest.raises(ParameterError, match="neither a file nor a folder; '-' reads text"):
        files_below([tmp_path / "odd"])


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads all")
def test_a_folder_that_cannot_be_read_is_refused(tmp_path):
    (tmp_path / "closed").mkdir(mode=0)
    with pytest.raises(ParameterError, match="closed cannot be read: Permission denied"):
        files_below(tmp_path)


def test_the_command_says_how_files_of_one_name_are_called(alone, capsys):
    write(alone, A__notes_txt="Ada Lovelace met Charles Babbage in London.",
          B__notes_txt="Grace Hopper met Howard Aiken in Boston.")
    paths = [str(alone / top / "notes.txt") for top in "AB"]
    assert main(["index", *paths, "--db", str(alone / "w.db"), "--engine", "serial"]) == 0
    assert "kept apart as A/notes.txt, B/notes.txt\n" in capsys.readouterr().err
    with open_workspace(alone / "w.db") as store:
        assert [(f.name, f.status) for f in store.files.all()] == [
            ("A/notes.txt", "done"), ("B/notes.txt", "done")]


def test_a_file_without_a_name_keeps_no_other_one_out():
    def given(name):
        return Given(name, name, name.encode)

    said = []
    files = [given("a.txt"), given("..."), given("b.txt")]
    assert [file.name for file in told_apart(files, said.append)] == ["a.txt", "b.txt"]
    assert len(said) == 1
    with pytest.raises(ParameterError):
        told_apart([given("..."), given("/")])


def test_a_folder_without_files_makes_no_workspace(alone, capsys):
    (alone / "hidden").mkdir()
    (alone / "hidden" / ".txt").write_text("no")
    assert main(["index", str(alone / "hidden"), "--db", str(alone / "w.db")]) == 3
    said = capsys.readouterr()
    assert f"there is no file in {alone / 'hidden'}" in said.err
    assert (said.out, said.err.count("\n"), (alone / "w.db").exists()) == ("", 1, False)


@pytest.fixture
def reports(tmp_path, path, alone):
    """A folder of two reports that was indexed, and the command that indexed it."""
    write(tmp_path / "reports", a_txt="Ada Lovelace met Charles Babbage.", b_txt="Una Berg leads Mandal.")
    command = ["index", str(tmp_path / "reports"), "--db", str(path)]
    assert main(command) == 0
    return tmp_path / "reports", command


def live(path):
    with open_workspace(path) as store:
        return [file.name for file in store.files.all() if file.deleted_at is None]


def test_what_is_gone_from_a_folder_is_reported_and_deleted_by_sync_until_undone(
        reports, path, capsys):
    folder, command = reports
    (folder / "b.txt").unlink()
    capsys.readouterr()
    assert main(command) == 0
    assert "1 file no longer in the folder: b.txt" in capsys.readouterr().err
    assert live(path) == ["a.txt", "b.txt"]
    assert main([*command, "--sync"]) == 0
    assert "1 file deleted: b.txt" in capsys.readouterr().err
    assert live(path) == ["a.txt"]
    assert main(["docs", "--db", str(path), "--undo", "b.txt"]) == 0
    assert main([*command, "--sync"]) == 0, "what was restored is no longer of the folder"
    assert live(path) == ["a.txt", "b.txt"]


def test_the_same_bytes_under_another_name_are_added_once_and_a_renamed_file_stays(
        reports, path, capsys):
    folder, command = reports
    (folder / "c.txt").write_bytes((folder / "a.txt").read_bytes())
    capsys.readouterr()
    assert main(command) == 0
    assert "c.txt has the content of a.txt; not added twice" in capsys.readouterr().err
    assert live(path) == ["a.txt", "b.txt"]
    (folder / "a.txt").unlink()
    assert main([*command, "--sync"]) == 0
    assert live(path) == ["b.txt", "c.txt"]
    for file in folder.iterdir():
        file.unlink()
    assert main([*command, "--sync"]) == 0
    assert live(path) == []
