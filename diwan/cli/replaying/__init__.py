"""``diwan replay``: a hand as somebody could have seen it, moment by moment."""
