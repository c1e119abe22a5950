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


def keep_jobs(start, data, topic):
    server = start(data=data)
    for i in range(30):
        server.schedule(topic=topic, jobId=str(i), url="http://127.0.0.1:9/", delay=3600)
    server.terminate()
    return data / "appendonlydir"


def test_files_without_their_manifest_stop_the_start(start, data, topic):
    """A backup was restored without the manifest. redis-server would start without the jobs, and append behind them."""
    folder = keep_jobs(start, data, topic)
    manifest = folder / "appendonly.aof.manifest"
    kept = manifest.read_bytes()
    manifest.unlink()
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    result = run("--data", str(data), "--listen", "127.0.0.1:0")
    assert result.returncode > 0 and "appendonly.aof.manifest" in result.stderr and "move the folder away" in result.stderr
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before
    manifest.write_bytes(kept)
    assert start(data=data).get(f"/jobs/count?topic={topic}").expect(200)["count"] == 30


def test_a_history_beside_no_files_of_jobs_is_a_warning(start, data, receiver, topic):
    server = start("--history", "sqlite", data=data)
    assert "event=jobs_files_missing " not in server.log()
    server.schedule(topic=topic, jobId="a", url=receiver.url())
    until(lambda: server.get(f"/jobs/count?topic={topic}&state=delivered").expect(200)["count"] == 1, 10, "the history")
    server.terminate()
    shutil.rmtree(data / "appendonlydir")
    assert "event=jobs_files_missing " in start("--history", "sqlite", data=data).log()


@pytest.mark.parametrize("zeros", [1, 4096])
def test_zeros_at_the_end_of_the_file_are_cut(start, data, topic, zeros):
    folder = keep_jobs(start, data, topic)
    (last,) = folder.glob("*.incr.aof")
    with last.open("ab") as file:
        file.write(bytes(zeros))
    server = start(data=data)
    assert f"event=append_only_file_cut bytes={zeros}" in server.log()
    assert server.get(f"/jobs/count?topic={topic}").expect(200)["count"] == 30


def test_garbage_in_the_middle_of_the_file_stops_the_start_with_redis_last_words(start, data, topic):
    folder = keep_jobs(start, data, topic)
    (last,) = folder.glob("*.incr.aof")
    whole = last.read_bytes()
    last.write_bytes(whole[:len(whole) // 2] + b"garbage" + whole[len(whole) // 2:])
    result = run("--data", str(data), "--listen", "127.0.0.1:0")
    assert result.returncode > 0
    assert "says why: Bad file format reading the append only file" in result.stderr, result.stderr


def test_a_second_duepost_is_refused_although_the_lock_file_was_deleted(start, data):
    server = start(data=data)
    (data / "duepost.lock").unlink()
    result = run("--data", str(data), "--listen", "127.0.0.1:0")
    assert result.returncode > 0 and "another duepost already uses" in result.stderr
    server.get("/readyz").expect(200)
