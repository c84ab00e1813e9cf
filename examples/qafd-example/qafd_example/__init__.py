"""A method, a reader and an exporter that `pip install` adds to QAFD Explorer; `qafd.testing` checks them."""
