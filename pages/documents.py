"""Documents: what the workspace holds, adding to it, and the work on it."""

from qafd.app.documents import show

show()
