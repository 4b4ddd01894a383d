"""Reconciliation: the books are added up again from their events, all the time and whenever somebody asks."""
