"""The build hook: stubs and types are made from the contracts, again only when something changed."""

import importlib.util
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PROTO = """
syntax = "proto3";
package diwan.api.planted.v1;
import "google/api/field_info.proto";
service PlantedService { rpc Do(DoRequest) returns (DoResponse); }
message DoRequest { string request_id = 1 [(google.api.field_info).format = UUID4]; }
message DoResponse { }
"""


@pytest.fixture
def hook():
    spec = importlib.util.spec_from_file_location("build_hook", ROOT / "build_hook.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def project(tmp_path):
    """A project with one contract, in a folder with a space in its name."""
    root = tmp_path / "a project"
    write(root, PROTO)
    (root / "diwan").mkdir()
    (root / "diwan" / "__init__.py").touch()
    return root


def write(root: Path, text: str, name: str = "planted_service") -> Path:
    proto = root / "protos" / "diwan" / "api" / "planted" / "v1" / f"{name}.proto"
    proto.parent.mkdir(parents=True, exist_ok=True)
    proto.write_text(text)
    return proto


def stubs(root: Path) -> set[str]:
    return {path.name for path in (root / "diwan/api/planted/v1").iterdir() if path.name != "__pycache__"}


def test_stubs_and_types_are_importable_packages(hook, project):
    assert hook.generate(project) is True

    made = {f"planted_service_pb2{ending}" for ending in (".py", ".pyi", "_grpc.py", "_grpc.pyi")}
    assert stubs(project) == made | {"__init__.py"}
    program = "from diwan.api.planted.v1 import planted_service_pb2_grpc as stub; print(stub.PlantedServiceStub)"
    done = subprocess.run([sys.executable, "-c", program], cwd=project, capture_output=True, text=True, check=False)
    assert "PlantedServiceStub" in done.stdout, done.stderr


def test_googles_protos_are_laid_out_for_buf(hook, project):
    hook.generate(project)
    assert (project / ".cache/protos/google/api/field_info.proto").is_file()
    assert (project / ".cache/protos/google/rpc/error_details.proto").is_file()


def test_nothing_is_done_when_nothing_changed_and_all_when_a_contract_did(hook, project):
    hook.generate(project)
    assert hook.generate(project) is False

    write(project, PROTO.replace("DoResponse { }", "DoResponse { int64 chips = 1; }"))

    assert hook.generate(project) is True
    assert "chips" in (project / "diwan/api/planted/v1/planted_service_pb2.pyi").read_text()


def test_of_two_that_are_started_at_once_one_waits_for_the_other(hook, project):
    with ThreadPoolExecutor(4) as at_once:
        made = list(at_once.map(hook.generate, [project] * 4))
    assert sorted(made) == [False, False, False, True]
    assert "planted_service_pb2.py" in stubs(project)


def test_an_interrupted_generation_is_done_again(hook, project):
    hook.generate(project)
    (project / "diwan/api/.stamp").unlink()
    assert hook.generate(project) is True


def test_the_stubs_of_a_contract_that_is_gone_are_gone_too(hook, project):
    gone = write(project, PROTO.replace("Planted", "Other").replace("Do", "Be"), name="other_service")
    hook.generate(project)
    assert "other_service_pb2.py" in stubs(project)

    gone.unlink()
    hook.generate(project)

    assert "other_service_pb2.py" not in stubs(project)


def test_a_contract_that_does_not_compile_stops_the_build_and_is_named(hook, project):
    hook.generate(project)
    write(project, "syntax = nonsense", name="broken")
    with pytest.raises(SystemExit, match=r"broken\.proto"):
        hook.generate(project)
    assert "planted_service_pb2.py" in stubs(project), "the last good stubs stay"


def test_without_contracts_there_is_nothing_to_do(hook, tmp_path):
    assert hook.generate(tmp_path) is False
    assert list(tmp_path.iterdir()) == []
