"""Power cuts: all processes of the host die at once, and only the fsynced part of Redis's files is left."""

import random
import time

from client import mixed_orders
from nemesis import RECONNECT_US, now_us
from node import freeze
import place
from premises import Site
from redis import Redis
import scratch
from verdict import Fault

RETRY_S = 0.02


class Disk:
    """The files of a redis-server, and their parts that survive a power cut: see power_preload.c."""

    def __init__(self, directory, slow_us):
        self.directory = directory
        self.log = scratch.file("synced")
        self.environment = {"POWER_LOG": str(self.log), "POWER_SLOW_US": str(slow_us)}
        self.lost_bytes = 0

    def cut(self, chance):
        """After the last fsynced byte, the file has nothing, or a part of the later writes, torn anywhere."""
        synced = {}
        for line in self.log.read_text().splitlines() if self.log.exists() else ():
            inode, size = map(int, line.split())
            synced[inode] = max(synced.get(inode, 0), size)
        for path in (self.directory / "appendonlydir").iterdir():
            size = path.stat().st_size
            safe = min(size, synced.get(path.stat().st_ino, 0))
            kept = safe if chance.random() < 0.5 else chance.randint(safe, size)
            self.lost_bytes += size - kept
            with path.open("r+b") as file:
                file.truncate(kept)


def one_run(seed, cuts, fsync="always", apart_s=1.2, jobs_a_second=400):
    chance = random.Random(f"power {seed}")
    directory = scratch.directory("disk")
    disk = Disk(directory, slow_us=2000)
    redis = Redis(fsync=fsync, directory=directory, preloads=[place.tool("libfault_power_preload.so")],
                  environment=disk.environment)
    site = Site(redis=redis)
    counted, faults = 0, []
    try:
        seconds = 1 + cuts * apart_s
        site.begin(mixed_orders(seed, int(seconds * jobs_a_second), seconds))
        for _ in range(cuts):
            await_work(site, chance.uniform(0.3, apart_s - 0.3))
            counted += cut_power(site, disk, chance, faults)
        site.await_client(60)
        settled = site.await_settled(100)
        said = site.verdict(faults)
        said.broken += [f"{node.source} has repaired the books" for node in site.nodes if "event=mended" in node.log()]
        return counted, disk.lost_bytes, settled, said
    finally:
        site.stop()


def is_busy(site):
    return any(site.client.open_schedules(n.index) or site.judge.open_posts(n.source) for n in site.nodes)


def await_work(site, seconds):
    """Waits this long. Then waits for at most two more seconds until a request is under way."""
    time.sleep(seconds)
    deadline = time.monotonic() + 2
    while not is_busy(site) and time.monotonic() < deadline:
        time.sleep(0.001)


def cut_power(site, disk, chance, faults):
    """Redis is killed first, so that no client gets a confirmation that was about to be sent. Then the files are set
    to what the disk had at that moment."""
    freeze(site.redis.pid)
    for node in site.nodes:
        freeze(node.pid)
    counts = is_busy(site)
    fault = Fault("power cut", now_us())
    faults.append(fault)
    for node in site.nodes:
        node.kill()
    site.redis.end()
    disk.cut(chance)
    site.redis.start()
    for node in site.nodes:
        node.start(wait=False)
    fault.end_us = now_us() + RECONNECT_US
    return counts


def run(report):
    cuts = report.amount(20, 200)
    counted, lost_bytes, settled, verdict = one_run(report.seed, cuts)
    report.say(f"{cuts} power cuts, {counted} of them with something under way; {lost_bytes} bytes were not on disk yet")
    report.expect(settled is not None, "not settled within 100 s")
    report.verdict("power cuts", verdict)
    report.expect(counted >= cuts * 0.7, f"only {counted} power cuts hit something")
    report.control("fsync everysec", one_run(report.seed, 3, "everysec")[3])
