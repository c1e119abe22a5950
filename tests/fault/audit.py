"""Reads Redis at rest and reports each difference from the table of keys in docs/redis.md.

It also runs the product's own audit.lua: both must find the same numbers."""

import collections
import math
import re

import place
from redis import KEYS
from redis_link import RedisError, call_script

NAMES = {"jobs": "hash", "due": "zset", "turns": "zset", "ready": "list", "leases": "zset", "lingering": "zset", "crashes": "hash",
         "suspects": "zset", "pulled": "zset", "pull_lingering": "zset", "pull_waiters": "zset", "waited": "zset", "stream_readers": "zset",
         "attempts": "hash", "progress": "hash", "kept": "hash", "kept_until": "zset", "dead": "zset", "dead_due": "zset", "patterns": "hash", "topics": "hash", "carry": "hash",
         "meta": "hash", "receivers": "hash", "reported": "zset", "numbers": "hash", "behind": "zset", "names": "zset", "held": "zset", "resumed": "zset", "survey": "hash",
         "groups": "hash", "group_names": "zset", "sends": "hash", "sends_until": "zset",
         "history": "hash", "ended": "hash", "ended_ids": "list", "ended_read": "list", "trail": "list", "tokens_used": "hash", "ended_last": "hash", "expiries": "zset",
         "workflows": "hash", "workflow_times": "zset", "workflows_over": "zset", "workflow_jobs": "hash", "waits": "hash",
         "schedules": "hash", "fired": "hash", "fires": "zset", "schedule_names": "zset",
         "skipped": "hash", "skipped_until": "zset", "expected": "hash", "expected_until": "zset", "limits": "hash", "limits_used": "hash", "limited": "hash",
         "lanes": "hash", "ranks": "hash", "key_settings": "hash", "quotas": "zset", "forgets": "zset", "openings": "hash", "openings_wanted": "set", "certificates": "zset", "alerting": "set", "alerts": "hash",
         "idempotency": "hash", "windows": "zset"}
ENDS = ("dead", "delivered", "cancelled")
OF_ONE = {"access": "hash", "bucket": "zset", "held": "zset", "breaker": "zset", "holders": "hash", "hour": "hash", "failures": "zset", "begun": "hash", "completed": "hash",
          "workflow": "hash", "elements": "list", "element_jobs": "list", "open": "hash", "steps": "hash", "waiters": "zset", "event_names": "hash",
          "events": "list", "stream": "stream", "limit_users": "zset", "waiting": "zset", "lane": "zset", "lanes_turns": "zset", "lanes_due": "zset", "lanes_again": "zset", "lanes_pending": "zset", "lane_leases": "set", **dict.fromkeys(ENDS, "zset")}  # keys that begin with this word, ':' and the name of a topic, receiver, hour, token or workflow
MAX_IN_FLIGHT = 256
AUDIT_TOPICS = 1000


class Books:
    """All data under one key prefix, read in one transaction."""

    def __init__(self, link, keys=KEYS):
        names = link("KEYS", keys.replace("{", "\\{") + "*")
        types = link.pipeline([("TYPE", name) for name in names]) if names else []
        kinds = {name: kind for name, kind in zip(names, types) if kind != "none"}  # a key may have expired since its name was read
        names, types = list(kinds), list(kinds.values())
        read = {"hash": lambda n: ("HGETALL", n), "zset": lambda n: ("ZRANGE", n, 0, -1, "WITHSCORES"),
                "list": lambda n: ("LRANGE", n, 0, -1), "string": lambda n: ("GET", n), "set": lambda n: ("SMEMBERS", n), "stream": lambda n: ("XLEN", n)}
        self.keys = keys
        self.types = {name.removeprefix(keys): kind for name, kind in zip(names, types)}
        values = link.pipeline([read[kind](name) for name, kind in zip(names, types)]) if names else []
        self.values = {}
        for name, kind, value in zip(names, types, values):
            if not value:
                continue  # the job was removed after its id was read
            if kind in ("hash", "zset"):
                value = dict(zip(value[::2], value[1::2]))
            if kind == "zset":
                value = {member: float(score) for member, score in value.items()}
            self.values[name.removeprefix(keys)] = value
        seconds, us = link("TIME")
        self.now_ms = int(seconds) * 1000 + int(us) / 1000
        self.counted = call_script(link, place.SCRIPTS, "audit", 1, keys + "jobs", MAX_IN_FLIGHT, AUDIT_TOPICS)

    def get(self, name):
        return self.values.get(name, {})

    def by_topic(self, kind):
        return {name.removeprefix(kind + ":"): value for name, value in self.values.items() if name.startswith(kind + ":")}

    @property
    def buckets(self):
        return self.by_topic("bucket")

    @property
    def dead(self):
        """Returns the job, and how many consumers were lost with it."""
        kept = self.get("kept")
        texts = {key: re.match(r"dead \d+ (\d+)", kept[key]) for key in self.get("dead") if key in kept}
        return {key: int(text[1]) for key, text in texts.items() if text}  # kept_faults reports the others


