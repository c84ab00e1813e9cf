"""The language model part of the Settings page: provider, key, connection test, caps, prices."""

from dataclasses import replace
from typing import Any

import streamlit as st

from qafd.app.escaping import escape_sentence, plain
from qafd.app.provider import (
    addresses_are_free,
    allow,
    embedding_model,
    forget_key,
    hold_key,
    key_for,
    leaves_this_machine,
    preferences,
    preferences_file,
)
from qafd.app.session import forget, put, session, value_of
from qafd.app.tables import table
from qafd.errors import QafdError
from qafd.models.cost import Price
from qafd.models.endpoint import Probe, probe
from qafd.preferences import LARGEST, PROVIDERS, Preferences, amend

PROBED = "probe"
STEP = {"calls": 100, "tokens": 100_000, "dollars": 1}


def endpoint_settings() -> None:
    """Draw the choice of the model that answers, plans and judges."""
    st.header("Language models", anchor=False)
    chosen = preferences()
    st.caption("Optional. A model writes answers, names keywords, reads documents and judges "
                "answers. Without one, all of it is done on this machine by rules and "
                "quoting.")
    names = [name for name, p in PROVIDERS.items()
             if addresses_are_free() or name in ("offline", "openai", chosen.provider)]
    provider = st.selectbox(
        "Provider", names, index=names.index(chosen.provider), key="provider",
        format_func=lambda name: PROVIDERS[name].label)
    if provider == "offline":
        if chosen.provider != "offline":
            amend(preferences_file(), chosen, replace(chosen, provider="offline"))
            st.rerun()
        return
    same = provider == chosen.provider
    left, right = st.columns(2)
    url = left.text_input("Address", chosen.base_url if same else PROVIDERS[provider].base_url,
                          key=f"url_{provider}", placeholder="http://host:port/v1",
                          disabled=provider == "openai" or not addresses_are_free()).strip()
    model = right.text_input("Model", chosen.model if same else "", key=f"model_{provider}",
                             placeholder="as the endpoint calls it").strip()
    left, right = st.columns(2)  # anew, so that a narrow screen keeps this order
    embed = left.text_input(
        "Embedding model (optional)", chosen.embed_model if same else "", key=f"embed_{provider}",
        help="For the connection test and for indexing with another embedding model.").strip()
    with right:
        _key(url)
    wanted = replace(chosen, provider=provider, base_url=url, model=model, embed_model=embed)
    if wanted != chosen:
        wanted = amend(preferences_file(), chosen, wanted)
    if leaves_this_machine(wanted):
        st.caption(":material/cloud: Questions and passages for the model leave this machine and are sent "
                   "to that address.")
    answers = st.toggle(
        "The model answers first", chosen.answers, key="model_answers",
        help="Each new question is one call. Off: the page quotes your documents, and a button "
             "asks the model. What a session may spend is under “Caps and prices”.")
    if answers != wanted.answers:
        wanted = amend(preferences_file(), wanted, replace(wanted, answers=answers))
    _connection(wanted)
    with st.expander("Calls"):
        _calls(wanted)
    with st.expander("Caps and prices"):
        _caps(wanted)
        _prices(wanted)


def _key(url: str) -> None:
    """Take a key for the session; it is never sent back to the browser."""
    def take() -> None:
        key = value_of("typed_key", "").strip()
        if key:
            hold_key(url, key)
        put("typed_key", "")
        forget(PROBED)

    typed = (session().secret or ("",))[0] == url
    st.text_input("API key", type="password", key="typed_key", on_change=take,
                  placeholder="held for this session" if typed else "taken from OPENAI_API_KEY"
                  if key_for(url) else "not needed by local servers",
                  help=("Kept in memory for this session only, or taken from OPENAI_API_KEY. "
                        "It is never stored and never shown."))
    if typed:
        st.button("Forget the key", on_click=forget_key, type="tertiary")


