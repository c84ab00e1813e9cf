"""The app started with a workspace of a database, where it keeps all others too."""

import pytest
from clicks import page, press
from servers import postgres_url
from tiny import tiny_index

from qafd.storage import beside, names_beside, open_workspace, size_of


@pytest.fixture
def url(tmp_path, monkeypatch):
    made = postgres_url("team")
    monkeypatch.setenv("QAFD_HOME", str(tmp_path))
    monkeypatch.setenv("QAFD_DB", made)
    tiny_index(made, [("ada.txt", b"Ada met Bob in Paris. Bob left.")])
    return made


def test_the_workspaces_of_the_database_are_offered_and_new_ones_are_made_there(url, tmp_path):
    other = postgres_url("own")
    app = page("settings", ws="team")
    assert app.sidebar.selectbox[0].value == "team"
    form = next(box for box in app.text_input if box.label == "New workspace")
    form.set_value("own")
    press(app, "Create")
    assert {"own", "team"} <= set(names_beside(url))
    assert size_of(other)
    assert list(tmp_path.glob("*.db")) == []
    with open_workspace(beside(url, "team"), read_only=True) as store:
        assert [file.name for file in store.files.all()] == ["ada.txt"]


def test_a_sample_is_copied_into_the_database_when_it_is_first_opened(url, tmp_path):
    copied = postgres_url("songbook")
    page("documents", ws="songbook")
    assert size_of(copied)
    assert list(tmp_path.glob("*.db")) == []
