"""``diwan reconcile``: both feeds folded again beside the wallet's own word."""
