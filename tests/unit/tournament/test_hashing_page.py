"""The page of hash inputs holds for what a tournament draws, too."""

from pathlib import Path

from diwan.core.hashing import hashed, uuid_bytes
from diwan.core.tournament.seating import BUTTON_LABEL, PLACES_LABEL, SEATS_LABEL
from diwan.core.tournament.seeds import ENTRANTS_LABEL, SEED_LABEL, entrants_digest, entry_seed_commitment
from diwan.core.tournament.settings import EntryTerms
from diwan.core.tournament.spin import LABEL
from tests.property.tournament_fields import scheduled
from tests.property.tournament_sim import START_MS, TOURNAMENT_ID
from tests.unit.tournament.floor import Floor

PAGE = (Path(__file__).parents[3] / "docs/reference/hashing.md").read_text()


def test_the_digest_of_the_entrants_is_the_one_of_the_page():
    floor = Floor(scheduled(entries=EntryTerms(starts_at_ms=START_MS + 1)), play=False)
    for player in ("ann", "ben", "bot:3"):
        floor.enter(player)
    digest = entrants_digest(floor.state).hex()

    assert f"entrants_digest   = {digest}\n" in PAGE
    assert f"tournament        = {TOURNAMENT_ID}\n" in PAGE
    assert digest == hashed(ENTRANTS_LABEL, uuid_bytes(TOURNAMENT_ID), "ann", "ben", "bot:3").hex()


def test_the_commitment_to_an_entrants_seed_is_the_one_of_the_page():
    seed = bytes.fromhex("10" * 32)
    commitment = entry_seed_commitment(TOURNAMENT_ID, "ann", seed)

    assert f"entry_seed        = {seed.hex()}\n" in PAGE
    assert f"seed_commitment   = {commitment.hex()}\n" in PAGE
    assert commitment == hashed(SEED_LABEL, uuid_bytes(TOURNAMENT_ID), "ann", seed)


def test_every_label_stands_on_the_page():
    for label in (LABEL, PLACES_LABEL, SEATS_LABEL, BUTTON_LABEL, ENTRANTS_LABEL, SEED_LABEL):
        assert label in PAGE
