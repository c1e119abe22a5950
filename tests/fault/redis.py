"""A private redis-server into which faults are injected, and a simple client."""

import os
import re
import subprocess

import place  # noqa: F401 - sets the folders of shared modules
from patience import until
from redis_link import Link
from redis_server import RedisServer, free_port
import processes
import scratch

KEYS = "duepost:{0}:"


class Redis(RedisServer):
    def __init__(self, *, fsync="always", preloads=(), environment=None, directory=None, options=()):
        extra = dict(environment or {})
        if preloads:
            extra["LD_PRELOAD"] = ":".join(preloads)
        self.directory = directory or scratch.directory("redis")
        self.socket = self.directory / "redis.sock"
        self.port = free_port()
        self.address = f"unix:{self.socket}"
        self.password = None
        self.options = ["--appendonly", "yes" if fsync else "no", "--enable-debug-command", "yes", *options]
        if fsync:
            self.options += ["--appendfsync", fsync]
        self.environment = extra
        self.process = None
        self.start()

    def start(self):
        """Starts Redis. As docs/operations.md says, it first removes the part of the file that a power cut has torn."""
        manifest = self.directory / "appendonlydir" / "appendonly.aof.manifest"
        if manifest.exists():
            subprocess.run(["redis-check-aof", "--fix", str(manifest)], input=b"y\n", stdout=subprocess.DEVNULL, check=True)
        super().start()

    @property
    def tcp(self):
        return f"redis://127.0.0.1:{self.port}/0"

    @property
    def pid(self):
        return self.process.pid

    def link(self):
        return Link(str(self.socket))

    def ask(self, *words):
        link = self.link()
        try:
            return link(*words)
        finally:
            link.close()

    def counts(self, keys=KEYS):
        """Returns the numbers of jobs in the pool and of leases."""
        link = self.link()
        try:
            return link.pipeline([("HLEN", keys + "jobs"), ("ZCARD", keys + "leases")])
        finally:
            link.close()

    def await_answer(self):
        until(lambda: self.try_command("PING") == b"+PONG\r\n", 20, "redis-server answers")

    def end(self):
        if self.process.poll() is None:
            processes.end(self.pid)
        self.process.wait()


def log_of(directory):
    return (directory / "redis.log").read_text(errors="replace")[-3000:]


def version():
    return re.search(r"v=(\S+)", os.popen("redis-server --version").read())[1]
