"""The ledger: double entry in whole chips, decided without a clock or a database."""
