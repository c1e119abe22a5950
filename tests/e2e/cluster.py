"""A Redis Cluster of three primaries with a replica each, and the faults that tests inject into it."""

import subprocess

from patience import SLOW, until
from redis_server import RedisServer
import scratch

NODE_TIMEOUT_MS = 1500
SLOTS = 16384


def crc16(text):
    """CRC-16/XMODEM, bit by bit."""
    total = 0
    for byte in text.encode():
        total ^= byte << 8
        for _ in range(8):
            total = (total << 1) ^ 0x1021 if total & 0x8000 else total << 1
        total &= 0xffff
    return total


def shard_of(topic, shards=16):
    return crc16(topic) % shards


def slot_of(shard):
    return crc16(str(shard)) % SLOTS


def topic_in(shard, prefix, shards=16):
    return next(topic for topic in (f"{prefix}.{i}" for i in range(10000)) if shard_of(topic, shards) == shard)


class Node(RedisServer):
    def __init__(self, *options, host=None, tls=None):
        super().__init__(tcp=True, host=host, tls=tls, options=[
            "--cluster-enabled", "yes", "--cluster-port", str((host or self.host).port(16379)),
            "--cluster-node-timeout", str(NODE_TIMEOUT_MS), "--repl-diskless-sync-delay", "0", *options])

    @property
    def id(self):
        return self.text("CLUSTER", "MYID")

    def text(self, *words):
        return self.command(*words).split(b"\r\n", 1)[1].rstrip(b"\r\n").decode()

    def ok(self, *words):
        answer = self.command(*words)
        assert answer.startswith((b"+OK", b"+NOKEY")), answer

    def sees_ok(self):
        return b"cluster_state:ok" in (self.try_command("CLUSTER", "INFO") or b"")


class Cluster:
    """options: options of each redis-server. hosts: one host for each node; all of them can reach each other. tls: a
    RedisTls."""

    def __init__(self, *options, primaries=3, replicas=3, hosts=None, tls=None):
        self.nodes = [Node(*options, host=hosts and hosts[i], tls=tls) for i in range(primaries + replicas)]
        self.address = f"cluster{'s' if tls else ''}://" + ",".join(node.place for node in self.nodes[:primaries])
        places = [node.place for node in self.nodes]
        done = subprocess.run(["redis-cli", *(tls.cli() if tls else []), "--cluster", "create", *places, "--cluster-replicas",
                               str(replicas // primaries), "--cluster-yes"], capture_output=True, text=True,
                              timeout=60 * SLOW, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        self.await_whole()

    def primaries(self):
        return [node for node in self.nodes if node.process.poll() is None and node.is_primary()]

    def await_whole(self, seconds=40):
        """Waits until all nodes run and agree on the layout, and each primary has its replica."""
        def is_whole():
            owners = [node for node in self.primaries() if self.slots_of(node)]
            return (all(node.sees_ok() for node in self.nodes) and len(owners) == len(self.nodes) // 2
                    and all(node.replicas_online() == 1 for node in owners))
        until(is_whole, seconds, lambda: "\n".join(node.text("CLUSTER", "NODES") for node in self.nodes))

    @staticmethod
    def slots_of(node):
        """Returns the ranges of slots that the node reports as its own."""
        mine = next((line for line in node.text("CLUSTER", "NODES").splitlines() if "myself" in line), "")
        return [word for word in mine.split()[8:] if not word.startswith("[")]

    def owner(self, slot):
        for node in self.primaries():
            for words in self.slots_of(node):
                first, _, last = words.partition("-")
                if int(first) <= slot <= int(last or first):
                    return node
        return None

    def follower(self, primary):
        mark = f"master_host:{primary.host.address}\r\nmaster_port:{primary.port}\r\n".encode()
        return next(node for node in self.nodes if mark in (node.try_command("INFO", "replication") or b""))

    def begin_move(self, slot, target):
        """Begins to move the slot to target. Returns the node that owns the slot until then."""
        source = self.owner(slot)
        target.ok("CLUSTER", "SETSLOT", str(slot), "IMPORTING", source.id)
        source.ok("CLUSTER", "SETSLOT", str(slot), "MIGRATING", target.id)
        return source

    def move_keys(self, slot, source, target, at_most=1000):
        keys = source.command("CLUSTER", "GETKEYSINSLOT", str(slot), str(at_most)).split(b"\r\n")[2::2]
        source.ok("MIGRATE", target.host.address, str(target.port), "", "0", "20000", "REPLACE", "KEYS", *keys)

    def end_move(self, slot, source, target):
        for node in (target, source, *(n for n in self.primaries() if n not in (source, target))):
            node.ok("CLUSTER", "SETSLOT", str(slot), "NODE", target.id)

    def keys(self):
        found = []
        for node in self.primaries():
            listed = subprocess.run(["redis-cli", "-s", str(node.socket), "--scan"], capture_output=True, text=True,
                                    timeout=20 * SLOW, check=True)
            found += listed.stdout.split()
        return found

    def stop(self):
        for node in self.nodes:
            node.kill()
