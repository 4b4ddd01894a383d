"""One poker hand: commands in, events out, state by folding the events. Games say only how they differ."""
