"""``diwan demo``: a house that plays some hundred hands and then checks every one of them."""