def faults_of_workflows(books):
    """The jobs of workflows are in the pool, and each workflow with such jobs is active."""
    places = {key: entry.split(" ", 3)[3] for key, entry in books.get("workflow_jobs").items()}
    for key, place_of in places.items():
        if key not in books.get("jobs"):
            yield f"{key} is a job of {place_of}, and not in the pool"
        if key not in books.get("open:" + place_of):
            yield f"{key} is a job of {place_of}, which does not have it"
        if books.get("workflow:" + place_of).get("state") != "active":
            yield f"{key} is a job of {place_of}, which is over"
    for place_of, jobs in books.by_topic("open").items():
        yield from (f"{place_of} has the job {key}, which has another workflow, or none" for key in jobs if places.get(key) != place_of)


def faults(books):
    """Returns each broken promise as a sentence."""
    yield from faults_of_workflows(books)
    jobs, leases, pulled, dead = set(books.get("jobs")), books.get("leases"), books.get("pulled"), books.get("dead")
    places = collections.defaultdict(list)
    for topic, bucket in books.buckets.items():
        for key in bucket:
            places[key].append("bucket:" + topic)
            if key.split("/")[0] != topic:
                yield f"{key} is in the bucket of {topic}"
    for name in "leases", "pulled":
        for key in books.get(name):
            places[key].append(name)
    for key in jobs:
        if len(places[key]) != 1:
            yield f"{key} is in {places[key] or 'no place'}"
    for key in places.keys() - jobs:
        if places[key]:
            yield f"{key} is in {places[key]}, and there is no such job"
    held = {key: holder for holders in books.by_topic("holders").values() for key, holder in holders.items()}
    lingering = {place for place in held if "\n" in place}  # attempts of cancelled jobs, each of which counts as in flight
    for place in lingering ^ (books.get("lingering").keys() | books.get("pull_lingering").keys()):
        yield f"{place!r} has a {'holder' if place in lingering else 'lingering attempt'} only"
    held = {key: holder for key, holder in held.items() if key not in lingering}
    for key in held.keys() ^ (leases.keys() | pulled.keys()):
        yield f"{key} has a {'holder' if key in held else 'lease'} only"
    for key, holder in held.items():
        if not re.fullmatch(r"\S+ \d+ [+-] -?\d+(\.\d+)?" if key in pulled else r"\S+ -?\d+(\.\d+)?", holder):
            yield f"{key} has the holder {holder!r}"
    for key in books.get("progress").keys() - pulled.keys():
        yield f"{key} has a progress, and no worker has it"
    for key in books.get("crashes").keys() - jobs:
        yield f"{key} has crashes, and there is no such job"
    for key, lines in books.get("attempts").items():
        if key not in jobs:
            yield f"{key} has attempts, and there is no such job"
        if not 1 <= lines.count("\n") <= 10 or not lines.endswith("\n"):
            yield f"{key} has the attempts {lines!r}"
    yield from kept_faults(books)
    yield from calendar_faults(books)
    yield from lane_faults(books)
    yield from keyspace_faults(books)
    waiting = sum(map(len, books.buckets.values()))
    mine = [len(jobs), waiting, len(leases) + len(pulled), len(dead), len(books.buckets)]
    if isinstance(books.counted, RedisError) or books.counted[1:6] != mine:
        yield f"audit.lua counts {books.counted[1:6]}, and there are {mine}"


