"""Diwan: a card room whose register of events is the truth."""
