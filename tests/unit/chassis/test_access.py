"""Who may act for whom, and what a token must hold."""

import json
import time

import jwt
import pytest

from diwan.api.audit.v1 import audit_service_pb2
from diwan.api.bots.v1 import bots_service_pb2
from diwan.api.feed.v1 import feed_service_pb2
from diwan.api.table.v1 import table_service_pb2
from diwan.api.wallet.v1 import wallet_service_pb2
from diwan.chassis.access import Caller, Role, sweep
from diwan.chassis.auth import Authenticator, JwksFile, parsed_key_set
from diwan.chassis.keys import SigningKey, TokenSource, write_jwks
from diwan.core.decider import Rejected

FILES = [audit_service_pb2, bots_service_pb2, feed_service_pb2, table_service_pb2, wallet_service_pb2]


def reason_of(work):
    with pytest.raises(Rejected) as caught:
        work()
    return caught.value.reason


def test_every_method_of_every_contract_says_who_may_call_it():
    """A1."""
    services = [service for file in FILES for service in file.DESCRIPTOR.services_by_name.values()]
    rules = sweep(services)

    assert len(rules) == sum(len(service.methods) for service in services)
    assert not any(rule.is_public for rule in rules.values())
    assert rules["/diwan.api.wallet.v1.WalletService/FundSeat"].roles == {Role.SERVICE}


@pytest.mark.parametrize("role", [Role.PLAYER, Role.BOT])
def test_players_and_bots_act_for_themselves_alone(role):
    caller = Caller("amal", role)

    assert caller.acting_player("") == "amal"
    assert caller.acting_player("amal") == "amal"
    assert reason_of(lambda: caller.acting_player("dina")) == "ON_BEHALF_OF_NOT_ALLOWED"


def test_a_back_end_acts_for_its_own_players_alone():
    caller = Caller("phones", Role.BACKEND, players="phones/")

    assert caller.acting_player("phones/amal") == "phones/amal"
    assert reason_of(lambda: caller.acting_player("")) == "ON_BEHALF_OF_REQUIRED"
    assert reason_of(lambda: caller.acting_player("others/amal")) == "ON_BEHALF_OF_NOT_ALLOWED"
    assert reason_of(lambda: caller.acting_player("phones/" + "x" * 200)) == "FIELD_INVALID"
    assert reason_of(lambda: caller.acting_player("phones/\n")) == "FIELD_INVALID"


def test_a_back_end_acts_for_no_bot_whatever_its_prefix():
    """S3."""
    for players in ("", "bot:", "b"):
        caller = Caller("phones", Role.BACKEND, players=players)
        assert reason_of(lambda c=caller: c.acting_player("bot:amal-01")) == "ON_BEHALF_OF_NOT_ALLOWED"
    assert Caller("op", Role.OPERATOR).acting_player("bot:amal-01") == "bot:amal-01"


@pytest.mark.parametrize("role", [Role.OPERATOR, Role.AUDITOR, Role.SERVICE])
def test_nobody_of_the_house_holds_a_players_seat_by_naming_the_player(role):
    """P10, S4: who may ask about a player's account may still not see the player's cards."""
    caller = Caller("staff", role)

    assert caller.acting_player("amal") == "amal"
    assert reason_of(lambda: caller.seat_holder("amal")) == "ON_BEHALF_OF_NOT_ALLOWED"


def test_players_and_their_back_end_hold_seats_as_they_act():
    assert Caller("amal", Role.PLAYER).seat_holder("") == "amal"
    assert Caller("phones", Role.BACKEND, players="phones/").seat_holder("phones/amal") == "phones/amal"


def test_a_key_file_is_read_by_its_owner_alone(tmp_path):
    path = tmp_path / "keys" / "token.pem"
    key = SigningKey.load_or_generate(path)

    assert path.stat().st_mode & 0o777 == 0o600
    assert SigningKey.load_or_generate(path).key_id == key.key_id
    path.chmod(0o440)
    assert SigningKey.load(path).key_id == key.key_id
    path.chmod(0o644)
    with pytest.raises(PermissionError):
        SigningKey.load(path)


