"""Secrets at rest on a real PostgreSQL (DESIGN 6, RELIABILITY 3.5.7, S5, S6)."""

import asyncio
import traceback
import uuid
from pathlib import Path

import asyncpg
import pytest

from diwan.chassis.alarms import ALARMS
from diwan.chassis.database import OWNER, UnsafeSettings, ensure_roles, role_memberships
from diwan.chassis.keyfile import KeyFile, VaultError, day_of
from diwan.chassis.migrate import VAULT, migrate
from diwan.chassis.vault import HandVault, new_secret
from diwan.core.fairness import Secret, deal, secret_commitment, verify_reveal
from services.table.shredding import keep_shredding

DATABASE = "vault_tests"
MIGRATIONS = Path(__file__).parents[3] / "services/table/migrations"
PASSWORDS = {role: f"password of {role}" for role in (OWNER, *role_memberships("table"))}
NOW = 1_796_083_200_000
DAY_MS = 86_400_000
DAY = day_of(NOW)


@pytest.fixture(scope="module")
def server(postgres):
    async def prepare():
        await ensure_roles(postgres.superuser_url, "table", PASSWORDS, database=DATABASE)
        await migrate(postgres.url(OWNER, PASSWORDS[OWNER], DATABASE), [VAULT, MIGRATIONS])

    asyncio.run(prepare())
    yield postgres
    postgres.drop_database(DATABASE)


@pytest.fixture
async def superuser(server):
    connection = await asyncpg.connect(server.url("postgres", server.password, DATABASE))
    yield connection
    await connection.close()


async def _empty(superuser):
    for table in ("hand_secret", "day_key"):
        await superuser.execute(f"alter table vault.{table} disable trigger user")
        await superuser.execute(f"delete from vault.{table}")
        await superuser.execute(f"alter table vault.{table} enable trigger user")


@pytest.fixture(autouse=True)
async def _an_empty_vault(superuser):
    await _empty(superuser)


class Clock:
    def __init__(self):
        self.now = NOW

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def keyfile(tmp_path):
    return KeyFile.open_or_create(tmp_path / "master.key", oldest_day=DAY)


def _dsn(server, role="hand_secret_rw"):
    return server.url(role, PASSWORDS[role], DATABASE)


@pytest.fixture
async def vault(server, keyfile, clock):
    opened = await HandVault.open(_dsn(server), keyfile, clock)
    yield opened
    await opened.close()


async def _put(vault, hand_id=None, secret=None, epoch=1):
    hand_id, secret = hand_id or str(uuid.uuid4()), secret or new_secret()
    await vault.put(hand_id, secret_commitment(hand_id, secret), secret, epoch=epoch)
    return hand_id, secret


async def _refused(work):
    with pytest.raises(VaultError) as caught:
        await work
    return caught.value.reason


async def test_a_secret_comes_back_also_from_another_process_and_on_another_day(server, keyfile, clock, vault):
    hand_id, secret = await _put(vault)
    clock.now += 3 * DAY_MS
    other = await HandVault.open(_dsn(server), KeyFile(keyfile.path), clock)
    try:
        assert await vault.get(hand_id) == secret
        assert await other.get(hand_id) == secret
    finally:
        await other.close()
    assert await _refused(vault.get(str(uuid.uuid4()))) == "NO_SECRET"


async def test_many_secrets_come_back_at_once_and_what_cannot_be_opened_is_left_out(vault, superuser):
    hands = dict([await _put(vault) for _ in range(5)])
    damaged, _ = await _put(vault)
    await superuser.execute("alter table vault.hand_secret disable trigger user")
    await superuser.execute(
        "update vault.hand_secret set wrapped = set_byte(wrapped, 20, 255 - get_byte(wrapped, 20)) where hand_id = $1",
        uuid.UUID(damaged),
    )
    await superuser.execute("alter table vault.hand_secret enable trigger user")

    assert await vault.get_many([*hands, damaged, str(uuid.uuid4())]) == hands
    assert await vault.get_many([]) == {}
    assert await _refused(vault.get(damaged)) == "WRAPPED_SECRET_DAMAGED"


async def test_putting_again_changes_nothing_not_even_the_stored_bytes(vault, superuser):
    hand_id, secret = await _put(vault)
    before = await superuser.fetch("select * from vault.hand_secret")
    await _put(vault, hand_id, secret)
    await _put(vault, hand_id, secret, epoch=2)

    assert await superuser.fetch("select * from vault.hand_secret") == before
    assert await vault.get(hand_id) == secret


