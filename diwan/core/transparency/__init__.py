"""The register's public formats, as C2SP writes them (c2sp.org): texts and proofs, without signing or checking a signature."""
