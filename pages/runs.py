"""Runs: what was kept, one run drawn again as it was, what differs between two; bundles."""

from qafd.app.runs import show

show()