async def test_of_rival_owners_one_secret_stands_and_the_others_can_read_it(vault):
    """A hand that was prepared by a former owner is dealt from its secret, never from a second one (no re-deal)."""
    hand_id = str(uuid.uuid4())
    outcomes = await asyncio.gather(*(_put(vault, hand_id, epoch=k) for k in range(10)), return_exceptions=True)
    stored = [outcome for outcome in outcomes if not isinstance(outcome, Exception)]

    assert len(stored) == 1
    assert {o.reason for o in outcomes if isinstance(o, Exception)} == {"HAND_HAS_SECRET"}
    assert await vault.get(hand_id) == stored[0][1]


async def test_one_secret_never_serves_two_hands(vault, superuser):
    """F6: not on the same day nor on another."""
    _, secret = await _put(vault)

    assert await _refused(_put(vault, secret=secret)) == "SECRET_REUSED"
    assert await superuser.fetchval("select count(*) from vault.hand_secret") == 1


async def test_a_commitment_that_is_not_the_secrets_is_refused_before_anything_is_stored(vault, superuser):
    hand_id = str(uuid.uuid4())

    assert await _refused(vault.put(hand_id, bytes(32), new_secret(), epoch=1)) == "COMMITMENT_DIFFERS"
    assert await superuser.fetchval("select count(*) from vault.hand_secret") == 0


async def test_processes_that_start_a_day_at_once_share_its_key(server, keyfile, clock):
    vaults = [await HandVault.open(_dsn(server), keyfile, clock) for _ in range(4)]
    try:
        put = await asyncio.gather(*(_put(vault) for vault in vaults for _ in range(5)))
        for vault in vaults:
            assert [await vault.get(hand_id) for hand_id, _ in put] == [secret for _, secret in put]
    finally:
        await asyncio.gather(*(vault.close() for vault in vaults))


@pytest.mark.parametrize("role", ["table_rw", "table_seq", "table_ro"])
@pytest.mark.parametrize("table", ["hand_secret", "day_key"])
async def test_no_other_role_of_the_service_may_look_into_the_vault(server, role, table):
    connection = await asyncpg.connect(_dsn(server, role))
    try:
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await connection.fetch(f"select * from vault.{table}")
    finally:
        await connection.close()


async def test_the_vaults_role_may_not_look_into_the_event_store(server):
    connection = await asyncpg.connect(_dsn(server))
    try:
        for table in ("event", "stream", "command", "outbox", "feed"):
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await connection.fetch(f"select * from {table}")
    finally:
        await connection.close()


@pytest.mark.parametrize("role", ["hand_secret_rw", OWNER, "postgres"])
@pytest.mark.parametrize(
    "attack",
    [
        "update vault.hand_secret set wrapped = set_byte(wrapped, 0, 1)",
        "update vault.hand_secret set epoch = 9",
        "delete from vault.hand_secret",
        "truncate vault.hand_secret",
        "update vault.day_key set wrapped = set_byte(wrapped, 0, 1)",
        "truncate vault.day_key cascade",
    ],
)
async def test_a_secret_is_never_exchanged_or_removed_not_even_by_the_owner(server, vault, role, attack):
    hand_id, secret = await _put(vault)
    password = server.password if role == "postgres" else PASSWORDS[role]
    connection = await asyncpg.connect(server.url(role, password, DATABASE))
    try:
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await connection.execute(attack)
    finally:
        await connection.close()
    assert await vault.get(hand_id) == secret


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("epoch", "9"),
        ("day", f"{DAY + 1}"),
        ("commitment", "sha256('x')"),
        ("wrapped", "(select wrapped from vault.hand_secret where epoch = 2)"),
        ("hand_id", f"'{uuid.UUID(int=1)}'"),
    ],
)
async def test_a_row_that_was_moved_or_damaged_behind_our_back_does_not_open(vault, superuser, clock, column, value):
    hand_id, _ = await _put(vault, epoch=1)
    clock.now += DAY_MS
    await _put(vault, epoch=2)
    await superuser.execute("alter table vault.hand_secret disable trigger user")
    await superuser.execute(f"update vault.hand_secret set {column} = {value} where epoch = 1")
    await superuser.execute("alter table vault.hand_secret enable trigger user")

    moved = str(uuid.UUID(int=1)) if column == "hand_id" else hand_id
    assert await _refused(vault.get(moved)) == "WRAPPED_SECRET_DAMAGED"


