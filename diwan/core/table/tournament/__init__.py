"""A tournament's table: levels, seats, clock and grants come from the tournament, play goes on without it (TR, B5, C2)."""
