"""A primary, two replicas and three Sentinels, laid out as in docs/high-availability.md."""

import socket
import subprocess

from patience import SLOW, until
import processes
from redis_server import RedisServer
import scratch

DOWN_AFTER_MS = 1000
QUORUM = 2


class Sentinel:
    """A Sentinel next to a node, on its host."""

    def __init__(self, host, primary, down_after_ms, tls=None, lines=(), login=()):
        """lines: further lines of its configuration. login: the arguments of AUTH, for a Sentinel that requires it."""
        directory = scratch.directory("sentinel")
        self.host, self.port, self.tls, self.login = host, host.port(26379), tls, login
        config = directory / "sentinel.conf"
        ports = tls.configuration(self.port) if tls else f"port {self.port}\n"
        self.config = config
        config.write_text(f"{ports}bind {host.address}\ndir {directory}\n"
                          f"sentinel monitor main {primary.host.address} {primary.port} {QUORUM}\n"
                          f"sentinel down-after-milliseconds main {down_after_ms}\n"
                          "sentinel failover-timeout main 5000\n" + "".join(f"{line}\n" for line in lines))
        self.start()

    def start(self):
        with self.config.with_name("log").open("a") as log, self.host:
            self.process = subprocess.Popen(["redis-server", str(self.config), "--sentinel"], stdout=log, stderr=log)

    @property
    def place(self):
        return f"{self.host.address}:{self.port}"

    def ask(self, *words):
        """Sends a command from the Sentinel's own host, so this works even when other hosts cannot be reached."""
        with self.host, socket.create_connection((self.host.address, self.port), timeout=5 * SLOW) as plain:
            link = self.tls.wrap(plain) if self.tls else plain
            if self.login:
                link.sendall(RedisServer.encode("AUTH", *self.login))
                assert link.recv(100) == b"+OK\r\n"
            link.sendall(RedisServer.encode(*words))
            return link.recv(1 << 20)

    def knows(self, replicas, sentinels):
        try:
            return b"slaves=%d,sentinels=%d" % (replicas, sentinels) in self.ask("INFO", "sentinel")
        except OSError:
            return False

    def primary(self):
        """Returns the address of the primary that this Sentinel names."""
        words = self.ask("SENTINEL", "get-master-addr-by-name", "main").decode().split("\r\n")
        return f"{words[2]}:{words[4]}"

    def stop(self):
        processes.end(self.process.pid)
        self.process.wait()


class Sentinels:
    """hosts: one host for each pair of a node and its Sentinel. options: further options of each node. lines
    and login: see Sentinel."""

    def __init__(self, replicas=2, hosts=None, down_after_ms=DOWN_AFTER_MS, tls=None, options=(), lines=(), login=()):
        count = replicas + 1
        self.nodes = [RedisServer(tcp=True, host=hosts and hosts[i], tls=tls, options=["--repl-diskless-sync-delay", "0", *options])
                      for i in range(count)]
        first = self.nodes[0]
        for node in self.nodes[1:]:
            node.command("REPLICAOF", first.host.address, str(first.port))
        until(lambda: first.replicas_online() == replicas, 20, "replicas")
        self.sentinels = [Sentinel(node.host, first, down_after_ms, tls, lines, login) for node in self.nodes]
        places = ",".join(sentinel.place for sentinel in self.sentinels)
        self.address = f"sentinel{'s' if tls else ''}://{places}/main"
        until(lambda: all(sentinel.knows(replicas, count) for sentinel in self.sentinels), 30, "Sentinels know each other")

    def primary(self):
        """Returns the node that the first Sentinel names as the primary."""
        place = self.sentinels[0].primary()
        return next(node for node in self.nodes if node.place == place)

    def await_whole(self, seconds=40):
        """Waits until all Sentinels name the same node as the primary, and the other nodes are its
        replicas."""
        def is_whole():
            primaries = [node for node in self.nodes if node.is_primary()]
            return (len(primaries) == 1 and primaries[0].replicas_online() == len(self.nodes) - 1
                    and all(sentinel.primary() == primaries[0].place for sentinel in self.sentinels))
        until(is_whole, seconds, lambda: [(sentinel.primary(), node.command("INFO", "replication"))
                                          for sentinel, node in zip(self.sentinels, self.nodes)])

    def fail_over(self):
        assert self.sentinels[0].ask("SENTINEL", "FAILOVER", "main").startswith(b"+OK")

    def stop(self):
        for each in (*self.sentinels, *self.nodes):
            each.stop()
