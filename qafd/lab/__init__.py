"""Experiments on the diffusion behind a question: sweeps, timelines, traces, gates, noise, bounds.

Every experiment is a pure function from a corpus and a plan (or a synthetic model) to frozen
records; `qafd.app.figures` draws them and the page Lab shows them.
"""