def test_a_key_set_holds_public_halves_only(tmp_path):
    key = SigningKey.generate()
    write_jwks(tmp_path / "jwks.json", [key])
    (published,) = json.loads((tmp_path / "jwks.json").read_text())["keys"]

    assert "d" not in published
    assert published["kid"] == key.key_id
    assert parsed_key_set((tmp_path / "jwks.json").read_bytes()).keys() == {key.key_id}
    private = {"keys": [{**published, "d": "x"}]}
    assert parsed_key_set(json.dumps(private).encode()) == {}


@pytest.fixture
async def door(tmp_path):
    key = SigningKey.generate()
    write_jwks(tmp_path / "jwks.json", [key])
    authenticator = Authenticator(
        JwksFile(tmp_path / "jwks.json"), audience="table", issuer="diwan", player_token_seconds_max=300
    )
    await authenticator.refresh()
    return authenticator, key


async def refusal(authenticator, token):
    with pytest.raises(Rejected) as caught:
        await authenticator.authenticate(f"Bearer {token}")
    assert caught.value.reason == "UNAUTHENTICATED"
    return caught.value.facts["why"]


async def test_a_token_names_its_caller(door):
    authenticator, key = door
    token = key.mint("phones", Role.BACKEND, ["table", "wallet"], players="phones/")

    caller = await authenticator.authenticate(f"Bearer {token}")

    assert (caller.subject, caller.role, caller.players) == ("phones", Role.BACKEND, "phones/")
    assert await authenticator.authenticate(f"Bearer {token}") is caller


async def test_a_token_that_was_good_is_refused_once_its_time_is_over(door, monkeypatch):
    authenticator, key = door
    token = key.mint("amal", Role.PLAYER, "table", seconds=60)
    await authenticator.authenticate(f"Bearer {token}")
    later = time.time() + 120
    monkeypatch.setattr(time, "time", lambda: later)

    assert "expired" in await refusal(authenticator, token)


async def test_other_algorithms_do_not_open_the_door(door):
    """The public key as an HMAC secret, and no signature at all."""
    authenticator, key = door
    claims = jwt.decode(key.mint("amal", Role.OPERATOR, "table"), options={"verify_signature": False})
    headers = {"kid": key.key_id}

    unsigned = jwt.encode(claims, None, algorithm="none", headers=headers)
    hmacked = jwt.encode(claims, key.public_jwk["x"] * 2, algorithm="HS256", headers=headers)

    assert await refusal(authenticator, unsigned)
    assert await refusal(authenticator, hmacked)


@pytest.mark.parametrize("claim", ["exp", "iat", "sub", "aud", "iss", "jti", "role"])
async def test_a_token_without_a_claim_is_refused(door, claim):
    authenticator, key = door
    claims = jwt.decode(key.mint("amal", Role.OPERATOR, "table"), options={"verify_signature": False})
    del claims[claim]
    token = jwt.encode(claims, key._key, algorithm="EdDSA", headers={"kid": key.key_id})

    assert await refusal(authenticator, token)


async def test_a_changed_token_is_refused(door):
    authenticator, key = door
    token = key.mint("amal", Role.PLAYER, "table", seconds=60)
    other = key.mint("dina", Role.PLAYER, "table", seconds=60)
    forged = ".".join([*other.split(".")[:2], token.split(".")[2]])

    assert await refusal(authenticator, forged)


async def test_unknown_keys_do_not_make_us_read_the_set_each_time(door, monkeypatch):
    """A6: ten thousand wrong tokens cost no reads."""
    authenticator, _ = door
    reads = []
    source = authenticator._source
    monkeypatch.setattr(source, "read", lambda: reads.append(1))
    stranger = SigningKey.generate()
    for number in range(50):
        await refusal(authenticator, stranger.mint(f"p{number}", Role.PLAYER, "table", seconds=60))

    assert len(reads) <= 1


async def test_a_key_set_that_cannot_be_read_keeps_the_keys_we_have(door, tmp_path):
    authenticator, key = door
    (tmp_path / "jwks.json").rename(tmp_path / "gone.json")
    await authenticator._tried_refresh()

    assert (await authenticator.authenticate(f"Bearer {key.mint('x', Role.SERVICE, 'table')}")).subject == "x"


def test_a_source_of_tokens_renews_them_at_half_time(monkeypatch):
    key, now = SigningKey.generate(), [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    source = TokenSource(key, "wallet", Role.SERVICE, "table", seconds=100)

    first = source()
    now[0] += 49
    assert source() == first
    now[0] += 2
    assert source() != first
