"""Retrievals, graphs and experiments to pictures, as values that the browser or plotly draws."""
