"""The table aggregate: seats, chips at the seats, button, seed exchange; it starts hands and lets them play."""
