"""A Sarab match: equal starting coins, a rising forced bet, and the last one with coins wins (SB-4, SB-28, SB-38)."""
