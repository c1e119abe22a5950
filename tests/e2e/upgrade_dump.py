"""Writes and reads tests/e2e/data: what a version left in Redis and in its history when it was killed."""

import json
import pathlib
import subprocess

from duepost import BINARY
from upgrade_parts import PARTS, TRACED, assert_is_shown
from upgrade_world import World, hours_later
import redis_text

KINDS = {"": PARTS, "traced": TRACED}  # the parts for each kind of run; the kind is the suffix in the names of the files
FOLDER = pathlib.Path(__file__).parent / "data"


def number_of(name):
    return tuple(map(int, name.partition("-")[0].split(".")))


class Dump:
    """The files of one version: keys of Redis, tables of the history, and what was shown and noted."""

    def __init__(self, name, folder=FOLDER, parts=None):
        """name: a version, or a version and a kind of run, such as 0.2.0-traced. parts: the parts of the dump;
        default: all parts of this version and kind."""
        self.name, kind = name, name.partition("-")[2]
        self.is_traced = kind == "traced"
        self.parts = parts or [part for part in KINDS[kind] if number_of(part.since) <= number_of(name)]
        self.redis, self.history, self.shown = (folder / f"{name}.{ending}" for ending in ("redis", "history.sql", "shown.json"))


def versions():
    return sorted((path.name.removesuffix(".redis") for path in FOLDER.glob("*.redis")), key=lambda name: (number_of(name), name))


def write(binary=BINARY, folder=FOLDER, parts=None, kind=""):
    """Runs a binary, has it make the parts, kills it, and writes the files of its version."""
    first, commit = subprocess.run([binary, "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[:2]
    dump = Dump(first.split()[1] + (f"-{kind}" if kind else ""), folder, parts)
    world = World()
    try:
        if dump.is_traced:
            world.trace()
        world.start(binary)
        for part in dump.parts:
            part.write(world)
        world.await_archived()
        world.server.kill()
        history = world.history_lines()
        world.start(binary, history="postgresql://127.0.0.1:1/away")  # nothing listens there, so the outbox grows
        for part in dump.parts:
            part.write_later(world)
        shown = {path: world.answer(path) for path in world.paths}
        world.server.kill()
        killed_ms = int(world.clock.now() * 1000)
        lines = redis_text.dump(world.redis)
    finally:
        world.stop()
    head = [f"# What {first} ({commit}) left in Redis when it was killed. tests/e2e/data/README.md says how this file is made.".encode()]
    dump.redis.write_bytes(b"\n".join(head + lines) + b"\n")
    dump.history.write_text("\n".join(history) + "\n")
    dump.shown.write_text(json.dumps({"killed_ms": killed_ms, "notes": world.notes, "shown": shown}, indent=1, ensure_ascii=False) + "\n")
    return dump


class Upgrade:
    """A World with the data of a dump. Its clock starts in the second in which the old process was killed."""

    def __init__(self, dump):
        self.dump = dump
        document = json.loads(dump.shown.read_text())
        self.killed_ms, self.shown = document["killed_ms"], document["shown"]
        self.world = World(self.killed_ms)
        self.world.notes = document["notes"]
        redis_text.restore(self.world.redis, dump.redis.read_bytes().splitlines())
        self.world.restore_history(dump.history.read_text())

    def check(self):
        """Starts the duepost under test with the data, and does all checks."""
        world = self.world
        if self.dump.is_traced:
            world.trace()
        world.start()
        for path, old in self.shown.items():
            assert_is_shown(old, world.answer(path), path)
        for part in self.dump.parts:
            part.check(world)
        world.shop.forget()
        world.server.terminate()  # a running process would see a step of the clock, and move the deadlines of workers' leases
        world.clock.move_to(hours_later(self.killed_ms, 2))
        world.start()
        for part in self.dump.parts:
            part.check_later(world)
