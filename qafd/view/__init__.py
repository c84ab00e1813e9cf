"""Pictures of retrievals, graphs and experiments, as values that the browser or plotly draws."""