async def test_the_database_alone_opens_nothing(server, vault, tmp_path, clock):
    """Who steals the database without the key file has random bytes."""
    hand_id, _ = await _put(vault)
    thief = await HandVault.open(_dsn(server), KeyFile.open_or_create(tmp_path / "other.key", oldest_day=DAY), clock)
    try:
        assert await _refused(thief.get(hand_id)) == "WRAPPED_SECRET_DAMAGED"
    finally:
        await thief.close()


async def _dump(superuser):
    """All that a backup of the vault holds, day keys first."""
    return {table: await superuser.fetch(f"select * from vault.{table}") for table in ("day_key", "hand_secret")}


async def _restore(superuser, dump):
    await _empty(superuser)
    for table, rows in dump.items():
        await superuser.copy_records_to_table(table, schema_name="vault", records=rows)


async def test_shredding_a_day_destroys_it_in_backups_too_while_published_reveals_still_verify(
    server, keyfile, vault, superuser, clock
):
    """S5."""
    old, secret = await _put(vault)
    deck = deal(old, secret, {})
    published, root = deck.reveal(20), deck.root
    clock.now += DAY_MS
    young, young_secret = await _put(vault)
    backup = await _dump(superuser)
    clock.now = NOW + 90 * DAY_MS

    assert await vault.shred(DAY) == 1
    assert await _refused(vault.get(old)) == "DAY_DESTROYED"
    assert await vault.get(young) == young_secret
    await _restore(superuser, backup)
    restarted = await HandVault.open(_dsn(server), keyfile, clock)
    try:
        assert await _refused(restarted.get(old)) == "DAY_DESTROYED"
        assert await restarted.get(young) == young_secret
    finally:
        await restarted.close()
    assert verify_reveal(old, root, published)


async def test_shredding_keeps_commitments_and_refuses_the_old_secret_for_ever(vault, superuser, clock):
    hand_id, secret = await _put(vault)
    clock.now += 90 * DAY_MS
    await vault.shred(DAY)

    assert await superuser.fetchval("select commitment from vault.hand_secret") == secret_commitment(hand_id, secret)
    assert await superuser.fetchval("select destroyed_at is not null from vault.day_key where day = $1", DAY)
    assert await _refused(_put(vault, secret=secret)) == "SECRET_REUSED"


async def test_shredding_inside_the_dispute_window_is_refused_and_destroys_nothing(vault, clock):
    hand_id, secret = await _put(vault)
    clock.now += 90 * DAY_MS - 1

    assert await _refused(vault.shred(DAY)) == "WITHIN_DISPUTE_WINDOW"
    assert await vault.get(hand_id) == secret


async def test_shredding_that_broke_off_after_the_key_file_is_finished_by_the_next_call(
    vault, keyfile, superuser, clock
):
    hand_id, _ = await _put(vault)
    clock.now += 90 * DAY_MS
    keyfile.forget_through(DAY)

    assert await vault.shred(DAY) == 1
    assert await vault.shred(DAY) == 0
    assert await _refused(vault.get(hand_id)) == "DAY_DESTROYED"
    assert await superuser.fetchval("select count(*) from vault.hand_secret where wrapped is not null") == 0


async def test_what_is_behind_the_dispute_window_is_destroyed_by_itself_and_nothing_younger(vault, clock):
    """S5, DESIGN 6: an hour later a day more is behind it."""
    old, _ = await _put(vault)
    clock.now += DAY_MS
    young, young_secret = await _put(vault)
    clock.now = NOW + 90 * DAY_MS - 1
    shredding = asyncio.create_task(keep_shredding(vault, look_seconds=0.01))
    try:
        await asyncio.sleep(0.3)
        assert await vault.get(old), "still within the window"
        clock.now += 1
        await _destroyed(vault, old)
        assert await vault.get(young) == young_secret
    finally:
        shredding.cancel()


async def _destroyed(vault, hand_id):
    """Wait until a hand's secret is gone."""
    async with asyncio.timeout(10):
        while True:
            try:
                await vault.get(hand_id)
            except VaultError as error:
                if error.reason == "DAY_DESTROYED":
                    return
                raise
            await asyncio.sleep(0.01)


