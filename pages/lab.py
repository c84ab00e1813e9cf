"""Lab: experiments on the diffusion behind a question, and on synthetic graphs."""

from qafd.app.lab import show

show()
