"""The independent audit: keeps every feed and checks it."""
