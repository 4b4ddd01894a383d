"""The `diwan` command."""
