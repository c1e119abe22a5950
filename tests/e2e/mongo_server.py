"""A private server that speaks MongoDB's protocol, on a port of the loopback interface: mongod if it is on the path, else FerretDB,
which tests/history/install builds."""

import os
import shutil
import signal
import subprocess

import pymongo
import pytest

from duepost import BINARY, ROOT
from patience import SLOW, until
import processes
from redis_server import free_port, release_port
import scratch

FERRETDB = ROOT / "build/ferretdb/ferretdb"


def skip_without():
    """Skips the test if there is no such server, or duepost was built without libmongoc."""
    if "libmongoc" not in subprocess.run([BINARY, "--version"], capture_output=True, text=True, check=True).stdout:
        pytest.skip("duepost was built without libmongoc")
    if not shutil.which("mongod") and not FERRETDB.exists():
        pytest.skip("there is no mongod, and tests/history/install has not built FerretDB")


class MongoServer:
    """A server that starts at once. kill() and start() keep its data."""

    def __init__(self, tls=None):
        """tls: a file of a certificate and the one of its key. The server then has a second port, for TLS."""
        skip_without()
        self.directory = scratch.directory("mongo")
        self.port, self.tls, self.tls_port = free_port(), tls, free_port() if tls else None
        self.process = None
        self.start()

    def _words(self):
        if shutil.which("mongod") and not self.tls:
            return ["mongod", "--dbpath", self.directory, "--bind_ip", "127.0.0.1", "--port", str(self.port)]
        tls = ["--listen-tls", f"127.0.0.1:{self.tls_port}", "--listen-tls-cert-file", self.tls[0], "--listen-tls-key-file", self.tls[1]] if self.tls else []
        return [FERRETDB, "--handler=sqlite", f"--sqlite-url=file:{self.directory}/", f"--state-dir={self.directory}",
                f"--listen-addr=127.0.0.1:{self.port}", "--telemetry=disable", "--debug-addr=-", "--log-level=error", *tls]

    def start(self):
        self.process = subprocess.Popen(self._words(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        until(self._answers, 30, "the server for MongoDB's protocol answers")

    def _answers(self):
        with self.client(1000) as client:
            try:
                return client.admin.command("ping")
            except pymongo.errors.PyMongoError:
                return False

    def client(self, timeout_ms=10000 * SLOW):
        return pymongo.MongoClient("127.0.0.1", self.port, serverSelectionTimeoutMS=timeout_ms, socketTimeoutMS=timeout_ms, retryReads=False)

    def url(self, database):
        return f"mongodb://127.0.0.1:{self.port}/{database}"

    def documents(self, database):
        """Returns the documents of the history; none while the server does not answer."""
        with self.client(3000 * SLOW) as client:
            try:
                return list(client[database].duepost_jobs.find())
            except pymongo.errors.PyMongoError:
                return []

    def has_history(self, database):
        """Returns whether duepost has made its collections."""
        with self.client(3000 * SLOW) as client:
            return client[database].duepost_meta.find_one({"_id": "version"})

    def kill(self):
        processes.end(self.process.pid)
        self.process.wait()

    def freeze(self):
        os.kill(self.process.pid, signal.SIGSTOP)

    def thaw(self):
        os.kill(self.process.pid, signal.SIGCONT)

    def stop(self):
        self.kill()
        for port in filter(None, (self.port, self.tls_port)):
            release_port(port)
        shutil.rmtree(self.directory, ignore_errors=True)
