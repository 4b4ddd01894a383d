"""What the database refuses by itself, whatever a program believes: L2, L7, L11, L12, H1."""

from uuid import uuid4

import asyncpg
import pytest

from diwan.core.ledger.accounts import player_account
from diwan.core.ledger.posting import LinkedSet
from services.wallet.books import Remembered
from tests.integration.wallet.conftest import moving, rich_players


async def dump(connection):
    tables = ("currency", "account", "transfer", "entry", "refused", "answered")
    return {
        table: await connection.fetch(f"select * from {table} order by 1, 2") for table in tables if table != "currency"
    }


ATTACKS = [
    ("L2 a player who owes", "update account set balance = -1 where owner = 'player-0'", "account_never_owes"),
    ("L12 a forged currency", "insert into currency values ('MATCH')", "currency_code_check"),
    (
        "L12 an account in match chips",
        (
            "insert into account (account_id, kind, owner, currency, opened_at_ms)"
            " values (gen_random_uuid(), 'player', 'x', 'MATCH', 0)"
        ),
        "account_currency_fkey",
    ),
    (
        "L12 a transfer in match chips",
        (
            "insert into transfer select gen_random_uuid(), a.account_id, b.account_id, 'MATCH', 1, 'c', 'c', 1, 0"
            " from account a, account b where a.owner = 'player-0' and b.owner = 'player-1'"
        ),
        "transfer_debit_account_currency_fkey",
    ),
    (
        "L11 a transfer of nothing",
        (
            "insert into transfer select gen_random_uuid(), a.account_id, b.account_id, 'CHIP', 0, 'c', 'c', 1, 0"
            " from account a, account b where a.owner = 'player-0' and b.owner = 'player-1'"
        ),
        "transfer_amount_check",
    ),
    (
        "L7 an entry that does not add up",
        (
            "insert into entry select account_id, 9, (select transfer_id from transfer limit 1), 5, 0, 6"
            " from account where owner = 'player-0'"
        ),
        "entry_adds_up",
    ),
    ("an entry rewritten", "update entry set amount = amount + 1", None),
    ("an entry removed", "delete from entry", None),
    ("entries emptied", "truncate entry", None),
    ("a transfer rewritten", "update transfer set amount = amount + 1", None),
    ("a transfer removed", "delete from transfer", None),
    ("a refusal forgotten", "delete from refused", None),
    ("an account removed", "delete from account", None),
    ("an account given away", "update account set owner = 'somebody else'", None),
    ("an account of a kind that may owe", "update account set kind = 'issuance'", None),
    ("an answer rewritten", "update answered set has_opened = true", None),
]


@pytest.mark.parametrize("role", ["wallet_rw", "postgres"])
async def test_the_database_itself_refuses(prepared, ledger, superuser, role):
    """L2, L7, L11, L12: by direct SQL, as the service's role and as the server's superuser."""
    await rich_players(ledger, 2)
    amal, dina = player_account("player-0"), player_account("player-1")
    await ledger.ask(moving(str(uuid4()), amal, dina, 5000))
    await ledger.ask(LinkedSet((), opens=(dina,)), Remembered(str(uuid4()), "dina", b"open"))
    before = await dump(superuser)
    connection = await asyncpg.connect(prepared.superuser_url if role == "postgres" else prepared.url(role))

    let_through = []
    for name, attack, constraint in ATTACKS:
        try:
            await connection.execute(attack)
        except asyncpg.InsufficientPrivilegeError:
            continue
        except asyncpg.IntegrityConstraintViolationError as refusal:
            if refusal.constraint_name != constraint:
                let_through.append(f"{name}: refused by {refusal.constraint_name} only")
        else:
            let_through.append(name)

    await connection.close()
    assert let_through == []
    assert await dump(superuser) == before
