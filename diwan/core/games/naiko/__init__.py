"""Naiko: hold'em with four powers, paid for in destellos (NK-1 to NK-42)."""
