"""Capsa Susun (13-card Chinese poker): a game of its own beside the poker hand (rules/capsa.md, CS-1 to CS-87)."""
