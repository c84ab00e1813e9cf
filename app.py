"""QAFD Explorer: the entry point of its app."""

from qafd.app.frame import show

show()
