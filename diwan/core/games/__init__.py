"""One module a game; each says only how it differs from the hand it builds on."""
