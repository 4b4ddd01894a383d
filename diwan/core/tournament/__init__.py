"""Tournaments: a floor manager as an aggregate. It decides who sits, moves, is out and is paid; tables play the hands."""
