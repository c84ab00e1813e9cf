"""Compare: what several retrieval methods bring for one question, side by side."""

from qafd.app.compare import show

show()
