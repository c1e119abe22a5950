"""A private redis-server, on a unix socket or a free port."""

import os
import signal
import socket
import subprocess

from patience import SLOW, until
import processes
import scratch


_held = {}


def free_port():
    """Returns a free port, and keeps it bound until release_port(). A server can listen there all the same. While the
    server is stopped, no connection of another program gets the port as its local port."""
    probe = socket.socket()
    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    probe.bind(("127.0.0.1", 0))
    port = probe.getsockname()[1]
    _held[port] = probe
    return port


def release_port(port):
    """Releases the port when its listener will not be started again."""
    _held.pop(port).close()


class Loopback:
    """The host of servers that have no host of their own (network.py)."""

    address = "127.0.0.1"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    @staticmethod
    def port(_usual):
        """Returns any free port. The usual port may be in use, because other tests and programs run on this host."""
        return free_port()


class RedisServer:
    """The server is started at once. If aof is on, stop() and start() keep its data. tls: a RedisTls; the port then
    accepts TLS only."""

    host = Loopback()
    tls = None

    def __init__(self, *, tcp=False, aof=True, password=None, environment=None, options=(), host=None, tls=None):
        self.host = host or self.host
        self.directory = scratch.directory("redis")
        self.socket = self.directory / "redis.sock"
        self.port = self.host.port(6379) if tcp or tls else 0
        self.tls = tls
        self.address = f"redis{'s' if tls else ''}://{self.place}/0" if self.port else f"unix:{self.socket}"
        self.password = password
        self.options = ["--appendonly", "yes", "--appendfsync", "always"] if aof else ["--appendonly", "no"]
        if password:
            self.options += ["--requirepass", password]
        self.options += options
        self.environment = environment or {}
        self.process = None
        self.start()

    def start(self):
        ports = self.tls.server(self.port) if self.tls else ["--port", str(self.port)]
        with self.host:
            self.process = subprocess.Popen(
                ["redis-server", *ports, "--unixsocket", str(self.socket), "--save", "",
                 "--dir", str(self.directory), "--logfile", "redis.log", "--maxmemory-policy", "noeviction",
                 "--bind", self.host.address, "--protected-mode", "no", *self.options],
                env={**os.environ, **self.environment}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until(lambda: self.try_command("PING") == b"+PONG\r\n", 10, "redis-server answers")

    @property
    def place(self):
        return f"{self.host.address}:{self.port}"

    def await_functions(self):
        until(lambda: b"duepost_workflow_list_" in self.command("FUNCTION", "LIST", "LIBRARYNAME", "duepost_*"), 20, "the last function is loaded")

    def fill(self):
        """Makes Redis full, when it has the functions of all scripts: a full Redis refuses to load functions."""
        self.await_functions()
        self.command("CONFIG", "SET", "maxmemory", "1")

    def is_primary(self):
        return b"role:master" in (self.try_command("INFO", "replication") or b"")

    def replicas_online(self):
        return (self.try_command("INFO", "replication") or b"").count(b"state=online")

    def try_command(self, *words):
        try:
            return self.command(*words)
        except OSError:
            return None

    def command(self, *words):
        """Returns the raw reply to one command, or its beginning if it does not come in one piece."""
        with socket.socket(socket.AF_UNIX) as link:
            link.settimeout(5 * SLOW)
            link.connect(str(self.socket))
            if self.password:
                link.sendall(self.encode("AUTH", self.password))
                assert link.recv(100) == b"+OK\r\n"
            link.sendall(self.encode(*words))
            return link.recv(1 << 20)

    @staticmethod
    def encode(*words):
        words = [word.encode() if isinstance(word, str) else word for word in words]
        return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)

    def kill(self):
        processes.end(self.process.pid)
        self.process.wait()

    def freeze(self):
        os.kill(self.process.pid, signal.SIGSTOP)

    def thaw(self):
        os.kill(self.process.pid, signal.SIGCONT)

    stop = kill
