"""Settings on disk, and the probe of an endpoint."""

from dataclasses import replace
from pathlib import Path

import pytest
from faults import serving

from qafd.errors import ParameterError
from qafd.models.cost import Cap, Price
from qafd.models.endpoint import Endpoint
from qafd.models.endpoint_embedder import EndpointEmbedder
from qafd.models.probe import probe
from qafd.preferences import Preferences, load, save

CHOSEN = Preferences("ollama", "http://localhost:11434/v1", "qwen", "embed", 10, 2000, 1.5,
                     (("qwen", Price(0.5, 2.0)),))


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    save(tmp_path / "new" / "settings.json", CHOSEN)
    assert load(tmp_path / "new" / "settings.json") == CHOSEN
    assert list((tmp_path / "new").iterdir()) == [tmp_path / "new" / "settings.json"]


def test_without_a_file_everything_is_offline(tmp_path: Path) -> None:
    assert load(tmp_path / "none.json") == Preferences()
    assert Preferences().provider == "offline"


@pytest.mark.parametrize("text", ["", "[]", "null", "{", '{"prices": [["a", "b", "c"]]}',
                                  '{"provider": "nobody"}', '{"most_calls": -1}', '{"prices": 3}',
                                  "[" * 100_000, '{"most_dollars": 1e400}', '{"model": 3}',
                                  '{"most_dollars": NaN}', '{"most_calls": 2.5}',
                                  '{"most_calls": true}', '{"most_tokens": 1e400}',
                                  '{"most_dollars": 1' + "0" * 400 + "}", '{"base_url": null}',
                                  '{"prices": [["m", 1' + "0" * 400 + ", 2]]}",
                                  '{"most_calls": "many"}', '{"prices": [["m", -1, 2]]}'])
def test_a_broken_file_is_refused_with_its_name(text: str, tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text(text)
    with pytest.raises(ParameterError):
        load(tmp_path / "s.json")


def test_unknown_settings_of_another_version_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text('{"model": "m", "later": 1}')
    assert load(tmp_path / "s.json") == Preferences(model="m")


def test_dollars_are_capped_only_where_the_price_is_known() -> None:
    assert CHOSEN.cap_where(priced=True) == Cap(10, 2000, 1.5)
    assert CHOSEN.cap_where(priced=False) == Cap(10, 2000, None)
    none = replace(CHOSEN, most_calls=0, most_tokens=0, most_dollars=0.0)
    assert none.cap_where(priced=True) == Cap()


def says(fault: str = "ok", **named: object) -> dict[str, tuple[bool, str]]:
    with serving(lambda _: '{"word": "yes"}', lambda *_: fault) as server:
        found = probe(Endpoint(str(named.get("model", "tiny")), server.url, deadline=1.0,
                               attempts=1),
                      EndpointEmbedder("e", server.url, deadline=1.0, attempts=1))
    return {check.name: (check.ok, check.sentence) for check in found.checks}


def test_a_good_endpoint_passes_every_check() -> None:
    found = says()
    assert all(ok for ok, _ in found.values())
    assert found["embeddings"][1] == "e gives 4 dimensions."
    assert "json_schema" in found["JSON"][1]
    assert list(found) == ["models", "context length", "chat", "JSON", "embeddings"]


def test_a_model_that_is_not_listed_is_said() -> None:
    ok, sentence = says(model="huge")["models"]
    assert not ok
    assert "huge is not among the endpoint's models: tiny" in sentence


@pytest.mark.parametrize("fault", ["401", "500", "html", "empty", "hang", "redirect"])
def test_every_fault_is_a_check_that_is_not_ok(fault: str) -> None:
    found = says(fault)
    assert found["chat"][0] is False
    assert "JSON" not in found
    assert found["chat"][1].endswith(".")


def test_a_model_without_json_is_told_so() -> None:
    with serving(lambda _: "plain words") as server:
        found = probe(Endpoint("tiny", server.url, attempts=1))
    check = next(check for check in found.checks if check.name == "JSON")
    assert not check.ok
    assert "wrote none" in check.sentence


def test_nobody_there_is_no_exception() -> None:
    found = probe(Endpoint("tiny", "http://127.0.0.1:1/v1", attempts=1))
    assert not found.ok
    assert "cannot be reached" in found.checks[0].sentence


@pytest.mark.parametrize(("entry", "size"), [
    ({"max_model_len": 4096}, 4096), ({"context_length": 8192}, 8192),
    ({"meta": {"n_ctx_train": 2048}}, 2048), ({"max_model_len": "many"}, None), ({}, None),
    ({"meta": None}, None)])
def test_the_context_length_is_read_where_servers_say_it(
        entry: dict[str, object], size: int | None) -> None:
    class Listing:
        """An OpenAI client as far as models are concerned."""

        models = type("Models", (), {"list": lambda _: type("Page", (), {"data": [
            {"id": "other", "max_model_len": 1}, {"id": "tiny", **entry}]})})()

    endpoint = Endpoint("tiny", "http://localhost/v1", client=Listing())  # type: ignore[arg-type]
    assert endpoint.context_length() == size
