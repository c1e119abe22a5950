"""A private redis-server with a clock that the test sets, and a connection to it."""

import functools
import os
import pathlib
import re
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time


class RedisError(Exception):
    """An error reply."""


class Link:
    """A connection: sends one command or several together, and returns the values."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(60)
        self.socket.connect(path)
        self.stream = self.socket.makefile("rb")

    def close(self):
        self.stream.close()
        self.socket.close()

    def send(self, *words):
        words = [word if isinstance(word, bytes) else str(word).encode() for word in words]
        parts = [b"*%d\r\n" % len(words)]
        for word in words:
            parts.append(b"$%d\r\n%s\r\n" % (len(word), word))
        self.socket.sendall(b"".join(parts))

    def receive(self):
        line = self.stream.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionError("Redis closed the connection")
        kind, rest = line[:1], line[1:-2]
        if kind == b"+":
            return rest.decode()
        if kind == b"-":
            return RedisError(rest.decode())
        if kind == b":":
            return int(rest)
        if kind == b"$":
            # words of a receiver, such as the details of an attempt, may have any bytes
            return None if rest == b"-1" else self.stream.read(int(rest) + 2)[:-2].decode(errors="backslashreplace")
        if kind == b"*":
            return None if rest == b"-1" else [self.receive() for _ in range(int(rest))]
        raise ConnectionError(f"not RESP: {line!r}")

    def __call__(self, *words):
        return self.pipeline([words])[0]

    def pipeline(self, commands):
        for words in commands:
            self.send(*words)
        replies = [self.receive() for _ in commands]
        for reply in replies:
            if isinstance(reply, RedisError):
                raise reply
        return replies


class Redis:
    """A redis-server that starts at once. stop() ends it and removes its directory. The server ends with this
    program at the latest."""

    def __init__(self, clock_preload):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="duepost-model-"))
        self.path = str(self.directory / "redis.sock")
        self.clock = self.directory / "clock"
        self.clock.write_bytes(bytes(16))
        self.process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "redis-server", "--port", "0", "--unixsocket", self.path,
             "--save", "", "--appendonly", "no", "--maxmemory-policy", "noeviction",
             "--dir", str(self.directory), "--logfile", "redis.log"],
            env={**os.environ, "LD_PRELOAD": str(clock_preload), "TEST_CLOCK": str(self.clock)},
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.clock_file = open(self.clock, "r+b", buffering=0)

    def connect(self):
        deadline = time.monotonic() + 50
        while True:
            try:
                return Link(self.path)
            except OSError:
                if time.monotonic() > deadline or self.process.poll() is not None:
                    raise
                time.sleep(0.01)

    def set_time(self, us):
        """Sets Redis's clock to us; the clock then stands still."""
        self.clock_file.seek(0)
        self.clock_file.write(struct.pack("=q", us))

    def stop(self):
        self.clock_file.close()
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        shutil.rmtree(self.directory)


def known_needs():
    """Returns the values of "needs" (features that a job or topic requires) that an ordinary build knows, as they are
    written in the scripts."""
    build = pathlib.Path(__file__).parents[2] / "CMakeLists.txt"
    return re.search(r'set\(DUEPOST_KNOWN_NEEDS "(.*)"\)', build.read_text())[1]


def library(folder, changes=()):
    """Returns the library that the build makes from the scripts; @DIGEST@ stands for its digest. changes: (file, such as "run" or
    "lib/turns", old text, new text), to seed a bug."""
    return _library(folder, tuple(changes))


@functools.lru_cache(None)
def _library(folder, changes):
    folder = pathlib.Path(folder).resolve()
    texts = {str(path.relative_to(folder)): path.read_text() for path in sorted(folder.rglob("*.lua"))}
    for name, old, new in changes:
        if texts[f"{name}.lua"].count(old) != 1:
            raise ValueError(f"{name}.lua holds {texts[f'{name}.lua'].count(old)} times: {old}")
        texts[f"{name}.lua"] = texts[f"{name}.lua"].replace(old, new)
    with tempfile.TemporaryDirectory(prefix="duepost-scripts-") as sources:
        pathlib.Path(sources, "lib").mkdir()
        for name, text in texts.items():
            pathlib.Path(sources, name).write_text(text)
        helpers = sorted(name for name in texts if name.startswith("lib/"))
        return subprocess.check_output(["awk", "-v", f"needs={known_needs()}", "-f", folder / "library.awk", folder / "results.list",
                                        *helpers, *sorted(set(texts) - set(helpers))], cwd=sources, text=True)


def loading(folder, changes=()):
    """Returns the command that loads the scripts as functions; they replace those of an earlier call."""
    return "FUNCTION", "LOAD", "REPLACE", library(folder, changes).replace("@DIGEST@", "test")


def load_functions(link, folder, changes=()):
    """Loads the scripts as functions. Returns the name of each script's function."""
    link(*loading(folder, changes))
    return {path.stem: f"duepost_{path.stem}_test" for path in pathlib.Path(folder).glob("*.lua")}


def call_script(link, folder, name, *words):
    """Loads the scripts and calls one of them in one transaction: a process of duepost deletes functions if there are those of
    many versions."""
    reply = link.pipeline([("MULTI",), loading(folder), ("FCALL", f"duepost_{name}_test", *words), ("EXEC",)])[3][1]
    if isinstance(reply, RedisError):
        raise reply
    return reply
