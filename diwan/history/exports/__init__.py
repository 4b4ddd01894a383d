"""Hands as other programs read them: Open Hand History, PokerStars-style text, rows for analysts, stored events as JSON.

PHH stands in `diwan.history.phh`. Every format names what it cannot say (`LIMITS`), and is read back by a reader of its own.
"""
