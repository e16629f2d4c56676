"""Neighborhoods that the user chooses: what may define them, and how a model keeps near them."""