def _connection(wanted: Preferences) -> None:
    """Test the connection and show the result."""
    if st.button("Test the connection", key="probe_button", type="primary",
                 disabled=not wanted.base_url):
        from qafd.models.endpoint import Endpoint

        try:
            allow(wanted.base_url)
            with st.spinner("Asking the endpoint"):
                key = key_for(wanted.base_url)
                put(PROBED, (wanted, probe(
                    Endpoint(wanted.model, wanted.base_url, key, deadline=30.0, attempts=1),
                    embedding_model(wanted))))
        except QafdError as error:
            forget(PROBED)
            st.error(escape_sentence(error))
    asked = value_of(PROBED, None)
    if asked is not None and (asked[0].base_url, asked[0].model, asked[0].embed_model) == (
            wanted.base_url, wanted.model, wanted.embed_model):
        _list_checks(asked[1])


def _list_checks(probed: Probe) -> None:
    for check in probed.checks:
        icon = ":material/check_circle:" if check.ok else ":material/error:"
        st.caption(f"{icon} **{check.name}** — {plain(check.text)}")
    if probed.models:
        with st.expander(f"Models: {len(probed.models)}"):
            table({"model": probed.models})


def _calls(chosen: Preferences) -> None:
    now = chosen.calls
    deadline, temperature, reply = st.columns(3)
    wanted = replace(
        now,
        deadline=deadline.number_input("Deadline, s", 0.1, 3600.0, float(now.deadline), 10.0),
        temperature=temperature.number_input("Temperature", 0.0, 2.0, float(now.temperature), 0.1),
        reply_tokens=reply.number_input(
            "Reply limit", 1, 1_000_000, now.reply_tokens, 256,
            help="The most tokens of a reply, including reasoning tokens."))
    st.caption("The limits for reading documents are options of `qafd index`: --together, "
                "--in-flight, --deadline and --reply-tokens.")
    if wanted != now:
        amend(preferences_file(), chosen, replace(chosen, calls=wanted))


def _caps(chosen: Preferences) -> None:
    st.caption("A run or session stops before a call that could exceed its cap. The cap of a day is for "
               "all sessions, commands and jobs together. 0 means no cap.")
    capped = chosen
    for scope, name in (("most", "of a run or session"), ("day", "of a day, all together")):
        for column, what in zip(st.columns(3), ("calls", "tokens", "dollars"), strict=True):
            field = f"{scope}_{what}"
            kind = float if what == "dollars" else int
            value = column.number_input(
                f"{what.capitalize()} {name}", kind(0), kind(LARGEST[field]),
                getattr(chosen, field), kind(STEP[what]), key=field)
            given: Any = {field: kind(value)}
            capped = replace(capped, **given)
    st.caption("A cap in dollars needs a price for the model below.")
    if capped != chosen:
        amend(preferences_file(), chosen, capped)


def _prices(chosen: Preferences) -> None:
    st.caption("Dollars for a million tokens. Prices change: enter those of your contract.")
    rows: list[dict[str, Any]] = [
        {"model": name, "sent": price.tokens_in, "received": price.tokens_out}
        for name, price in chosen.prices]
    # a model of vectors sends no words
    rows += [{"model": name, "sent": None, "received": received}
             for name, received in ((chosen.model, None), (chosen.embed_model, 0.0))
             if name and chosen.price(name) is None]
    edited = st.data_editor(
        rows or [{"model": "", "sent": None, "received": None}],
        num_rows="dynamic", hide_index=True, key="prices", column_config={
            "model": st.column_config.TextColumn("Model", required=True),
            "sent": st.column_config.NumberColumn("Sent, $", min_value=0.0, format="%.4f"),
            "received": st.column_config.NumberColumn("Received, $", min_value=0.0,
                                                      format="%.4f")})
    if st.button("Save prices"):
        prices = tuple((str(row["model"]), Price(float(row["sent"]), float(row["received"])))
                       for row in edited if row.get("model") and row.get("sent") is not None
                       and row.get("received") is not None)
        amend(preferences_file(), chosen, replace(chosen, prices=prices))
        forget("prices")
        st.rerun()
