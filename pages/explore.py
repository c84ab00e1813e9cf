"""Explore: a question, the subgraph that flow diffusion retrieves for it, and why."""

from qafd.app.explore import show

show()
