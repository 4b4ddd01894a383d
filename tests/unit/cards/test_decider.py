from diwan.core.decider import Decider, Rejected


def _decide(_state, command):
    if command < 0:
        raise Rejected("NEGATIVE", number=command)
    return (command,)


COUNTER = Decider(initial=0, decide=_decide, evolve=lambda state, event: state + event, is_terminal=lambda s: s > 9)


def test_fold_starts_from_the_beginning_or_from_a_state_even_a_falsy_one():
    assert COUNTER.fold([1, 2, 3]) == 6
    assert COUNTER.fold([1, 2, 3], 10) == 16
    assert Decider(initial=5, decide=_decide, evolve=lambda s, e: s + e).fold([1, 2, 3], 0) == 6


def test_a_refusal_says_its_reason_and_facts():
    refusal = Rejected("NOT_YOUR_TURN", seat=3, turn=17)

    assert refusal.reason == "NOT_YOUR_TURN"
    assert refusal.facts == {"seat": 3, "turn": 17}
    assert str(refusal) == "NOT_YOUR_TURN seat=3 turn=17"


def test_a_decider_ends_where_it_says_and_never_by_default():
    assert COUNTER.is_terminal(10)
    assert not COUNTER.is_terminal(9)
    assert not Decider(initial=0, decide=_decide, evolve=lambda s, _: s).is_terminal(10)
