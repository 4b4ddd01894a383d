"""What a bot's token opens, method by method as the contracts say it (S3)."""

from __future__ import annotations

import importlib
import pkgutil

import pytest
from google.protobuf.descriptor import FileDescriptor

import diwan.api
from diwan.chassis.access import Caller, Role, Rule, permit, sweep
from diwan.core.decider import Rejected

BOTS_MAY_CALL = {
    f"/diwan.api.table.v1.TableService/{method}"
    for method in (
        *("GetTable", "ListTables", "SitDown", "TopUp", "SetSittingOut", "StandUp"),
        *(
            "Act",
            "UsePower",
            "AnswerAnchor",
            "ActCapsa",
            "SetPairStake",
            "Watch",
            "Play",
            "OpenHand",
            "GetHand",
            "ListMyHands",
            "GetMyHand",
            "GetReplay",
        ),
    )
}


def every_method() -> dict[str, Rule]:
    """Return the access rules of every method of every contract there is."""
    found = {}
    for module in pkgutil.walk_packages(diwan.api.__path__, "diwan.api."):
        if module.name.endswith("_service_pb2"):
            descriptor: FileDescriptor = importlib.import_module(module.name).DESCRIPTOR
            found.update(sweep(descriptor.services_by_name.values()))
    return found


def test_a_bot_may_call_what_a_player_at_a_table_may_and_nothing_else():
    """Given every method of every service, then a bot is let in at the table alone, never further than a player."""
    methods = every_method()
    bot, player = Caller(subject="bot:amal-01", role=Role.BOT), Caller(subject="ann", role=Role.PLAYER)

    for name in BOTS_MAY_CALL:
        permit(methods[name], bot)
        permit(methods[name], player)
    for name in methods.keys() - BOTS_MAY_CALL:
        with pytest.raises(Rejected, match="PERMISSION_DENIED"):
            permit(methods[name], bot)


def test_the_sweep_reaches_every_service():
    """Were a contract added whose methods the sweep does not see, it would prove nothing about it."""
    services = {name.split("/")[1].rpartition(".")[2] for name in every_method()}

    assert services >= {"TableService", "WalletService", "BotsService", "AuditService", "FeedService"}


@pytest.mark.parametrize("role", [Role.PLAYER, Role.BOT, Role.AUDITOR, Role.BACKEND])
def test_what_bots_do_is_told_to_operators_and_services_alone(role):
    rule = every_method()["/diwan.api.bots.v1.BotsService/GetStatus"]

    with pytest.raises(Rejected, match="PERMISSION_DENIED"):
        permit(rule, Caller(subject="somebody", role=role))
