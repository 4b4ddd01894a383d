"""What a service's process is told, and what it is not."""

from diwan.cli.stack.environment import environment_of


def test_a_service_finds_the_libraries_of_its_python_and_learns_no_other_secret(monkeypatch):
    monkeypatch.setenv("LD_LIBRARY_PATH", "/opt/python/lib")
    monkeypatch.setenv("SOMEBODYS_PASSWORD", "x")
    environment = environment_of("bots", {"listen": "127.0.0.1:1"})
    assert environment["LD_LIBRARY_PATH"] == "/opt/python/lib"
    assert environment["DIWAN_BOTS_LISTEN"] == "127.0.0.1:1"
    assert "SOMEBODYS_PASSWORD" not in environment
