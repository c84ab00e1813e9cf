"""Replies without the thoughts that some models write into them, and without the key."""

import json
import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Sequence
from urllib.parse import quote, quote_plus

SHORTEST = 4  # letters of a key that is worth hiding

_THOUGHTS = ("<think>", "</think>", "<thinking>", "</thinking>", "[think]", "[/think]")
# Servers with a wrong template pass on the tokens that mark turns.
_CONTROL = ("<|im_start|>", "<|im_end|>", "<|im_sep|>", "<|endoftext|>", "<|end|>", "<|eot_id|>",
            "<|eom_id|>", "<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>",
            "<|end_header_id|>", "<|assistant|>", "<|user|>", "<|system|>", "<start_of_turn>",
            "<end_of_turn>", "<\uff5cend\u2581of\u2581sentence\uff5c>", "[inst]", "[/inst]")
_TAGS = (*_THOUGHTS, *_CONTROL)
_TAG = re.compile("|".join(map(re.escape, _TAGS)), re.I)


class Hearing:
    """A reply that arrives piece by piece: `add` and `end` return the words that may be shown.

    `text` is all of it. A thought, between <think> and </think> or [THINK] and [/THINK], is left
    out, even if it never ends, and so are tokens that mark turns. Some servers omit the beginning
    of a thought; at an end without a beginning, `text` restarts after it.

    Parameters
    ----------
    secrets : sequence of str
        Texts that become "***", also if split over several pieces.
    """

    def __init__(self, secrets: Sequence[str] = ()) -> None:
        self.text = ""
        self._secrets = secrets
        self._waiting = ""
        self._thinking = False

    def add(self, piece: str) -> str:
        """Return the words that cannot be part of a thought or of a secret."""
        text = hide(self._waiting + piece, self._secrets)
        whole = _begun(text, self._secrets)
        self._waiting = text[whole:]
        return self._hear(text[:whole])

    def end(self) -> str:
        """Return the words that were held back."""
        return self._hear(self._waiting)

    def _hear(self, text: str) -> str:
        heard, at = "", 0
        for tag in _TAG.finditer(text):
            if not self._thinking:
                heard += text[at:tag.start()]
            at = tag.end()
            if tag[0].lower() in _CONTROL:
                continue
            closing = tag[0][1] == "/"
            if closing and not self._thinking:
                heard = self.text = ""
            self._thinking = not closing
        if not self._thinking:
            heard += text[at:]
        if not self.text:
            heard = heard.lstrip()
        self.text += heard
        return heard


def hear(text: str, secrets: Sequence[str] = ()) -> str:
    """Return a whole reply without thoughts and secrets."""
    hearing = Hearing(secrets)
    hearing.add(text)
    hearing.end()
    return hearing.text


def hide(text: str, secrets: Sequence[str]) -> str:
    """Replace each secret in a text by three asterisks."""
    for secret in secrets:
        text = text.replace(secret, "***")
    return text


def forms_of(key: str) -> tuple[str, ...]:
    """Return a key in the forms that servers may send back: plain, base64, URL, hex and JSON.

    The longest is first; a key that is too short has none.
    """
    if len(key) < SHORTEST:
        return ()
    raw = key.encode()
    forms = [key, json.dumps(key)[1:-1], quote(key), quote(key, safe=""), quote_plus(key),
             raw.hex(), raw.hex().upper()]
    for before in range(3):
        # letters at the ends also hold bits of the neighboring text
        first, last = -(-8 * before // 6), 8 * (before + len(raw)) // 6
        for encode in (b64encode, urlsafe_b64encode):
            forms.append(encode(b"\0" * before + raw).decode()[first:last])
    return tuple(sorted(dict.fromkeys(forms), key=len, reverse=True))


def _begun(text: str, secrets: Sequence[str]) -> int:
    """Find the last characters that may become a tag or a secret; the length if there are none."""
    words = (*_TAGS, *secrets)
    longest = max(map(len, words))
    for start in range(max(0, len(text) - longest + 1), len(text)):
        rest = text[start:]
        if any(word.startswith(rest) or word.startswith(rest.lower()) for word in words):
            return start
    return len(text)
