"""Short lessons on toy graphs: their graphs and results (`card`) and their texts (`cards`)."""
