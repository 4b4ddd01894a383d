"""How the table service reaches the wallet."""

from contextlib import AsyncExitStack

import grpc

from diwan.chassis.keys import SigningKey
from services.table.app import NoWallet, _wallet
from services.table.settings import TableSettings
from services.table.wallet import GrpcWallet


async def asked_how(monkeypatch, **settings):
    """Return the wallet that a service of these settings asks, and the channels that it opens."""
    opened = []
    for kind in ("insecure_channel", "secure_channel"):
        make = getattr(grpc.aio, kind)
        monkeypatch.setattr(grpc.aio, kind, lambda *of, kind=kind, make=make: opened.append(kind) or make(*of))
    async with AsyncExitStack() as stack:
        return await _wallet(TableSettings(**settings), stack), opened


async def test_without_an_address_nobody_is_asked(monkeypatch):
    wallet, opened = await asked_how(monkeypatch)

    assert isinstance(wallet, NoWallet)
    assert not opened


async def test_under_mtls_the_wallet_is_asked_with_the_services_own_certificate(monkeypatch, tmp_path):
    key = tmp_path / "service.pem"
    SigningKey.generate().save(key)
    files = {f"tls_{name}_file": tmp_path / f"{name}.pem" for name in ("certificate", "key", "client_ca")}
    for file in files.values():
        file.write_bytes(b"-----BEGIN CERTIFICATE-----\n")
    plain = {"wallet_address": "127.0.0.1:1", "service_key_file": key}

    wallet, opened = await asked_how(monkeypatch, **plain)
    assert isinstance(wallet, GrpcWallet)
    assert opened == ["insecure_channel"]

    _, opened = await asked_how(monkeypatch, **plain, **files)
    assert opened == ["secure_channel"]
