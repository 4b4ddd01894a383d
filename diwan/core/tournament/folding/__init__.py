"""The parts of `evolve`: entries and payments, the floor with its tables and moves, and play itself."""
