"""Evaluate: which method finds what answers need, on questions that say what that is."""

from qafd.app.evaluate import show

show()
