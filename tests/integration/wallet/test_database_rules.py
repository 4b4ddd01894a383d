"""What the database refuses by itself, whatever a program believes: L2, L7, L11, L12, H1."""

from uuid import uuid4

import asyncpg
import pytest

from diwan.core.ledger.accounts import player_account
from diwan.core.ledger.requests import LinkedSet
from services.wallet.works import Remembered
from tests.integration.wallet.conftest import moving, rich_players


async def dump(connection):
    tables = ("currency", "account", "transfer", "refused", "answered")
    return {
        table: await connection.fetch(f"select * from {table} order by 1, 2") for table in tables if table != "currency"
    }


FITS = "transfer_fits_its_accounts"


def transfer(**fields):
    """Return an INSERT of a transfer that a program might make up."""
    values = {
        "transfer_id": "gen_random_uuid()",
        "debit_account": "a.account_id",
        "debit_version": "a.version + 1",
        "debit_previous": "a.balance",
        "credit_account": "b.account_id",
        "credit_version": "b.version + 1",
        "credit_previous": "b.balance",
        "currency": "'CHIP'",
        "amount": "1",
        "code": "'c'",
        "cause": "'c'",
        "ledger_version": "1",
        "posted_at_ms": "0",
        **fields,
    }
    return (
        f"insert into transfer ({', '.join(values)}) select {', '.join(values.values())}"
        " from account a, account b where a.owner = 'player-0' and b.owner = 'player-1'"
    )


# As a taker the issuing account, which has only given so far: no version of its is taken, and this leg would fit.
_OPERATOR = {
    f"credit_{field}": f"(select {value} from account where kind = 'issuance' and owner = 'operator')"
    for field, value in (("account", "account_id"), ("version", "version"), ("previous", "balance - 1"))
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
    ("L12 a transfer in match chips", transfer(currency="'MATCH'"), "transfer_currency_is_chips"),
    ("L11 a transfer of nothing", transfer(amount="0"), "transfer_amount_check"),
    ("a transfer to an account that is not there", transfer(credit_account="gen_random_uuid()"), FITS),
    ("a transfer that moves no balance", transfer(), FITS),
    (
        "L7 an entry that does not add up",
        transfer(debit_version="a.version", debit_previous="a.balance + 2", **_OPERATOR),
        FITS,
    ),
    (
        "L7 a version that was counted before",
        (
            "insert into transfer select gen_random_uuid(), debit_account, debit_version, debit_previous, credit_account,"
            " credit_version, credit_previous, currency, amount, code, cause, hold_id, reverses, 1, 0 from transfer"
        ),
        "transfer_debit_account_debit_version_key",
    ),
    ("an entry rewritten", "update entry set amount = amount + 1", None),
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
        except (asyncpg.InsufficientPrivilegeError, asyncpg.ObjectNotInPrerequisiteStateError):
            continue
        except asyncpg.IntegrityConstraintViolationError as refusal:
            if refusal.constraint_name != constraint:
                let_through.append(f"{name}: refused by {refusal.constraint_name} only")
        else:
            let_through.append(name)

    await connection.close()
    assert let_through == []
    assert await dump(superuser) == before
