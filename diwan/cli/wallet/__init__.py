"""``diwan wallet``: accounts, statements, transfers and corrections on the command line."""
