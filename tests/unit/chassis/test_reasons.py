"""Every reason for a refusal can be read by people, in English and in Arabic."""

import ast
import re
from pathlib import Path

import grpc
import pytest
from google.rpc import error_details_pb2

import diwan
from diwan.chassis.errors import metadata_of, refusal_of, rejected_of, status_of
from diwan.chassis.reasons import CATALOGUE, entry_of, rendered
from diwan.core.decider import Rejected
from diwan.core.fairness import Secret
from diwan.core.ledger.requests import Result

ROOT = Path(diwan.__file__).parent.parent
ARABIC = re.compile("[\u0600-\u06ff]")
FACTS = {"to_act": "3", "min_to": "40"}


def reasons_in(source):
    """Return the reasons that a module names: first arguments of Rejected, and members of enums of reasons."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func=ast.Name(id="Rejected"), args=[ast.Constant(value=str(reason)), *_]):
                yield reason
            case ast.ClassDef(name="Reason", body=body):
                for line in body:
                    match line:
                        case ast.Assign(value=ast.Constant(value=str(reason))):
                            yield reason


def reasons_of_the_code():
    for folder in ("diwan", "services"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if "api" not in path.relative_to(ROOT).parts[1:2]:
                for reason in reasons_in(path.read_text()):
                    yield reason, path.relative_to(ROOT)


def test_every_reason_that_the_code_gives_has_both_texts():
    missing = {reason: str(path) for reason, path in reasons_of_the_code() if reason not in CATALOGUE}

    assert missing == {}


def test_the_search_for_reasons_finds_them():
    source = 'raise Rejected("A_REASON", fact=1)\nclass Reason(StrEnum):\n    OTHER_REASON = "OTHER_REASON"'

    assert sorted(reasons_in(source)) == ["A_REASON", "OTHER_REASON"]


@pytest.mark.parametrize("reason", sorted(CATALOGUE))
def test_an_entry_is_complete(reason):
    entry = CATALOGUE[reason]

    assert re.fullmatch(r"[A-Z][A-Z0-9_]{1,61}[A-Z0-9]", reason), "AIP-193"
    assert entry.status is not grpc.StatusCode.OK
    assert ARABIC.search(entry.ar)
    assert not ARABIC.search(entry.en)
    for text in (entry.en, entry.ar):
        for told in (rendered(text, {}), rendered(text, dict.fromkeys(entry.facts(), "5"))):
            assert not set(told) & set("[]{}?")
            assert told.endswith(".")
            assert "  " not in told


def test_every_refusal_of_the_ledger_has_both_texts():
    refusals = {result.name for result in Result if not result.is_posted}

    assert refusals - CATALOGUE.keys() == set()


def test_the_reasons_that_the_rules_name_are_all_there():
    named = """NOT_YOUR_TURN STALE_TURN HAND_OVER CHECK_NOT_ALLOWED CALL_NOT_ALLOWED BET_NOT_ALLOWED RAISE_NOT_ALLOWED
    FOLD_NOT_ALLOWED AMOUNT_TOO_SMALL AMOUNT_TOO_LARGE AMOUNT_OVER_STACK WINDOW_OPEN POWER_NOT_IN_GAME
    POWER_NOT_IN_CAROUSEL POWER_ALREADY_USED POWER_TOO_LATE ONE_POWER_PER_TURN ROUND_POWER_LIMIT NOT_ENOUGH_DESTELLOS
    TARGET_NOT_ELIGIBLE TARGET_ALREADY_ANCHORED CARD_NOT_HELD NO_RESPONSE_WINDOW BAD_SET FOULED_SET ALREADY_LOCKED
    NOT_ASKED SURRENDER_NOT_ALLOWED DEADLINE_PASSED TABLE_NOT_FOUND TABLE_CLOSED TABLE_FULL SEAT_TAKEN ALREADY_SEATED
    NOT_SEATED TOO_MANY_TABLES INVITATION_REQUIRED INVITATION_EXPIRED NOT_HOST SETTING_INVALID BUY_IN_OUT_OF_RANGE
    TOP_UP_IN_HAND MATCH_STARTED RESERVE_TOO_SMALL PLAYER_EXCLUDED REQUEST_ID_CONFLICT RATE_LIMITED"""

    assert set(named.split()) <= CATALOGUE.keys()


def test_an_optional_part_is_left_out_with_its_fact():
    text = "Too small[; the least is {min_to}]."

    assert rendered(text, {}) == "Too small."
    assert rendered(text, FACTS) == "Too small; the least is 40."


def test_a_fact_cannot_bring_a_template_of_its_own():
    assert rendered("[{why}]", {"why": "{min_to} [x]", "min_to": "1"}) == "{min_to} [x]"


def test_facts_are_bounded_and_never_bytes():
    facts = {"raw": b"x", "key": Secret(bytes(32)), "long": "y" * 1000, "Wild name": 1, "seat": 3}
    many = {f"fact_{number}": number for number in range(100)}

    assert metadata_of(facts) == {"long": "y" * 200, "seat": "3"}
    assert len(metadata_of(many)) == 16


def test_a_status_holds_one_error_info_and_says_when_to_ask_again():
    status = status_of(Rejected("TABLE_BUSY"))
    kinds = [detail.TypeName().rpartition(".")[2] for detail in status.details]

    assert kinds == ["ErrorInfo", "LocalizedMessage", "LocalizedMessage", "RetryInfo"]
    assert status.code == grpc.StatusCode.RESOURCE_EXHAUSTED.value[0]


def test_a_reason_that_nobody_explained_is_an_error_of_ours():
    info = error_details_pb2.ErrorInfo.FromString(status_of(Rejected("NOBODY_KNOWS")).details[0].value)

    assert info.reason == "INTERNAL"
    assert entry_of("NOBODY_KNOWS") is CATALOGUE["INTERNAL"]


def test_a_refusal_in_a_stream_says_what_a_call_would_and_can_be_given_again():
    rejected = Rejected("NOT_YOUR_TURN", to_act=3)
    refusal = refusal_of(rejected)

    assert refusal.reason == "NOT_YOUR_TURN"
    assert refusal.message == status_of(rejected).message
    assert refusal.message_ar == "ليس دورك الآن؛ القرار للمقعد 3."
    assert refusal.code == 9
    assert refusal_of(rejected_of(refusal)) == refusal
