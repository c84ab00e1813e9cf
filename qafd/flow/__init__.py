"""Query-aware flow diffusion: weights, the solver, its certificate, and the theorems."""
