"""Offline verification of stored bytes: every act re-decided, every card proved, no server trusted."""
