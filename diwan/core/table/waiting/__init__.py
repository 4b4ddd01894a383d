"""Waiting for a seat: people in line, seats kept for them, bots that make room after the hand (CL-6)."""
