"""The wallet: the ledger's shell."""
