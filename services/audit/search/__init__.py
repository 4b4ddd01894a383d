"""The index of hands: made from the kept feed, and what it is asked (find)."""
