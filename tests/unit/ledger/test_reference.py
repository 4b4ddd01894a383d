"""docs/reference/wallet.md says what the code does."""

from pathlib import Path

import diwan
from diwan.core.ledger.accounts import KINDS, PURPOSES
from diwan.core.ledger.moves import MOVES
from diwan.core.ledger.requests import REMEMBERED, Result
from services.wallet.settings import WalletSettings

PAGE = Path(diwan.__file__).parent.parent / "docs" / "reference" / "wallet.md"


def rows(heading: str) -> list[list[str]]:
    """Return the cells of the table below a heading, without their code marks."""
    text = PAGE.read_text().split(f"\n## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_every_kind_of_account_is_told_with_its_limits():
    told = {kind: tuple(rest) for kind, _owner, *rest in rows("Accounts")}
    yes = {True: "yes", False: "no"}
    opened = {True: "its first credit or hold", False: "a request"}

    assert told == {
        name: (yes[kind.may_owe], str(kind.balance_max), yes[kind.may_freeze], opened[kind.opens_by_itself])
        for name, kind in KINDS.items()
    }
    assert all(f"`{purpose}`" in PAGE.read_text() for purpose in PURPOSES)


def test_every_move_is_told_with_who_may_ask_for_it():
    told = [tuple(row) for row in rows("Moves")]

    assert told == [
        (
            move.code,
            move.debit,
            move.credit,
            " or ".join(sorted(move.asked_by)) or move.comes_from,
            "yes" if move.is_reversible else "no",
        )
        for move in MOVES
    ]


def test_every_result_is_told_with_whether_its_id_stays_refused():
    told = {result: stays for result, _meaning, stays in rows("Results")}

    assert told == {
        result.value: "" if result.is_posted else "yes" if result in REMEMBERED else "no" for result in Result
    }


def test_every_policy_is_told_with_its_default():
    told = {setting.removeprefix("DIWAN_WALLET_").lower(): default for setting, default, _rule in rows("Policies")}
    settings = WalletSettings()

    policies = [name for name in WalletSettings.model_fields if name.startswith(("top_up", "ad_reward", "purchase"))]
    assert told == {
        name: str(getattr(settings, name))
        for name in ("starting_grant", *policies, "issued_a_day", "operators_a_day", "gift_a_day")
    }
