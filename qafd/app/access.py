"""Access to the app, from the view of its pages."""

import tomllib
from collections.abc import Iterable
from pathlib import Path

import streamlit as st

from qafd.app.escaping import plain, render
from qafd.app.gate import FILE_VARIABLE, SIGN_OUT, VARIABLE, Sessions, wants_password

shared = False
"""True if other people than this machine's owner can reach the app; `qafd.app.serve` sets it."""
sessions: Sessions | None = None
"""The sessions of the gate before this process, None without a login."""


def find_unmet_login(files: Iterable[str]) -> str:
    """Describe a requested login that this server does not check, "" for none.

    Parameters
    ----------
    files : iterable of str
        Streamlit's files of secrets. The gate reads only the file that `--oidc` names.
    """
    if wants_password():
        return (f"{VARIABLE} or {FILE_VARIABLE} is set, but this server does "
                "not ask for a password. Start it with 'qafd app' instead of 'streamlit run'.")
    for file in filter(Path.is_file, map(Path, files)):
        try:
            found = tomllib.loads(file.read_text("utf-8"))
        except (OSError, ValueError) as error:
            return (f"{file} cannot be read, and it may ask for a login ({error}). Repair it, or "
                    "move it away.")
        if "auth" in found:
            return (f"{file} asks for a login. Start the app with 'qafd app --oidc {file}', or "
                    "move the file away.")
    return ""


def refuse_strangers() -> None:
    """Stop the app for everybody if a login was requested that this server does not check."""
    if sessions is None and (reason := find_unmet_login(st.get_option("secrets.files"))):
        st.error(plain(reason))
        st.stop()


def access_settings() -> None:
    """Show who may use the app, and the link to sign out."""
    st.header("Access", anchor=False)
    if sessions is None:
        st.write(f"Anyone who can reach this address can use the app. Set `{VARIABLE}` "
                 "before `qafd app` to ask for a shared password.")
        return
    if person := sessions.person_of(st.context.cookies):
        st.write(f"Signed in as {plain(person)}.")
    else:
        st.write("Visitors are asked for the shared password. They stay signed in until the "
                 "browser closes.")
    # not st.link_button, which would keep this page open next to the form
    st.html(render(f"[Sign out]({SIGN_OUT})"))
