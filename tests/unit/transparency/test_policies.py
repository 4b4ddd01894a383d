"""Whom a policy trusts, and what a note's signatures are worth under it (P7, A7)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diwan.core.transparency.checkpoint import Checkpoint
from diwan.core.transparency.note import KeyType, Note, NoteMalformed, Signature
from diwan.core.transparency.policy import PolicyMalformed, k_of_n, parse_policy, policy_text
from diwan.signing.notekey import LogSecret, NoteKey
from diwan.verifier.signatures import NoteRule, judge_note

ORIGIN = "diwan.test/feed/1"
SECRET = LogSecret(bytes(32))
LOG = SECRET.key(ORIGIN)
WITNESSES = [NoteKey(f"w{number}.example", KeyType.COSIGNATURE_V1, bytes((number,)) * 32) for number in range(1, 5)]
HEAD = Checkpoint(ORIGIN, 100, bytes(range(32)))
TIME = 1_796_083_200

LINES = [f"log {LOG.verifier.text} https://register.example", *(
    f"witness w{number}\t{one.verifier.text}" for number, one in enumerate(WITNESSES, 1)
)]  # fmt: skip
TEXT = "\n".join(["# whom we trust", "", *LINES, "group ours 2 w1 w2 w3", "group all all ours w4", "quorum all", ""])


def note(*signatures: Signature, head: Checkpoint = HEAD) -> Note:
    return Note(head.text, signatures)


def signed(*witnesses: int, head: Checkpoint = HEAD, time: int = TIME, log: NoteKey = LOG) -> Note:
    return note(log.sign(head.text), *(WITNESSES[one - 1].cosign(time, head.text) for one in witnesses), head=head)


@pytest.mark.parametrize(("witnesses", "is_enough"), [
    ((), False), ((1, 2), False), ((1, 4), False), ((4,), False), ((1, 2, 4), True), ((2, 3, 4), True), ((1, 2, 3, 4), True),
])  # fmt: skip
def test_a_quorum_of_groups_counts_as_its_file_says(witnesses, is_enough):
    judged = judge_note(signed(*witnesses), parse_policy(TEXT))
    assert judged.is_trusted is is_enough
    assert judged.rule == (None if is_enough else NoteRule.QUORUM_MISSING)
    assert not judged.is_false
    assert {one.witness for one in judged.cosigners} == {f"w{one}" for one in witnesses}
    assert all(one.time == TIME for one in judged.cosigners)


@given(st.integers(0, 4), st.sets(st.integers(1, 4)))
def test_k_of_n_is_met_by_k_of_them(threshold, witnesses):
    policy = k_of_n([LOG.verifier], {f"w{n}": one.verifier for n, one in enumerate(WITNESSES, 1)}, threshold)
    assert parse_policy(policy_text(policy)) == policy
    assert judge_note(signed(*witnesses), policy).is_trusted is (len(witnesses) >= threshold)


def test_one_witness_that_signs_twice_is_one():
    policy = k_of_n([LOG.verifier], {f"w{n}": one.verifier for n, one in enumerate(WITNESSES, 1)}, 2)
    twice = note(LOG.sign(HEAD.text), *(WITNESSES[0].cosign(time, HEAD.text) for time in (TIME, TIME + 1)))
    assert judge_note(twice, policy).rule is NoteRule.QUORUM_MISSING


def test_who_is_unknown_is_ignored_and_who_is_known_must_have_signed_this():
    policy = k_of_n([LOG.verifier], {"w1": WITNESSES[0].verifier}, 1)
    stranger = NoteKey.generate("stranger.example", KeyType.COSIGNATURE_V1).cosign(TIME, HEAD.text)
    assert judge_note(note(*signed(1).signatures, stranger), policy).is_trusted
    other = WITNESSES[0].cosign(TIME, HEAD.text + "x\n")
    judged = judge_note(note(LOG.sign(HEAD.text), other), policy)
    assert judged.rule is NoteRule.COSIGNATURE_FALSE
    assert judged.is_false


def test_the_log_itself_must_have_signed():
    policy = k_of_n([LOG.verifier], {"w1": WITNESSES[0].verifier}, 1)
    cosigned = WITNESSES[0].cosign(TIME, HEAD.text)
    assert judge_note(note(cosigned), policy).rule is NoteRule.LOG_SIGNATURE_MISSING
    other_log = SECRET.key("diwan.test/feed/2")
    assert judge_note(note(cosigned, other_log.sign(HEAD.text)), policy).rule is NoteRule.LOG_SIGNATURE_MISSING
    false = Signature(LOG.verifier.name, LOG.verifier.key_id, LOG.sign("another text\n").blob)
    assert judge_note(note(cosigned, false), policy).rule is NoteRule.LOG_SIGNATURE_FALSE
    head = Checkpoint("diwan.test/feed/9", 1, bytes(32))
    assert judge_note(note(LOG.sign(head.text), head=head), policy).rule is NoteRule.LOG_UNKNOWN


def test_a_log_key_that_was_rotated_counts_for_its_own_sizes():
    """A7: what the old key signed stays proved; what it signs later is refused."""
    new = LogSecret(bytes((1,)) * 32).key(ORIGIN)
    text = "\n".join([
        f"log {LOG.verifier.text}", f"log {new.verifier.text}",
        f"valid {ORIGIN}+{LOG.verifier.key_id.hex()} sizes ..99", f"valid {ORIGIN}+{new.verifier.key_id.hex()} sizes 90..",
        "quorum none",
    ])  # fmt: skip
    policy = parse_policy(text)
    before, after = Checkpoint(ORIGIN, 99, bytes(32)), Checkpoint(ORIGIN, 100, bytes(32))
    assert judge_note(signed(head=before), policy).is_trusted
    assert judge_note(signed(head=after), policy).rule is NoteRule.LOG_KEY_RETIRED
    assert judge_note(signed(head=after), policy).is_false
    assert judge_note(signed(head=after, log=new), policy).is_trusted
    both = note(LOG.sign(after.text), new.sign(after.text), head=after)
    assert judge_note(both, policy).log_key == new.verifier
    assert parse_policy(policy_text(policy)) == policy


def test_a_witness_s_key_that_was_rotated_counts_for_its_time_and_its_sizes():
    """A7: its own word for the time can be made up by whoever stole the key; the sizes of the trees cannot."""
    base = "\n".join([f"log {LOG.verifier.text}", f"witness old {WITNESSES[0].verifier.text}"])
    timed = parse_policy(f"{base}\nvalid old times ..{TIME}\nquorum old\n")
    assert judge_note(signed(1), timed).is_trusted
    late = judge_note(signed(1, time=TIME + 1), timed)
    assert late.rule is NoteRule.QUORUM_MISSING
    assert late.retired == ("old",)
    sized = parse_policy(f"{base}\nvalid old sizes {ORIGIN} ..99\nvalid old sizes other/feed/1 ..5\nquorum old\n")
    assert judge_note(signed(1), sized).retired == ("old",)
    assert judge_note(signed(1, head=Checkpoint(ORIGIN, 99, bytes(32))), sized).is_trusted


@pytest.mark.parametrize("text", [
    "", "quorum w1", "quorum none\nquorum none", "quorum", "log x\nquorum none", f"log {WITNESSES[0].verifier.text}\nquorum none",
    f"witness w1 {LOG.verifier.text}\nquorum w1", f"{LINES[0]}\n{LINES[0]}\nquorum none",
    f"{LINES[1]}\nwitness again {WITNESSES[0].verifier.text}\nquorum w1", f"witness none {WITNESSES[0].verifier.text}\nquorum none",
    f"{LINES[1]}\ngroup g 2 w1\nquorum g", f"{LINES[1]}\ngroup g 0 w1\nquorum g", f"{LINES[1]}\ngroup g any w1 w1\nquorum g",
    f"{LINES[1]}\ngroup g any\nquorum g", f"{LINES[1]}\ngroup g any w2\nquorum g", f"{LINES[1]}\ngroup w1 any w1\nquorum w1",
    f"{LINES[1]}\ngroup a any w1\ngroup b any w1\nquorum b", f"{LINES[1]}\nvalid w1 times 5..4\nquorum w1",
    f"{LINES[1]}\nvalid w1 times x\nquorum w1", f"{LINES[1]}\nvalid w2 times 1..2\nquorum w1", "trust everybody\nquorum none",
    f"{LINES[0]}\nvalid {ORIGIN} sizes 1..2\nquorum none", "quorum none\n" * 1_001,
])  # fmt: skip
def test_what_is_no_policy_is_refused(text):
    with pytest.raises(PolicyMalformed):
        parse_policy(text)


def test_a_policy_s_fault_names_its_line():
    with pytest.raises(NoteMalformed, match="line 3"):
        parse_policy("# one\n\nwitness\n")


def test_more_witnesses_than_there_are_cannot_be_asked_for():
    with pytest.raises(PolicyMalformed):
        k_of_n([LOG.verifier], {"w1": WITNESSES[0].verifier}, 2)