async def test_what_cannot_be_destroyed_is_an_alarm_and_is_tried_again(vault, keyfile, clock, monkeypatch):
    old, _ = await _put(vault)
    clock.now += 90 * DAY_MS
    really, failures = keyfile.forget_through, iter([OSError("read-only file system")])

    def forget(day):
        if (failure := next(failures, None)) is not None:
            raise failure
        really(day)

    monkeypatch.setattr(keyfile, "forget_through", forget)
    before = ALARMS.labels("shredding")._value.get()
    shredding = asyncio.create_task(keep_shredding(vault, look_seconds=0.01))
    try:
        await _destroyed(vault, old)
    finally:
        shredding.cancel()

    assert ALARMS.labels("shredding")._value.get() == before + 1


async def test_a_window_of_no_days_is_refused(vault, keyfile, clock):
    with pytest.raises(ValueError, match="at least"):
        HandVault(vault._database, keyfile, clock, keep_days=0)


async def test_a_role_that_would_log_its_statements_is_not_used(server, keyfile, clock):
    with pytest.raises(UnsafeSettings, match="log_min_error_statement"):
        await HandVault.open(_dsn(server, "table_rw"), keyfile, clock)


def _forms(raw):
    return [bytes(raw), raw.hex().encode(), raw.hex().upper().encode(), repr(bytes(raw))[2:-1].encode()]


def _as_logged(error):
    """The error as the most talkative logger has it: its causes, its attributes, the locals of all our frames."""
    told = traceback.TracebackException.from_exception(error, capture_locals=True)
    chain = [told]
    while chain[-1].__cause__ or chain[-1].__context__:
        chain.append(chain[-1].__cause__ or chain[-1].__context__)
    for link in chain:
        link.stack[:] = [frame for frame in link.stack if frame.filename != __file__]
    return "".join(told.format()) + repr(vars(error))


async def test_no_error_shows_key_or_secret(keyfile, vault, superuser):
    """S6: every refusal and fault, with its whole chain and the locals of its frames."""
    marked = Secret(b"\xc5" * 31 + b"\x01")
    hand_id, _ = await _put(vault, secret=marked)
    master = bytes.fromhex(keyfile.path.read_text().split()[-1])
    faults = [
        _put(vault, secret=marked),
        _put(vault, hand_id=hand_id),
        vault.put(hand_id, bytes(32), marked, epoch=1),
        vault.put(hand_id, secret_commitment(hand_id, marked), marked, epoch=-1),
        vault.put("no id", bytes(32), marked, epoch=1),
        vault.put(str(uuid.uuid4()), b"short", marked, epoch=1),
    ]
    shown = []
    for fault in faults:
        with pytest.raises((VaultError, ValueError)) as caught:
            await fault
        shown.append(caught.value)
    await superuser.execute("alter table vault.hand_secret rename to hand_secret_away")
    try:
        for work in (vault.get(hand_id), _put(vault, secret=Secret(b"\xc5" * 31 + b"\x02"))):
            with pytest.raises(asyncpg.UndefinedTableError) as missing:
                await work
            shown.append(missing.value)
    finally:
        await superuser.execute("alter table vault.hand_secret_away rename to hand_secret")

    assert len(shown) == 8
    for error in shown:
        text = _as_logged(error).encode()
        assert "diwan/chassis/vault.py" in text.decode()
        assert not any(form in text for secret in (marked, b"\xc5" * 31, master) for form in _forms(secret))


async def test_neither_secret_nor_keys_reach_the_servers_files_or_log(server, vault, keyfile, superuser):
    """S1 for this part: the cluster with its WAL, and the server's log after errors."""
    put = [await _put(vault) for _ in range(20)]
    await _refused(_put(vault, secret=put[0][1]))
    await superuser.execute("checkpoint")
    files = [path for path in server.cluster.rglob("*") if path.is_file()] + [server.log_path]
    contents = [path.read_bytes() for path in files if path.exists()]
    wrapped = await superuser.fetchval("select wrapped from vault.hand_secret limit 1")

    assert any(bytes(wrapped) in content for content in contents)
    master = bytes.fromhex(keyfile.path.read_text().split()[-1])
    hidden = [secret for _, secret in put] + [master, keyfile.wrapping_key(DAY)]
    for form in (form for secret in hidden for form in _forms(secret)):
        assert not any(form in content for content in contents)
