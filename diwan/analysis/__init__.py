"""Numbers in bulk, with NumPy: for bots' heavier thinking and for studies. Decides nothing about a hand."""
