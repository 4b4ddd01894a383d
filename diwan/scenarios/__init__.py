"""Runs the rules as cases: the scenario files of ``tests/scenarios`` (format: FORMAT.md there), against the core alone."""
