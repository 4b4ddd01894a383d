"""``diwan export-hands``: found hands as files of other programs' formats."""
