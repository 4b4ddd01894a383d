"""Labelled bots: they fill seats where a table asks for them, and play through the public contract alone."""
