"""A witness: signs a log's checkpoint only if it extends what it signed before (c2sp.org/tlog-witness).

A separate small program for somebody else's machine: the standard library, cryptography and Diwan's core, no more.
"""
