"""Settings are read once, are strict, and can be shown."""

from pathlib import Path

import pytest
from pydantic import SecretStr, ValidationError

from diwan.chassis.settings import ServiceSettings, needed, settings_config, split_address, without_password


class HouseSettings(ServiceSettings):
    model_config = settings_config("house")

    service: str = "house"
    rooms: int = 2


def test_the_environment_is_read_under_the_prefix_of_the_service(monkeypatch):
    monkeypatch.setenv("DIWAN_HOUSE_ROOMS", "7")
    monkeypatch.setenv("DIWAN_OTHER_ROOMS", "9")
    monkeypatch.setenv("DIWAN_HOUSE_DATABASE_URL", "postgresql://house_rw:swordfish@db/diwan_house")

    settings = HouseSettings()

    assert settings.rooms == 7
    assert needed(settings.database_url, "database_url") == "postgresql://house_rw:swordfish@db/diwan_house"


def test_what_is_shown_holds_no_password():
    settings = HouseSettings(
        database_url=SecretStr("postgresql://house_rw:swordfish@db:5432/diwan_house?sslpassword=swordfish"),
        nats_url="nats://house:swordfish@bus:4222",
        nats_password=SecretStr("swordfish"),
        service_key_file=Path("key.pem"),
    )

    shown = settings.effective()

    assert "swordfish" not in repr(shown)
    assert "swordfish" not in repr(settings).replace("nats://house:swordfish", "")
    assert shown["database_url"] == "postgresql://house_rw:***@db:5432/diwan_house?***"
    assert shown["rooms"] == 2
    assert shown["service_key_file"] == "key.pem"


@pytest.mark.parametrize(
    "wrong",
    [
        {"listen": "nowhere"},
        {"listen": "127.0.0.1:70000"},
        {"room": 3},
        {"tls_key_file": "key.pem"},
        {"tls_client_ca_file": "ca.pem"},
        {"jwks_file": "a.json", "jwks_url": "https://issuer/jwks"},
        {"jwks_url": "file:///etc/passwd"},
        {"service": "Not A Name"},
        {"player_token_seconds_max": 0},
    ],
)
def test_wrong_settings_are_refused(wrong):
    with pytest.raises(ValidationError):
        HouseSettings(**wrong)


def test_settings_do_not_change():
    with pytest.raises(ValidationError):
        HouseSettings().rooms = 5


def test_an_error_about_a_setting_does_not_repeat_it():
    with pytest.raises(ValidationError) as caught:
        HouseSettings(database_connections="swordfish")

    assert "swordfish" not in str(caught.value)


def test_a_missing_secret_is_named():
    with pytest.raises(ValueError, match="database_url"):
        needed(None, "database_url")


def test_addresses_and_urls():
    assert split_address("[::1]:80") == ("::1", 80)
    assert without_password("nats://bus:4222") == "nats://bus:4222"
    assert without_password("postgresql://a@db/x") == "postgresql://a@db/x"
