"""Ed25519 over notes: keys in files, signing, and whether a signature holds. Needs cryptography and the core alone."""
