"""Live tables: one actor a table, its log in PostgreSQL, views to whoever watches."""
