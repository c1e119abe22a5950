"""The program of the private Redis: the one that --embedded-server names; by default redis-server, or else
valkey-server."""

import os
import pathlib
import shutil

import pytest

from duepost import BINARY, run
from patience import until
import processes

REDIS = pathlib.Path(shutil.which("redis-server"))
VALKEY = shutil.which("valkey-server")
OLD = "#!/bin/sh\necho 'Redis server v=6.2.7 sha=00000000:0 malloc=jemalloc-5.2.1 bits=64'\n"


@pytest.fixture
def folder(tmp_path):
    """A folder that is the only one in PATH."""
    made = tmp_path / "bin"
    made.mkdir()
    return made


def script(path, text):
    path.write_text(text)
    path.chmod(0o755)


def program_of(server):
    """Returns the program name in the command line of the server's private Redis."""
    (pid,) = server.redis_pids()
    return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b" ")[0].decode().rpartition("/")[2]


def started(server):
    return [line for line in server.log().splitlines() if "event=embedded_redis_started" in line]


def path_of(folder):
    return {"PATH": str(folder)}


def test_valkey_is_used_without_redis(start, folder, data, receiver, topic):
    (folder / "valkey-server").symlink_to(VALKEY or REDIS)
    server = start(extra=path_of(folder), data=data)
    server.schedule(topic=topic, jobId="1", url=receiver.url(), delay=600)
    assert program_of(server) == "valkey-server" and "program=valkey-server" in started(server)[0]
    processes.end(server.redis_pids()[0])
    until(lambda: len(started(server)) == 2 and server.get("/readyz").status == 200, 20, "started again")
    assert program_of(server) == "valkey-server" and server.job(topic, "1")["state"] == "delayed"
    assert server.terminate() == 0


def test_redis_comes_first_and_an_old_one_is_passed_over(start, folder):
    (folder / "valkey-server").symlink_to(VALKEY or REDIS)
    (folder / "redis-server").symlink_to(REDIS)
    assert program_of(start(extra=path_of(folder))) == "redis-server"
    (folder / "redis-server").unlink()
    script(folder / "redis-server", OLD)
    assert program_of(start(extra=path_of(folder))) == "valkey-server"


@pytest.mark.parametrize("is_relative", [False, True])
def test_a_program_of_the_operators_choice(start, folder, tmp_path, is_relative):
    own = tmp_path / "redis-of-ours"
    shutil.copy(REDIS.resolve(), own)
    script(folder / "redis-server", OLD)
    through = ("/bin/sh", "-c", 'cd "$0" && exec "$@"', str(tmp_path)) if is_relative else ()
    server = start("--embedded-server", "./redis-of-ours" if is_relative else str(own), extra=path_of(folder), through=through,
                   binary=os.path.abspath(BINARY))
    (pid,) = server.redis_pids()
    assert os.readlink(f"/proc/{pid}/exe") == str(own)
    assert f"program={tmp_path}" in started(server)[0]


def test_a_program_that_does_not_serve(folder, tmp_path):
    """The error has the reason, and the option that changes it."""
    def refused(*options):
        result = run("--data", str(tmp_path / "data"), "--listen", "127.0.0.1:0", *options, extra=path_of(folder))
        assert result.returncode == 1
        return result.stderr
    assert "redis-server is not installed: install it" in refused() and "valkey-server" in refused()
    assert f"{tmp_path}/none is not installed; see --embedded-server" in refused("--embedded-server", str(tmp_path / "none"))
    script(folder / "redis-server", OLD)
    assert "redis-server is version 6.2.7; duepost needs 7.0 or newer" in refused()
    script(folder / "other", "#!/bin/sh\necho hello\n")
    assert "other --version does not print a version; is it Redis?" in refused("--embedded-server", "other")
    (folder / "other").chmod(0o644)
    assert "Permission denied; see --embedded-server" in refused("--embedded-server", str(folder / "other"))
    assert not (tmp_path / "data").exists()


if VALKEY:  # Debian has Valkey since version 13
    def test_valkey_itself(start, data, receiver, topic):
        for _ in range(2):
            server = start("--embedded-server", VALKEY, data=data)
            server.schedule(topic=topic, url=receiver.url())
            assert program_of(server) == "valkey-server"
            assert server.terminate() == 0
        until(lambda: receiver.count(topic) == 2, 10, "delivered")
