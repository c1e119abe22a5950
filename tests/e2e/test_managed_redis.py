"""Managed services disable commands, databases and parts of INFO, and close idle connections."""

import re
import socket
import threading
import time

import pytest

from duepost import run
from patience import until

# The commands that each service does not have, from the documentation of the services: "restricted commands" of
# ElastiCache and MemoryDB, "product constraints" of Memorystore for Redis, and the command reference of Upstash.
TAKEN_AWAY = {
    "elasticache": "bgrewriteaof bgsave config debug migrate replicaof save slaveof shutdown sync",
    "memorydb": "acl bgrewriteaof bgsave cluster|addslots cluster|delslots cluster|setslot config debug migrate module psync replicaof save "
                "shutdown slaveof sync",
    "memorystore": "acl bgrewriteaof bgsave client cluster command config debug lastsave migrate monitor object shutdown replicaof save",
    "upstash": "bgrewriteaof bgsave cluster debug failover lastsave latency memory migrate module psync replicaof role save shutdown slaveof "
               "slowlog swapdb sync",
}
RENAMED = [word for name in ("config", "debug", "shutdown", "monitor", "client", "object", "migrate", "save", "bgsave", "acl", "cluster")
           for word in ("--rename-command", name, "")]


class Proxy:
    """A proxy in front of a Redis that simulates a service: it removes the hidden fields from the answers to INFO."""

    def __init__(self, redis, *hidden):
        self.redis, self.hidden = redis, hidden
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.place = f"127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def stop(self):
        self.listener.close()

    def _accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            far = socket.create_connection(("127.0.0.1", self.redis.port))
            threading.Thread(target=self._carry, args=(near, far, False), daemon=True).start()
            threading.Thread(target=self._carry, args=(far, near, True), daemon=True).start()

    def _carry(self, source, sink, is_reply):
        try:
            while data := source.recv(1 << 20):
                while is_reply and (begun := re.search(rb"\$(\d+)\r\n# Server\r\n", data)) and len(data) < begun.end(1) + 4 + int(begun[1]):
                    data += source.recv(1 << 20)
                sink.sendall(self._edit(data) if is_reply else data)
        except OSError:
            pass
        for link in (source, sink):
            try:
                link.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def _edit(self, data):
        begun = re.search(rb"\$(\d+)\r\n(?=# Server\r\n)", data)
        if not begun:
            return data
        end = begun.end() + int(begun[1])
        info = data[begun.end():end]
        for name in self.hidden:
            info = re.sub(rb"(?m)^%s:.*\r\n" % name.encode(), b"", info)
        return data[:begun.start()] + b"$%d\r\n" % len(info) + info + data[end:]


def uses_everything(server, receiver, topic):
    """Uses the main features: a retry, a dead job that is run again, a cancel, a schedule and lists."""
    receiver.script(topic, 500, 200, job_id="retried")
    receiver.script(topic, 410, 200, job_id="dead")
    server.schedule(topic=topic, jobId="retried", url=receiver.url(), retrySchedule=[0.05])
    server.schedule(topic=topic, jobId="dead", url=receiver.url())
    server.schedule(topic=topic, jobId="far", url=receiver.url(), delay=600)
    server.wait_for_state(topic, "retried", None)
    server.wait_for_state(topic, "dead", "dead")
    server.run(topic, "dead").expect(202)
    server.wait_for_state(topic, "dead", None)
    server.cancel(topic, "far").expect(200)
    for target in "/jobs?state=dead", "/topics", "/receivers", "/overview":
        server.get(target).expect(200)


def warnings_of(server):
    return set(re.findall(r"level=(?:warning|error) event=(\w+)", server.log())) - {"job_dead"}


@pytest.mark.parametrize("service", TAKEN_AWAY)
@pytest.mark.parametrize("trust", [False, True], ids=["", "trusted"])
def test_commands_that_services_take_away(start, redis, receiver, topic, service, trust):
    behind = redis(tcp=True)
    denied = ["-" + name for name in TAKEN_AWAY[service].split()]
    assert behind.command("ACL", "SETUSER", "duepost", "on", ">pw", "~*", "&*", "+@all", *denied) == b"+OK\r\n"
    options = ["--durability", "fsync", "--trust-durability", "on"] if trust else []
    server = start(*options, extra={"DUEPOST_REDIS": f"redis://duepost:pw@{behind.place}"}, data=None)
    uses_everything(server, receiver, topic)
    if "config" in TAKEN_AWAY[service].split():
        assert warnings_of(server) == {"durability_is_trusted" if trust else "durability_is_unknown"}, server.log()
    else:
        assert warnings_of(server) == set() and server.get("/readyz").json["durability"]["inForce"] == "fsync", server.log()
    assert server.terminate() == 0


def test_commands_that_are_renamed_away(start, redis, receiver, topic):
    behind = redis(tcp=True, options=RENAMED)
    server = start(redis=behind)
    uses_everything(server, receiver, topic)
    assert warnings_of(server) == {"durability_is_unknown"}, server.log()
    assert server.terminate() == 0


def test_only_database_0(start, redis, receiver, topic):
    behind = redis(tcp=True, options=["--databases", "1"])
    server = start(redis=f"redis://{behind.place}")
    uses_everything(server, receiver, topic)
    other = start(redis=f"redis://{behind.place}/1", ready=False)
    until(lambda: "DB index is out of range" in other.get("/readyz").body.decode(), 10, lambda: other.get("/readyz").body)
    assert re.search(r"event=not_ready why=.*DB index is out of range", other.log()), other.log()


@pytest.fixture
def proxy():
    made = []

    def one(*arguments):
        made.append(Proxy(*arguments))
        return made[-1]
    yield one
    for each in made:
        each.stop()


def test_a_field_that_info_lacks_is_a_warning(start, redis, proxy, receiver, topic):
    behind = redis(tcp=True)
    hiding = proxy(behind, "maxmemory_policy", "role", "aof_last_write_status", "used_memory", "maxmemory", "total_system_memory")
    server = start(redis=f"redis://{hiding.place}")
    uses_everything(server, receiver, topic)
    assert warnings_of(server) == {"eviction_is_unknown"}, server.log()
    assert "INFO of this Redis has no maxmemory_policy" in server.log()
    checked = run("check", "--redis", f"redis://{hiding.place}", "--listen", "127.0.0.1:0", seconds=20)
    assert re.search(r"^warn +eviction +not checked", checked.stdout, re.M) and checked.returncode == 0, checked.stdout


def test_without_its_version_a_redis_is_not_used(redis, proxy):
    ended = run("--listen", "127.0.0.1:0", "--redis", f"redis://{proxy(redis(tcp=True), 'redis_version').place}")
    assert ended.returncode == 1 and "Redis does not say its version (redis_version in INFO); duepost needs 7.0" in ended.stderr, ended.stderr


def clients(behind):
    return {line.split()[0] for line in behind.command("CLIENT", "LIST").decode().splitlines() if "id=" in line and "unixsocket" not in line
            and " laddr=127" in line}


def test_idle_connections_are_kept_open(start, redis):
    """Redis closes connections that are idle for 8 s. duepost's connections are never idle for that long."""
    behind = redis(tcp=True, options=["--timeout", "8"])
    server = start("--reactors", "1", redis=behind)
    before = clients(behind)
    assert len(before) >= 5, before
    time.sleep(13)
    assert clients(behind) >= before
    assert "redis_lost" not in server.log() and server.get("/readyz").status == 200
