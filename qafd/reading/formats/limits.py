"""Limits within which a file is read; a larger or hostile one is refused with the limit it passes."""

from dataclasses import dataclass

from qafd.errors import ParseError


@dataclass(frozen=True)
class Limits:
    """The bounds within which a file is read, in a process of its own.

    Parameters
    ----------
    input_bytes : int
        Of the file itself.
    text_characters : int
        Of its text, over all pages.
    unpacked_bytes, ratio : int
        Unpacked size of a zip file (docx, xlsx, pptx, epub), in bytes and relative to its packed
        size. The streams of a PDF have no such bound: what unpacks too far ends at memory or time.
    pieces : int
        Pages of a PDF, headings, records, entries of a zip file.
    memory_bytes : int
        Address space of the process.
    cpu_seconds : int
        Of the whole file.
    wall_seconds : float
        Until the process is ended, whatever it does.
    """

    input_bytes: int = 50_000_000
    text_characters: int = 20_000_000
    unpacked_bytes: int = 200_000_000
    ratio: int = 100
    pieces: int = 100_000
    memory_bytes: int = 1 << 30
    cpu_seconds: int = 20
    wall_seconds: float = 25.0


def too_much(most: int, what: str) -> ParseError:
    """Return the refusal of a file with more than `most` of something."""
    return ParseError(f"The file has more than {most:,} {what}; split it and add the parts.")
