"""Bundles: gathered from the running services, written to a file."""
