"""Settings on disk, and the probe of an endpoint."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from faults import serving

from qafd.errors import ParameterError
from qafd.models import CallSettings
from qafd.models.cost import Cap, Price
from qafd.models.endpoint import Endpoint, probe
from qafd.models.endpoint_embedder import EndpointEmbedder
from qafd.preferences import Preferences, amend, load

CHOSEN = Preferences("ollama", "http://localhost:11434/v1", "qwen", "embed", 10, 2000, 1.5,
                     (("qwen", Price(0.5, 2.0)),), calls=CallSettings(30.0, 0.5, 4096))


def test_what_is_saved_is_loaded(tmp_path):
    amend(tmp_path / "new" / "settings.json", Preferences(), CHOSEN)
    assert load(tmp_path / "new" / "settings.json") == CHOSEN
    assert [file.name for file in (tmp_path / "new").glob("[!.]*")] == ["settings.json"]


def test_writers_side_by_side_never_undo_each_other(tmp_path):
    file = tmp_path / "settings.json"
    amend(file, Preferences(), CHOSEN)

    def change(number):
        prices = (*CHOSEN.prices, (f"m{number}", Price(number, number)))
        amend(file, CHOSEN, replace(CHOSEN, prices=prices))

    with ThreadPoolExecutor(10) as pool:
        done = [pool.submit(change, number) for number in range(8)]
        done += [pool.submit(amend, file, CHOSEN, replace(CHOSEN, **{name: value}))
                 for name, value in (("most_calls", 11), ("model", "other"))]
    assert not any(one.exception() for one in done)
    found = load(file)
    assert (found.most_calls, found.model) == (11, "other")
    assert dict(found.prices) == dict(CHOSEN.prices) | {
        f"m{number}": Price(number, number) for number in range(8)}


@pytest.mark.parametrize("text", ["", "[]", "null", "{", '{"prices": [["a", "b", "c"]]}',
                                  '{"provider": "nobody"}', '{"most_calls": -1}', '{"prices": 3}',
                                  "[" * 100_000, '{"most_dollars": 1e400}', '{"model": 3}',
                                  '{"most_dollars": NaN}', '{"most_calls": 2.5}',
                                  '{"most_calls": true}', '{"most_tokens": 1e400}',
                                  '{"most_dollars": 1' + "0" * 400 + "}", '{"base_url": null}',
                                  '{"prices": [["m", 1' + "0" * 400 + ", 2]]}",
                                  '{"calls": {"deadline": 0}}', '{"calls": {"reply_tokens": true}}',
                                  '{"calls": {"temperature": NaN}}',
                                  '{"most_calls": "many"}', '{"prices": [["m", -1, 2]]}'])
def test_a_broken_file_is_refused_with_its_name(text, tmp_path):
    (tmp_path / "s.json").write_text(text)
    with pytest.raises(ParameterError):
        load(tmp_path / "s.json")


def test_dollars_are_capped_only_where_the_price_is_known():
    assert CHOSEN.cap_where(priced=True) == Cap(10, 2000, 1.5)
    assert CHOSEN.cap_where(priced=False) == Cap(10, 2000, None)
    none = replace(CHOSEN, most_calls=0, most_tokens=0, most_dollars=0.0)
    assert none.cap_where(priced=True) == Cap()


def says(fault="ok", **named):
    with serving(lambda _: '{"word": "yes"}', lambda *_: fault) as server:
        found = probe(Endpoint(str(named.get("model", "tiny")), server.url, deadline=1.0,
                               attempts=1),
                      EndpointEmbedder("e", server.url, deadline=1.0, attempts=1))
    return {check.name: (check.ok, check.text) for check in found.checks}


def test_a_good_endpoint_passes_every_check():
    found = says()
    assert all(ok for ok, _ in found.values())
    assert found["embeddings"][1] == "e gives 4 dimensions."
    assert "json_schema" in found["JSON"][1]
    assert list(found) == ["models", "chat", "JSON", "embeddings"]


@pytest.mark.parametrize("fault", ["401", "500", "html", "empty", "hang", "redirect"])
def test_every_fault_is_a_check_that_is_not_ok(fault):
    found = says(fault)
    assert found["chat"][0] is False
    assert "JSON" not in found
    assert found["chat"][1].endswith(".")
