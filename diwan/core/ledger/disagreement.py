"""What is said where a table's log is at odds with itself."""


class Disagreement(Exception):  # noqa: N818  (told apart from a fault of the program: the log itself is at odds)
    """An event does not fit the table's earlier events: nothing of it may be posted."""
