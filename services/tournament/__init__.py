"""Tournaments: the shell around the aggregate that runs them."""
