"""Tasks that learn from each other: one joint problem, newcomers, and what was shared."""
