"""Pure rules: no clock, chance, network, wire format or log."""
