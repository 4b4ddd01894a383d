"""Decisions of bots, from what their seat may see and nothing else. Pure."""
