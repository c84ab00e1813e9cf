"""Short lessons on toy graphs: what they are made of (`card`) and what they say (`cards`)."""
