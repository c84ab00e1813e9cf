"""Settings: which workspace, which language model, what made it, and how to empty it."""

from qafd.app.settings import show

show()
