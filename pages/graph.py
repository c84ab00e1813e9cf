"""Graph: names, their map, which may be one, what was put right, and all of it as a file."""

from qafd.app.graph import show

show()
