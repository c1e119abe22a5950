"""A disk that fills up, under the private Redis and under a Redis of the operator. The disk is a tmpfs in the
server's own mount namespace, so the rest of the machine does not see it."""

import pathlib
import subprocess

import pytest

from duepost import BINARY, environment
from patience import SLOW, until

ON_SMALL_DISK = ("unshare", "--mount", "sh", "-c", 'mount -t tmpfs -o size=3m,mode=700 none "$0" && exec "$@"')
FILL = "x" * 20000

pytestmark = pytest.mark.skipif(subprocess.run(["unshare", "--mount", "true"], check=False, capture_output=True).returncode != 0,
                                reason="no mounts of the test's own")


def resize(pid, directory, size):
    subprocess.run(["nsenter", "-t", str(pid), "-m", "-r", "mount", "-o", f"remount,size={size}", str(directory)], check=True)


def within(server, name):
    """Returns a path by which the test, outside the server's mount namespace, reaches a file on the server's disk."""
    return pathlib.Path(f"/proc/{server.pid}/root{server.data}/{name}")


def why_not_ready(server):
    """Returns the detail of /readyz, or None if the server is ready."""
    reply = server.get("/readyz")
    return None if reply.status == 200 else reply.expect(503)["detail"]


def fill(server, topic, receiver):
    """Posts jobs until one is refused. Returns how many were accepted."""
    for number in range(400):
        reply = server.post({"topic": topic, "jobId": f"fill{number}", "url": receiver.url(), "body": FILL, "delay": 600}, check=False)
        if reply.status != 201:
            return number
    raise AssertionError("the disk is not full")


def test_a_full_disk_of_the_private_redis(start, data, receiver, topic):
    """Redis waits for room instead of dying at each write; /readyz, the answers 503 and the log name the disk."""
    server = start(data=data, through=(*ON_SMALL_DISK, str(data)))
    accepted = fill(server, topic, receiver)
    until(lambda: "the disk of the private Redis is full (--data)" in (why_not_ready(server) or ""), 10, "not ready")
    detail = server.post({"topic": topic, "url": receiver.url()}).expect(503)["detail"]
    assert "the disk of the private Redis is full (--data); it starts again when 1 MiB is free" in detail
    died = [line for line in server.log().splitlines() if "event=embedded_redis_died" in line]
    assert len(died) == 1 and "writing to the AOF file" in died[0] and "Can't recover from AOF write error" in died[0], died
    refused = [line for line in server.log().splitlines() if "event=embedded_redis_not_started" in line]
    assert len(refused) == 1 and f"data={data}" in refused[0] and "level=error" in refused[0], refused
    assert server.get("/healthz").status == 200
    resize(server.pid, data, "20m")
    until(lambda: why_not_ready(server) is None, 10, "ready once there is room")
    server.schedule(topic=topic, jobId="after", url=receiver.url())
    until(lambda: receiver.count(topic) == 1, 10, "delivered")
    for number in (0, accepted - 1):
        assert server.job(topic, f"fill{number}")["state"] == "delayed"
    assert server.log().count("event=embedded_redis_died") == 1
    assert not within(server, "duepost.room").exists()
    assert server.terminate() == 0


def test_a_start_on_a_full_disk(start, data, receiver, topic):
    """The server starts, says why it is not ready, and serves when there is room."""
    full = 'mount -t tmpfs -o size=3m,mode=700 none "$0" && { dd if=/dev/zero of="$0/ballast" bs=1M count=9 2>/dev/null; exec "$@"; }'
    server = start(data=data, through=("unshare", "--mount", "sh", "-c", full, str(data)), ready=False)
    assert "the disk of the private Redis is full (--data)" in why_not_ready(server)
    assert not within(server, "redis.sock").exists()
    resize(server.pid, data, "20m")
    until(lambda: why_not_ready(server) is None, 10, "ready once there is room")
    server.schedule(topic=topic, url=receiver.url())
    until(lambda: receiver.count(topic) == 1, 10, "delivered")


def test_a_full_disk_of_the_operators_redis(start, redis, receiver, topic):
    """Redis refuses writes with MISCONF: /readyz has its error until there is room."""
    behind = redis(options=("--appendfsync", "everysec"))
    behind.kill()
    disk = behind.directory / "disk"
    disk.mkdir()
    command = ["redis-server", "--port", "0", "--unixsocket", str(behind.socket), "--dir", str(disk), "--save", "",
               "--appendonly", "yes", "--appendfsync", "everysec", "--maxmemory-policy", "noeviction"]
    behind.process = subprocess.Popen([*ON_SMALL_DISK, str(disk), *command], stdout=subprocess.DEVNULL)
    until(lambda: behind.try_command("PING") == b"+PONG\r\n", 10, "redis-server answers")
    server = start("--durability", "memory", redis=behind)
    fill(server, topic, receiver)
    until(lambda: "MISCONF" in (why_not_ready(server) or ""), 10, "not ready")
    assert "No space left on device" in server.post({"topic": topic, "url": receiver.url()}).expect(503)["detail"]
    assert b"\nduepost_redis_up 0\n" in server.get("/metrics").body
    resize(behind.process.pid, disk, "20m")
    until(lambda: why_not_ready(server) is None, 10, "ready once there is room")
    assert b"\nduepost_redis_up 1\n" in server.get("/metrics").body
    server.schedule(topic=topic, url=receiver.url())
    until(lambda: receiver.count(topic) == 1, 10, "delivered")


def test_duepost_check_names_a_full_disk(data):
    """If the data directory does not exist yet, the check examines the disk of the folder in which the directory will
    be created."""
    def line(size, used, folder=""):
        on_disk = 'mount -t tmpfs -o size="$0",mode=700 none "$1" && head -c "$2" /dev/zero >"$1/ballast" && shift 2 && exec "$@"'
        done = subprocess.run(["unshare", "--mount", "sh", "-c", on_disk, size, str(data), used, BINARY, "check", "--listen",
                               "127.0.0.1:0", "--data", f"{data}{folder}"], env=environment(), capture_output=True, text=True, timeout=40 * SLOW,
                              check=False)
        (found,) = [text.split(None, 2) for text in done.stdout.splitlines() if text.split()[1] == "disk"]
        return done.returncode, found
    code, (word, _, text) = line("3m", "2500000")
    assert (code, word) == (1, "FAIL") and text == f"the disk of {data} is full; the private Redis does not run until 1 MiB is free"
    code, (word, _, text) = line("20m", "2500000")
    assert (code, word) == (0, "warn") and text.startswith(f"17 MiB are free in {data}")
    code, (word, _, text) = line("400m", "0")
    assert (code, word) == (0, "ok") and text == f"400 MiB are free in {data}"
    code, (word, _, text) = line("3m", "2500000", "/not/there")
    assert (code, word) == (1, "FAIL") and text == f"the disk of {data} is full; the private Redis does not run until 1 MiB is free"
