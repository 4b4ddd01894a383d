"""Private tables: who hosts one, who may see it and sit there, and what its host may do (TB-3, RULES.md D2)."""
