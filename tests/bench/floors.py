"""The cost of Redis alone: the commands without which the data of duepost cannot be kept, for 64 jobs at a time, without scripts
and checks. This is a floor: with this data, duepost cannot need less of Redis."""

import os
import subprocess
import tempfile
import time

from parts import Redis, await_condition, cpu_seconds

BATCH = 64
DUE_MS = 1893456000000


class Floor:
    """Jobs that are scheduled, claimed and completed. They have one topic, or each has a topic of its own."""

    def __init__(self, redis, process, has_own_topics, body):
        self.redis, self.process, self.has_own_topics = redis, process, has_own_topics
        self.record = '{"createdAt":1700000000000,"url":"http://127.0.0.1:40000/0","dueAt":"2030-01-01T00:00:00.000Z","body":' + "x" * body + "}"

    def topic(self, number):
        return f"bench0-{number:08d}" if self.has_own_topics else "bench0-0"

    def schedule(self, numbers):
        jobs = [(self.topic(number), f"{self.topic(number)}/{number:08d}") for number in numbers]
        commands = [["HSET", "jobs", *(word for _, job in jobs for word in (job, self.record))]]
        if self.has_own_topics:
            commands += [["ZADD", f"bucket:{topic}", DUE_MS, job] for topic, job in jobs]
            commands += [["ZADD", "due", *(word for topic, _ in jobs for word in (DUE_MS, topic))],
                         ["ZADD", "names", *(word for topic, _ in jobs for word in (0, topic))]]
        else:
            commands += [["ZADD", "bucket:bench0-0", *(word for _, job in jobs for word in (DUE_MS, job))]]
        return commands

    def claim(self, numbers):
        jobs = [(self.topic(number), f"{self.topic(number)}/{number:08d}") for number in numbers]
        claim, topics, ids = f"0123456789abcdef {DUE_MS}", [topic for topic, _ in jobs], [job for _, job in jobs]
        commands = [["HMGET", "jobs", *ids], ["ZADD", "leases", *(word for job in ids for word in (DUE_MS, job))]]
        if self.has_own_topics:
            commands += [["ZRANGE", f"bucket:{topic}", 0, 1, "WITHSCORES"] for topic in topics]
            commands += [["HSET", f"holders:{topic}", job, claim] for topic, job in jobs]
            commands += [["DEL", *(f"bucket:{topic}" for topic in topics)], ["ZREM", "due", *topics]]
        else:
            commands += [["ZRANGE", "bucket:bench0-0", 0, len(ids), "WITHSCORES"], ["ZREMRANGEBYRANK", "bucket:bench0-0", 0, len(ids) - 1],
                         ["HSET", "holders:bench0-0", *(word for job in ids for word in (job, claim))]]
        return commands

    def complete(self, numbers):
        jobs = [(self.topic(number), f"{self.topic(number)}/{number:08d}") for number in numbers]
        ids = [job for _, job in jobs]
        commands = [["ZREM", "leases", *ids], ["HDEL", "jobs", *ids]]
        if self.has_own_topics:
            commands += [["HDEL", f"holders:{topic}", job] for topic, job in jobs] + [["ZREM", "names", *(topic for topic, _ in jobs)]]
        else:
            commands += [["HDEL", "holders:bench0-0", *ids]]
        return commands

    def run(self, *steps, numbers):
        """Runs the steps for the jobs, batch by batch. Returns the CPU time of Redis, us a job."""
        self.redis.settle()
        before = cpu_seconds(self.process.pid)
        for first in range(0, len(numbers), BATCH):
            batch = numbers[first:first + BATCH]
            for step in steps:
                commands = step(batch)
                self.redis.send(*commands)
                for _ in commands:
                    self.redis.read()
        return (cpu_seconds(self.process.pid) - before) / max(len(numbers), 1) * 1e6


def measure(redis, process, jobs, waiting, body):
    """Prints the floors of accept and deliver: with one topic; with a topic of its own for each job; and the latter
    while other topics have waiting jobs."""
    for name, has_own_topics, others in (("one topic", False, 0), ("own topics", True, 0), (f"own topics, {waiting:,} wait", True, waiting)):
        redis.call("FLUSHALL")
        floor = Floor(redis, process, has_own_topics, body)
        floor.run(floor.schedule, numbers=range(others))
        bytes_before = int(redis.info("memory")["used_memory"])
        numbers = range(others, others + jobs)
        accept = floor.run(floor.schedule, numbers=numbers)
        bytes_used = int(redis.info("memory")["used_memory"]) - bytes_before
        deliver = floor.run(floor.claim, floor.complete, numbers=numbers)
        print(f"{'Redis alone, ' + name:<52} accept {accept:.1f} us, {bytes_used / jobs:.0f} bytes; deliver {deliver:.1f} us", flush=True)


def compare_redis(scratch, is_quick, body):
    """Starts a redis-server that is configured like the private Redis."""
    with tempfile.TemporaryDirectory(prefix="duepost-bench-", dir=scratch) as folder:
        process = subprocess.Popen(
            ["redis-server", "--port", "0", "--unixsocket", "redis.sock", "--dir", folder, "--save", "", "--appendonly", "yes",
             "--appendfsync", "always", "--hz", "1", "--hash-max-listpack-entries", "16", "--zset-max-listpack-entries", "16"],
            stdout=subprocess.DEVNULL)
        try:
            path = f"{folder}/redis.sock"
            await_condition(lambda: os.path.exists(path), 10, "Redis")
            redis = Redis(path)
            measure(redis, process, *((5000, 50_000) if is_quick else (100_000, 1_000_000)), body)
            redis.close()
        finally:
            process.terminate()
            process.wait(30)
