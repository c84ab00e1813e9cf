"""Who may use the app: accounts of a provider (OpenID Connect), and the way out of all sessions."""

from typing import Any

import streamlit as st

from qafd.app import signing
from qafd.app.escaping import plain, render

shared = False
"""Whether others than the owner of this machine reach this process, as `qafd.app.serve` knows."""


def asks_who() -> bool:
    """Whether visitors sign in with an account: the secrets have a section [auth]."""
    return st.secrets.load_if_toml_exists() and "auth" in st.secrets


def refuse_strangers() -> None:
    """Stop the app for everybody who has not signed in where that is asked for."""
    if not signing.active and signing.is_unasked():
        st.error(f"{plain(signing.VARIABLE)} is set, and this server does not ask for it: "
                  "start it with 'qafd app' instead of 'streamlit run'.")
        st.stop()
    if not asks_who():
        return
    if not st.user.is_logged_in:
        st.title("QAFD Explorer")
        st.write("This app is for people who have an account.")
        st.button("Sign in", on_click=st.login, type="primary")
        st.stop()
    if not _is_allowed(str(st.user.get("email") or "").lower()):
        st.title("QAFD Explorer")
        st.error(f"{_person()} may not use this app; ask whoever runs it.")
        st.button("Sign out", on_click=st.logout)
        st.stop()


def access_settings() -> None:
    """Who is signed in, whether visitors are asked for a password, and the way out."""
    st.header("Access", anchor=False)
    if asks_who():
        st.write(f"Signed in as {_person()}.")
        st.button("Sign out", key="sign_out", on_click=st.logout)
    if signing.active:
        st.write("Visitors are asked for the shared password; it is kept until the browser closes.")
        # not st.link_button, which would leave this page open beside the form
        st.html(render(f"[{'Sign out'}]({signing.SIGN_OUT})"))
    elif not asks_who():
        st.write(("Whoever reaches this address can use the app. Set {variable} before "
                  "{command} to ask for a shared password.").format(
                     variable=f"`{signing.VARIABLE}`",
                     command="`qafd app`"))


def _person() -> str:
    return plain(str(st.user.get("email") or st.user.get("name") or st.user.get("sub")))


def _is_allowed(email: str) -> bool:
    """Whether an account is on the list of the secrets; without a list everybody is."""
    people: Any = st.secrets.get("people", {})
    allowed = [str(one).lower() for one in people.get("allowed", ())]
    verified = st.user.get("email_verified", True) is not False
    domain = "@" + email.rpartition("@")[2]
    return not allowed or verified and (email in allowed or domain in allowed)
