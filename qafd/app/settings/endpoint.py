"""The language model part of the Settings page: provider, key, connection test, caps, prices."""

from dataclasses import replace
from typing import Any

import streamlit as st

from qafd.app.escaping import plain, said
from qafd.app.keys import forget_key, hold_key, key_for
from qafd.app.provider import (
    addresses_are_free,
    allow,
    embedding_model,
    leaves_this_machine,
    preferences,
    preferences_file,
)
from qafd.app.session import forget, put, session, value_of
from qafd.errors import QafdError
from qafd.models.cost import Price
from qafd.models.probe import Probe, probe
from qafd.preferences import PROVIDERS, Preferences, save
from qafd.wording import say

PROBED = "probe"


def endpoint_settings() -> None:
    """Which model answers, plans and judges; without one everything stays on this machine."""
    st.subheader(say("Language models"))
    chosen = preferences()
    st.caption(say("Optional. A model writes answers, names keywords, reads documents and judges "
                   "answers. Without one, all of it is done on this machine by rules and quoting."))
    names = [name for name, p in PROVIDERS.items()
             if addresses_are_free() or name in ("offline", "openai", chosen.provider)]
    provider = st.selectbox(
        say("Provider"), names, index=names.index(chosen.provider), key="provider",
        format_func=lambda name: PROVIDERS[name].label)
    if provider == "offline":
        if chosen.provider != "offline":
            save(preferences_file(), replace(chosen, provider="offline"))
            st.rerun()
        return
    same = provider == chosen.provider
    left, right = st.columns(2)
    url = left.text_input(say("Address"), chosen.base_url if same else PROVIDERS[provider].base_url,
                          key=f"url_{provider}", placeholder=say("http://host:port/v1"),
                          disabled=provider == "openai" or not addresses_are_free()).strip()
    model = right.text_input(say("Model"), chosen.model if same else "", key=f"model_{provider}",
                             placeholder=say("as the endpoint calls it")).strip()
    left, right = st.columns(2)  # anew, so that a narrow screen keeps this order
    embed = left.text_input(
        say("Embedding model (optional)"), chosen.embed_model if same else "", key=f"embed_{provider}",
        help=say("For the connection test and for indexing with another embedding model.")).strip()
    with right:
        _key(url)
    wanted = replace(chosen, provider=provider, base_url=url, model=model, embed_model=embed)
    if wanted != chosen:
        save(preferences_file(), wanted)
    if leaves_this_machine(wanted):
        st.caption(say(":material/cloud: Questions and passages that a model is shown leave this "
                       "machine for that address."))
    _connection(wanted)
    with st.expander(say("Caps and prices")):
        _caps(wanted)
        _prices(wanted)


def _key(url: str) -> None:
    """Takes a key for the session; it is never sent back to the browser."""
    def take() -> None:
        key = value_of("typed_key", "").strip()
        if key:
            hold_key(url, key)
        put("typed_key", "")
        forget(PROBED)

    typed = (session().secret or ("",))[0] == url
    st.text_input(say("API key"), type="password", key="typed_key", on_change=take,
                  placeholder=say("held for this session") if typed else say("taken from OPENAI_API_KEY")
                  if key_for(url) else say("not needed by local servers"),
                  help=say("Kept in memory for this session only, or taken from OPENAI_API_KEY. It is "
                      "never stored and never shown."))
    if typed:
        st.button(say("Forget the key"), on_click=forget_key, type="tertiary")


def _connection(wanted: Preferences) -> None:
    """The connection test and what it found."""
    if st.button(say("Test the connection"), key="probe_button", type="primary",
                 disabled=not wanted.base_url):
        from qafd.models.endpoint import Endpoint

        try:
            allow(wanted.base_url)
            with st.spinner(say("Asking the endpoint")):
                key = key_for(wanted.base_url)
                put(PROBED, (wanted, probe(
                    Endpoint(wanted.model, wanted.base_url, key, deadline=30.0, attempts=1),
                    embedding_model(wanted))))
        except QafdError as error:
            forget(PROBED)
            st.error(said(error))
    asked = value_of(PROBED, None)
    if asked is not None and (asked[0].base_url, asked[0].model, asked[0].embed_model) == (
            wanted.base_url, wanted.model, wanted.embed_model):
        _found(asked[1])


def _found(probed: Probe) -> None:
    for check in probed.checks:
        icon = ":material/check_circle:" if check.ok else ":material/error:"
        st.caption(f"{icon} **{check.name}** — {plain(check.sentence)}")
    if probed.models:
        with st.expander(say("Models: {models}", models=len(probed.models))):
            st.dataframe({"model": list(probed.models)}, hide_index=True)


def _caps(chosen: Preferences) -> None:
    st.caption(say("A run and a session stop before the call that could exceed a cap. 0 is no cap."))
    calls, tokens, dollars = st.columns(3)
    capped = replace(
        chosen,
        most_calls=int(calls.number_input(say("Calls"), 0, 10_000_000, chosen.most_calls, 100)),
        most_tokens=int(tokens.number_input(say("Tokens"), 0, 10_000_000_000, chosen.most_tokens,
                                            100_000)),
        most_dollars=float(dollars.number_input(say("Dollars"), 0.0, 1e6, chosen.most_dollars, 1.0,
                                                help=say("Counts where the model has a price below."))))
    if capped != chosen:
        save(preferences_file(), capped)


def _prices(chosen: Preferences) -> None:
    st.caption(say("Dollars for a million tokens. Prices change: enter those of your contract."))
    rows: list[dict[str, Any]] = [
        {"model": name, "sent": price.tokens_in, "received": price.tokens_out}
        for name, price in chosen.prices]
    # a model of vectors sends no words
    rows += [{"model": name, "sent": None, "received": received}
             for name, received in ((chosen.model, None), (chosen.embed_model, 0.0))
             if name and chosen.price(name) is None]
    table = st.data_editor(
        rows or [{"model": "", "sent": None, "received": None}],
        num_rows="dynamic", hide_index=True, key="prices", column_config={
            "model": st.column_config.TextColumn("Model", required=True),
            "sent": st.column_config.NumberColumn("Sent, $", min_value=0.0, format="%.4f"),
            "received": st.column_config.NumberColumn("Received, $", min_value=0.0,
                                                      format="%.4f")})
    if st.button(say("Save prices")):
        prices = tuple((str(row["model"]), Price(float(row["sent"]), float(row["received"])))
                       for row in table if row.get("model") and row.get("sent") is not None
                       and row.get("received") is not None)
        save(preferences_file(), replace(preferences(), prices=prices))
        forget("prices")
        st.rerun()