def kept_faults(books):
    """Each ended job has a complete record, is in the index of its state, and is dead or has a time of removal."""
    ends = {state: {key for index in books.by_topic(state).values() for key in index} for state in ENDS}
    for key in set().union(*ends.values()) - books.get("kept").keys():
        yield f"{key} is in an index and not kept"
    for name, states in ("dead", ["dead"]), ("kept_until", ["delivered", "cancelled"]):
        for key in set(books.get(name)) ^ set().union(*(ends[state] for state in states)):
            yield f"{key} is {'only' if key in books.get(name) else 'not'} in {name}"
    for topic in books.get("dead_due").keys() ^ books.by_topic("dead").keys():
        yield f"topic {topic} is {'only' if topic in books.get('dead_due') else 'not'} in dead_due"
    for key, text in books.get("kept").items():
        found = re.match(r"(delivered|cancelled|dead) \d+ \d+(?:/\S+)? (\d+) ", text)
        if found and [state for state in ENDS if key in ends[state]] != [found[1]]:
            yield f"{key} is {found[1]}, and in the indexes {[state for state in ENDS if key in ends[state]]}"
        record = found and text.encode()[found.end():][:int(found[2])]
        if not record or not record.startswith(b'{"createdAt":') or not record.endswith(b"}"):
            yield f"{key} is kept as {text!r}"


def calendar_faults(books):
    """Each topic with a bucket is either in due or in turns."""
    due, turns = books.get("due"), books.get("turns")
    for topic in due.keys() & turns.keys():
        yield f"topic {topic} is in due and in turns"
    for topic in (due.keys() | turns.keys()) - books.buckets.keys():
        yield f"topic {topic} is in {'due' if topic in due else 'turns'} without a bucket"
    for topic, bucket in books.buckets.items():
        first = math.floor(min(bucket.values()))  # jobs of the same ms have scores that differ by fractions
        if topic not in due and topic not in turns:
            yield f"topic {topic} is in neither due nor turns"
        elif topic in turns and first > books.now_ms:
            yield f"topic {topic} is in turns, and its first job is due in {first - books.now_ms:.0f} ms"
        elif topic in due and due[topic] != first and topic not in books.get("lanes"):
            in_flight = len(books.by_topic("holders").get(topic, ()))
            if not math.isinf(due[topic]) or in_flight < MAX_IN_FLIGHT:
                yield f"topic {topic} is in due with {due[topic]:.0f}, its first job with {first:.0f}"


def lane_faults(books):
    """The index of the lanes of a topic has exactly its waiting jobs and its attempts in flight, by their ranks."""
    ranks, lanes = books.get("ranks"), {topic: state for topic, state in books.get("lanes").items() if topic}
    attempts = {topic: set(holders) for topic, holders in books.by_topic("holders").items()}
    for key in ranks:
        if key not in books.get("jobs") and not any(key in of_topic for of_topic in attempts.values()):
            yield f"{key!r} has a rank, and there is no such job"
        elif key.split("/")[0] not in lanes:
            yield f"{key!r} has a rank, and its topic has no lanes"
    for topic, state in lanes.items():
        bucket, index, turns, due = books.buckets.get(topic, {}), {}, books.get(f"lanes_turns:{topic}"), books.get(f"lanes_due:{topic}")
        for name, lane in books.by_topic("lane").items():
            if name.startswith(topic + "\n"):
                index.update({key: (name.split("\n", 1)[1], score) for key, score in lane.items()})
        for key in index.keys() - bucket.keys() | (bucket.keys() - index.keys() if state.startswith("inf") else set()):
            yield f"{key} is {'only' if key in index else 'not'} in the index of the lanes"
        for key, (rank, score) in index.items():
            if rank != ranks.get(key, "5") or score != bucket.get(key):
                yield f"{key} is in the lane {rank} with {score}; its rank is {ranks.get(key)}, its place {bucket.get(key)}"
        for key in {rank[1:] for rank, _ in index.values()} ^ (turns.keys() | due.keys()) | turns.keys() & due.keys():
            yield f"topic {topic}: the key {key!r} is in turns: {key in turns}, in due: {key in due}"
        for key in {name.split("\n", 1)[1] for name in books.by_topic("lane_leases") if name.startswith(topic + "\n")} | {"", *(rank[1:] for rank in ranks.values())}:
            mine, found = {field for field in attempts.get(topic, ()) if ranks.get(field, "5")[1:] == key}, set(books.values.get(f"lane_leases:{topic}\n{key}", ()))
            if found - mine or key and mine - found:  # attempts that began before the topic had lanes are not counted for the empty key
                yield f"topic {topic}: {found ^ mine} in flight for the key {key!r}"


def keyspace_faults(books):
    for name, kind in books.types.items():
        expected = NAMES.get(name) or OF_ONE.get(name.split(":")[0])
        if kind != expected:
            yield f"key {name} is a {kind}, and not {expected or 'one of ours'}"
    for name in books.get("reported").keys() ^ books.get("receivers").keys() - {"version"}:
        yield f"receiver {name} is in one of receivers and reported only"
    if len(books.get("ready")) > 1:
        yield f"ready holds {len(books.get('ready'))} names"
