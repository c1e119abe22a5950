"""A primary, two replicas and three Sentinels, as the README's layout has them."""

import socket
import subprocess

from patience import SLOW, until
import processes
from redis_server import RedisServer, free_port
import scratch

DOWN_AFTER_MS = 1000


class Sentinels:
    def __init__(self, replicas=2, sentinels=3):
        self.nodes = [RedisServer(tcp=True) for _ in range(replicas + 1)]
        for node in self.nodes[1:]:
            node.command("REPLICAOF", "127.0.0.1", str(self.nodes[0].port))
        until(lambda: b"connected_slaves:%d" % replicas in self.nodes[0].command("INFO", "replication"), 20, "replicas")
        until(lambda: self.nodes[0].command("INFO", "replication").count(b"state=online") == replicas, 20, "online")
        self.sentinels = [self._start(f"s{i}") for i in range(sentinels)]
        self.address = "sentinel://%s/main" % ",".join(f"127.0.0.1:{port}" for port, _ in self.sentinels)
        until(lambda: all(self._knows(port, sentinels - 1, replicas) for port, _ in self.sentinels), 30, "Sentinels know each other")

    def _start(self, name):
        directory, port = scratch.directory(name), free_port()
        config = directory / "sentinel.conf"
        config.write_text(f"port {port}\nbind 127.0.0.1\ndir {directory}\n"
                          f"sentinel monitor main 127.0.0.1 {self.nodes[0].port} 2\n"
                          f"sentinel down-after-milliseconds main {DOWN_AFTER_MS}\n"
                          "sentinel failover-timeout main 5000\n")
        log = (directory / "log").open("w")
        return port, subprocess.Popen(["redis-server", str(config), "--sentinel"], stdout=log, stderr=log)

    @staticmethod
    def _ask(port, *words):
        with socket.create_connection(("127.0.0.1", port), timeout=5 * SLOW) as link:
            link.sendall(RedisServer.encode(*words))
            return link.recv(1 << 20)

    def _knows(self, port, others, replicas):
        try:
            state = self._ask(port, "INFO", "sentinel")
        except OSError:
            return False
        return b"slaves=%d,sentinels=%d" % (replicas, others + 1) in state

    def primary(self):
        """The node that the first Sentinel names."""
        answer = self._ask(self.sentinels[0][0], "SENTINEL", "get-master-addr-by-name", "main")
        port = int(answer.split(b"\r\n")[4])
        return next(node for node in self.nodes if node.port == port)

    def fail_over(self):
        assert self._ask(self.sentinels[0][0], "SENTINEL", "FAILOVER", "main").startswith(b"+OK")

    def stop(self):
        for _, process in self.sentinels:
            processes.end(process.pid)
            process.wait()
        for node in self.nodes:
            node.kill()
