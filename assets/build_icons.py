"""Write icons.woff2: of the font of icons that Streamlit has, those that the app and Streamlit use.

    pip install "fonttools[woff]" && python assets/build_icons.py

Source: Material Symbols Rounded. License: Apache-2.0.
"""

import re
from pathlib import Path

import streamlit
from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont

ASSETS = Path(__file__).parent
STATIC = Path(streamlit.__file__).parent / "static" / "static"
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789_"


def used_icons() -> set[str]:
    """Return the names of the icons in the sources of the app and of Streamlit's frontend."""
    files = [*(ASSETS.parent / "qafd").rglob("*.py"), *STATIC.glob("js/*.js")]
    found: set[str] = set()
    for file in files:
        found.update(re.findall(r":material/([a-z0-9_]+)", file.read_text("utf-8")))
    return found


def icons_of(font: TTFont) -> dict[str, str]:
    """Return the glyph of each icon by its name, which the font writes as one ligature."""
    letters = {glyph: chr(code) for code, glyph in font.getBestCmap().items()}
    icons = {}
    for lookup in font["GSUB"].table.LookupList.Lookup:
        for table in lookup.SubTable:
            for first, ligatures in getattr(table, "ExtSubTable", table).ligatures.items():
                for ligature in ligatures:
                    name = "".join(letters.get(glyph, " ") for glyph in (first, *ligature.Component))
                    icons[name] = ligature.LigGlyph
    return icons


def main() -> None:
    """Write the font next to this script."""
    (source,) = STATIC.glob("media/MaterialSymbols-Rounded.*.woff2")
    font = TTFont(source)
    glyphs = icons_of(font)
    # Without the closure: it would keep every icon that can be written with the letters.
    subsetter = Subsetter(Options(layout_closure=False, layout_features=["*"], notdef_outline=True))
    subsetter.populate(glyphs=[glyphs[name] for name in used_icons() & glyphs.keys()], text=LETTERS)
    subsetter.subset(font)
    font.flavor = "woff2"
    font.save(ASSETS / "icons.woff2")


if __name__ == "__main__":
    main()
