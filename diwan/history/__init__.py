"""Readings of the register: replay to any point, and exports in other people's formats. Pure."""
