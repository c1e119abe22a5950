#!/usr/bin/python3
"""The random model test: the real scripts on a real Redis, with faults of all kinds.

Consumers crash, freeze, are cut off, lose replies, repeat outcomes and send them late. Meanwhile owners schedule,
cancel, run and read jobs, the carry workers' lock changes its owner, Redis's clock steps, and Redis is unreachable.
After each step the keyspace must be as pool.py computes it, and what the consumers saw must fit the promises of the
design. At the end all faults are over, and each job must arrive.

A run is a list of steps, each with a seed of its own, so that a failing run can be made shorter. The controls
are scripts with a seeded bug: the test must find each of these bugs.
"""

import argparse
import math
import os
import pathlib
import random
import re
import sys
import time
import types

from pool import DAY_MS, INF, LEASE_MS, LOSSES_MAX, PATIENCE_MS, SECOND_US, STEP_MS, SUSPECT_LOSSES, Pool, is_expired, is_pulled, is_recovering, record_of, settings_json, topic_of
from redis_link import Redis, RedisError, load_functions

KEY = "model:{0}:jobs"
BASE = KEY[:-len("jobs")]
OWNERS = ("a", "b", "c")
TOPICS = (*OWNERS, "a~c", "b~c")
ENDS = ("dead", "delivered", "cancelled")
IDS = [f"{topic}/{name}" for topic in OWNERS for name in "1234"]
SCHEDULES = ("a/s", "a/t", "b/s")
ENDPOINTS = ("x", "y", "z")  # endpoints of groups
SENT_IDS = [f"{topic}/1~{endpoint}" for topic in OWNERS for endpoint in ENDPOINTS]
LIMIT = 2  # maximum number of jobs of a topic in flight, without settings
WORKFLOWS = ("a/w", "a/v", "b/w")
EVENTS = ("e", "f/g", "webhook\nh")
BREAKERS = ("h:1", "h:2/path")
SHARE = 2
SLOTS = 4
SPARE_US = 1_000_000  # a consumer begins no POST in the last second of its lease
STUCK_US = 2_000_000
LONG_US = 60_000_000  # during a longer wait, the clock moves in large steps
MANY = 100
START_US = 1_900_000_000_000_000


class Broken(Exception):
    """The server has broken a promise."""


# The errors that show a fault. Errors other than Broken come when the model cannot read the keyspace any more.
FAULTS = (Broken, RedisError, LookupError, ValueError)


def expect(is_kept, *words):
    if not is_kept:
        raise Broken(" ".join(str(word) for word in words))


class Attempt:
    def __init__(self, claim, nonce, claimed_ms, sent_us, life):
        self.id, self.due, self.record = claim
        self.nonce, self.claimed_ms = nonce, claimed_ms
        self.renewed_us = sent_us  # when the last claim or renewal was sent, by the consumer's own clock
        self.life = life
        self.is_posting = False
        self.outcome = None  # None, or (name of the script that reports the outcome, its arguments after id and nonce)
        self.is_lost = self.is_lingering = False


class Consumer:
    def __init__(self):
        self.attempts = []
        self.is_frozen = self.is_cut = False
        self.renew_at_us = 0
        self.lost_claim = None  # (nonce, lease in ms, us when it was sent) of a claim whose reply never came


class Pulled:
    """A lease as its worker sees it."""

    def __init__(self, job_id, nonce, life, record):
        self.id, self.nonce, self.life, self.record = job_id, nonce, life, record
        self.changes = life.changes
        self.is_over = False  # whether the worker knows that the lease has ended


class CarryWorker:
    """Stands for src/worker/carry_worker.c."""

    def __init__(self, name):
        self.name = name
        self.is_owner = self.is_frozen = False
        self.clock = None  # (time of Redis, time of this process) at the same moment, us
        self.disturbed_us = 0
        self.seen, self.seen_us = None, 0
        self.armed_ms = INF
        self.tick_at_us = 0

    def hear(self, now_us, boot_us):
        if self.clock is None or abs(now_us - self.clock[0] - (boot_us - self.clock[1])) > STEP_MS * 1000:
            self.disturbed_us = boot_us
        self.clock = (now_us, boot_us)


class Life:
    """A job that was accepted, and what its owner may expect: when it is due, and how it may end."""

    def __init__(self, job_id, due):
        self.id, self.due = job_id, due
        self.ended = None  # None or how the job ended
        self.changes = 0  # how often its owner has changed the job
        self.posts = 0


class World:
    def __init__(self, redis, link, functions):
        self.redis, self.link, self.functions = redis, link, functions
        self.listener = redis.connect()
        self.listener("SUBSCRIBE", BASE + "wake")
        self.pool = Pool(LIMIT)
        self.boot_us, self.offset_us = 0, START_US
        self.archivers = [[], []]  # for each archiver a list of its batches, each with a mark: it is in the table or not
        self.table = set()  # the rows of the history: (id, text)
        self.small_step_us = 0  # when the clock made its last small step
        self.away_until_us = 0
        self.consumers = [Consumer() for _ in range(3)]
        self.workers = [CarryWorker("x"), CarryWorker("y")]
        self.lives = {}  # id -> the Life of the job in the pool
        self.expired = []  # (id, nonce, record) that expire has listed, and that are not buried yet
        self.doomed = []  # (id, nonce, record) that recovery has listed, and has not buried yet
        self.just_dropped = set()  # the jobs that the last call has dropped with their workflows
        self.waits = 0  # number of waits and events so far
        self.workflows_behind = ""  # the next page of the list of workflows begins after this one
        self.seen_tags, self.listed = {}, []  # tags and times of schedules, as a process read them some time ago
        self.deaths = {}  # id -> the Life of the dead job that is kept, and when it died
        self.nonces = 0
        self.highest_limits = dict.fromkeys(TOPICS, LIMIT)  # topic -> the highest limit of jobs in flight that it has had
        self.computed = []  # topic, settings, spans: what the owner of the lock has computed for topics with windows, and not stored yet
        self.debounces = 0  # number of jobs with debounce so far
        self.past = []  # (id, nonce) of all claims
        self.pulled = []  # all leases of workers, including those that have ended
        self.lost_pulls = []  # (token, lease in ms, us when it was sent) of calls without a reply
        self.begun = {}  # topic -> nonce -> (time in us, number of jobs): claims since the topic's rate was set or the clock stepped
        self.window_ends = {}  # topic -> the latest end of its rate's windows that began before a step of the clock, ms
        self.chance = random.Random(0)
        link("FLUSHALL")
        self.set_clock()

    def close(self):
        self.listener.close()

    # ---- time ----

    def set_clock(self):
        self.redis.set_time(self.boot_us + self.offset_us)
        self.pool.now_us = self.boot_us + self.offset_us

    @property
    def is_away(self):
        return self.boot_us < self.away_until_us

    def pass_time(self, us, step_us=250_000):
        """Lets time pass. Timers run when they are due, or a step later. Timers of frozen consumers and carry workers do not run."""
        end_us = self.boot_us + us
        while self.boot_us < end_us:
            self.boot_us = min(self.boot_us + step_us, end_us)
            self.set_clock()
            for worker in self.workers:
                self.run_carry_worker(worker)
            for consumer in self.consumers:
                if self.boot_us >= consumer.renew_at_us:
                    self.renew(consumer)

    # ---- calls ----

    def call(self, script, *arguments):
        self.note_prepared()
        answer = self.link("FCALL", self.functions[script], 1, KEY, LIMIT, *arguments)
        expect(answer[0] == self.pool.now_us, "the time", answer[0])
        return answer[1:]

    def check(self, script, arguments, answer, expected):
        expect(answer == expected, script, arguments, "answered", answer, "instead of", expected)
        self.check_keyspace(f"{script} {arguments}")

    def call_items(self, script, shared, items, follow=()):
        """Runs a script with items on Redis and in the model. follow: (position of an item, id, when, record) of
        each job that is scheduled if this item succeeds."""
        flat = [word for item in items for word in item]
        flat += [word for entry in follow for word in entry] + ([f"+{len(follow)}"] if follow else [])
        answer = self.call(script, *shared, *flat)
        if script == "cancel":  # the order of the other jobs of a workflow does not matter
            answer = [[result[0], *sorted(result[1:])] if isinstance(result, list) else result for result in answer]
        self.pool.follow = follow
        self.check(script, flat, answer, getattr(self.pool, script)(*shared[:1], items))
        self.pool.follow = ()
        self.note_workflows()
        for number, job_id, when, _ in follow:
            if answer[number - 1] == 1 and job_id in self.pool.jobs:
                expect(job_id not in self.lives, job_id, "follows twice")
                self.lives[job_id] = Life(job_id, self.pool.due_of(when)[0])
        return [-11 if isinstance(result, list) and result[:1] == ["quota"] else result for result in answer]

    def some_follow(self, items):
        """Returns follow-ups for some of the items: a job that is scheduled if its item succeeds. Items of topic c
        get none."""
        return [(number, f"{topic_of(job_id)}~c/{job_id.split('/')[1]}~{nonce}", self.chance.choice(("0", "0", "300")), '"f":1}')
                for number, (job_id, nonce, *_) in enumerate(items, 1)
                if topic_of(job_id) in "ab" and self.chance.random() < 0.25]

    def note_workflows(self):
        """Ends the lives of the jobs that were dropped at the end of their workflow."""
        for job_id, was_leased in self.pool.dropped_members:
            if job_id in self.lives:
                self.end_cancelled(job_id, int(was_leased), "")
        self.just_dropped = {job_id for job_id, _ in self.pool.dropped_members}
        self.pool.dropped_members, self.pool.answered_members = [], set()

    def is_due(self, life):
        """Returns whether the job may be claimed now. A job that was in flight when its topic became fifo may be claimed before its
        due time, see lib/fifo.lua."""
        is_behind = life.id in self.pool.behind_line
        self.pool.behind_line.discard(life.id)
        return is_behind or life.due <= self.pool.now

    def note_prepared(self):
        """Begins the lives of the jobs that parent workflows got when a workflow ended. The caller waits until the next
        call of a script: the job that ended the workflow may have had the same id as a new one, and its end must be noted
        first. Some of these jobs began and ended in one call."""
        for job_id, due in self.pool.prepared_members:
            if job_id in self.pool.jobs:
                expect(job_id not in self.lives, job_id, "was prepared for a parent that has it")
                self.lives[job_id] = Life(job_id, due)
        self.pool.prepared_members = []

    # ---- the keyspace as it must be ----

    def read_keyspace(self):
        commands = [("HGETALL", BASE + name) for name in ("jobs", "crashes", "attempts", "kept", "rates", "sends")]
        commands += [("ZRANGE", BASE + name, 0, -1, "WITHSCORES") for name in ("leases", "lingering", "dead", "due", "kept_until", "dead_due", "sends_until")]
        commands += [("ZRANGE", BASE + "turns", 0, -1), ("LRANGE", BASE + "ready", 0, -1)]
        commands += [("ZRANGE", f"{BASE}bucket:{topic}", 0, -1, "WITHSCORES") for topic in TOPICS]
        commands += [("HGETALL", f"{BASE}holders:{topic}") for topic in TOPICS]
        commands += [("ZRANGE", f"{BASE}{state}:{topic}", 0, -1, "WITHSCORES") for state in ENDS for topic in TOPICS]
        commands += [("ZRANGE", f"{BASE}held:{topic}", 0, -1, "WITHSCORES") for topic in TOPICS]
        commands += [("ZRANGE", BASE + "held", 0, -1, "WITHSCORES"), ("HGET", BASE + "numbers", "held"),
                     ("HGET", BASE + "numbers", "waiting"), ("ZRANGE", BASE + "behind", 0, -1),
                     ("ZRANGE", BASE + "names", 0, -1), ("HGETALL", BASE + "lines"), ("KEYS", "*")]
        commands += [("HGETALL", BASE + "limited"), ("HGETALL", BASE + "limits_used")]
        commands += [("ZRANGE", f"{BASE}waiting:{name}", 0, -1, "WITHSCORES") for name in "xy"]
        commands += [("ZRANGE", BASE + name, 0, -1, "WITHSCORES") for name in ("pulled", "pull_lingering", "pull_waiters", "suspects", "expiries")]
        outbox = [("HGETALL", BASE + "ended"), ("LRANGE", BASE + "ended_ids", 0, -1), ("LRANGE", BASE + "ended_read", 0, -1),
                  ("HMGET", BASE + "numbers", "outbox_bytes", "outbox_dropped", "outbox_again", "outbox_removed", "event_bytes"),
                  ("HGETALL", BASE + "ended_last")]
        ended_texts, ended_ids, ended_read, outbox_numbers, ended_last = self.link.pipeline(outbox)
        openings, wanted, answers, answer_times = self.link.pipeline([
            ("HGETALL", BASE + "openings"), ("SMEMBERS", BASE + "openings_wanted"), ("HGETALL", BASE + "idempotency"),
            ("ZRANGE", BASE + "windows", 0, -1, "WITHSCORES")])
        progress = self.link("HGETALL", BASE + "progress")
        replies = [dict(zip(reply[::2], reply[1::2])) if words[0] == "HGETALL" or words[-1] == "WITHSCORES"
                   else reply for words, reply in zip(commands, self.link.pipeline(commands))]
        limited, limits_used, *limit_waits, pulled, pull_lingering, awaited, suspects, expiries = replies[-9:]
        del replies[-9:]
        jobs, crashes, attempts, kept, rates, sends, leases, lingering, dead, due, kept_until, dead_due, sends_until, turns, ready = replies[:15]
        buckets, holders, *ended = (replies[i:i + len(TOPICS)] for i in range(15, len(replies) - 7 - len(TOPICS), len(TOPICS)))
        held, (held_topics, held_number, waiting, behind, names, lines) = replies[-7 - len(TOPICS):-7], replies[-7:-1]
        self.keys = replies[-1]

        def scores(entries):
            return {name: float(score) if score == "inf" or "." in score else int(score) for name, score in entries.items()}

        def notes(entries):
            return {name: tuple(text.split(" ")) for name, text in entries.items()}

        return {
            "jobs": jobs, "leases": scores(leases), "dead": scores(dead), "dead_due": scores(dead_due),
            "ended": {f"{state}:{name}": at for state, parts in zip(ENDS, ended) for part in parts
                      for name, at in scores(part).items()}, "due": scores(due), "turns": turns,
            "ready": ready, "bucket": {name: at for part in buckets for name, at in scores(part).items()},
            "attempts": attempts, "kept": kept, "kept_until": scores(kept_until), "rates": scores(rates),
            "crashes": {name: (int(count), nonce) for name, (count, nonce) in notes(crashes).items()},
            "pulled": scores(pulled), "awaited": scores(awaited), "suspects": scores(suspects), "expiries": scores(expiries),
            "progress": dict(zip(progress[::2], progress[1::2])),
            "pull notes": {name: (int(claim[1]), claim[2]) for part in holders for name, claim in notes(part).items() if len(claim) == 4},
            "holders": {name: (claim[0], float(claim[-1])) for part in holders
                        for name, claim in notes(part).items() if "\n" not in name},
            "lingering": {tuple(name.split("\n")): at for name, at in scores(lingering | pull_lingering).items()},
            "pull lingering": {tuple(name.split("\n")) for name in pull_lingering},
            "lingering holders": {tuple(name.split("\n")): why for part in holders for name, why in part.items() if "\n" in name},
            "places": sum(len(part) for part in buckets), "waiting": int(waiting or 0), "behind": behind, "names": names,
            "held": {name: at for part in held for name, at in scores(part).items()}, "held topics": scores(held_topics),
            "lines": {topic: (int(at), float(score), job_id) for topic, (at, score, job_id) in notes(lines).items()},
            "outbox": dict(zip(ended_texts[::2], ended_texts[1::2])), "outbox ids": ended_ids, "outbox read": ended_read,
            "outbox last": dict(zip(ended_last[::2], ended_last[1::2])),
            "outbox numbers": [int(number or 0) for number in outbox_numbers[:-1]], "event bytes": [int(outbox_numbers[-1] or 0)],
            "limited": limited, "limits used": {name: int(number) for name, number in limits_used.items()},
            "limit waits": {name: scores(waiting) for name, waiting in zip("xy", limit_waits) if waiting},
            "openings": dict(zip(openings[::2], openings[1::2])), "openings wanted": set(wanted),
            "replies": {key: text for key, text in zip(answers[::2], answers[1::2]) if re.search(r"/[i\n]", key)},  # not those of lease
            "reply times": {key: int(at) for key, at in zip(answer_times[::2], answer_times[1::2]) if re.search(r"/[i\n]", key)},
            "held number": int(held_number or 0), "sends": sends, "sends_until": scores(sends_until),
        }

    def read_schedules(self):
        schedules, fired, skipped, until, fires, names = self.link.pipeline([
            ("HGETALL", BASE + "schedules"), ("HGETALL", BASE + "fired"),
            ("HGETALL", BASE + "skipped"), ("ZRANGE", BASE + "skipped_until", 0, -1, "WITHSCORES"),
            ("ZRANGE", BASE + "fires", 0, -1, "WITHSCORES"), ("ZRANGE", BASE + "schedule_names", 0, -1)])
        expected, expected_until = self.link.pipeline([("HGETALL", BASE + "expected"), ("ZRANGE", BASE + "expected_until", 0, -1, "WITHSCORES")])
        return {"expected": dict(zip(expected[::2], expected[1::2])), "expected until": dict(zip(expected_until[::2], map(int, expected_until[1::2]))),
                "schedules": dict(zip(schedules[::2], schedules[1::2])), "fired": dict(zip(fired[::2], fired[1::2])),
                "skipped": dict(zip(skipped[::2], skipped[1::2])), "skipped until": dict(zip(until[::2], map(int, until[1::2]))),
                "fires": dict(zip(fires[::2], map(int, fires[1::2]))), "schedule names": names}

    def read_workflows(self):
        places = sorted(self.pool.workflows.keys() | self.pool.open.keys())
        workflows, jobs, times, over, *parts = self.link.pipeline([
            ("HGETALL", BASE + "workflows"), ("HGETALL", BASE + "workflow_jobs"),
            ("ZRANGE", BASE + "workflow_times", 0, -1, "WITHSCORES"), ("ZRANGE", BASE + "workflows_over", 0, -1, "WITHSCORES"),
            *(words for place in places for words in (
                ("HGETALL", f"{BASE}workflow:{place}"), ("LRANGE", f"{BASE}elements:{place}", 0, -1), ("HGETALL", f"{BASE}open:{place}"),
                ("LRANGE", f"{BASE}element_jobs:{place}", 0, -1), ("HGETALL", f"{BASE}steps:{place}")))])
        fields, elements, ids, element_jobs, steps = ({place: part for place, part in zip(places, parts[i::5]) if part} for i in range(5))
        self.workflow_keys = [f"{BASE}{kind}:{place}" for kind in ("workflow", "elements", "element_jobs", "open", "steps") for place in places]
        return self.read_waits() | {
            "workflows": dict(zip(workflows[::2], workflows[1::2])), "workflow_jobs": dict(zip(jobs[::2], jobs[1::2])),
            "workflow_times": dict(zip(times[::2], map(int, times[1::2]))), "workflows_over": dict(zip(over[::2], map(int, over[1::2]))),
            "workflow": {place: dict(zip(part[::2], part[1::2])) for place, part in fields.items()}, "elements": elements,
            "open": {place: dict(zip(part[::2], part[1::2])) for place, part in ids.items()},
            "steps": {place: dict(zip(part[::2], part[1::2])) for place, part in steps.items()}, "element_jobs": element_jobs,
        }

    def read_waits(self):
        """Reads all keys about waits and events, including those that a workflow left after its end."""
        kinds = {"waits": "HGETALL", "waiters:": "ZRANGE", "events:": "LRANGE", "event_names:": "HGETALL"}
        keys = [(kind, key) for kind in kinds for key in self.keys if key == BASE + kind or kind[-1] == ":" and key.startswith(BASE + kind)]
        more = {"HGETALL": (), "LRANGE": (0, -1), "ZRANGE": (0, -1, "WITHSCORES")}
        replies = self.link.pipeline([(kinds[kind], key, *more[kinds[kind]]) for kind, key in keys]) if keys else ()
        found = {kind.strip(":"): {} for kind in kinds}
        for (kind, key), reply in zip(keys, replies):
            part = reply if kind == "events:" else dict(zip(reply[::2], map(int, reply[1::2]) if kind == "waiters:" else reply[1::2]))
            if kind == "waits":
                found[kind] = part
            else:
                found[kind.strip(":")][key[len(BASE + kind):]] = part
        self.workflow_keys += [key for _, key in keys]
        return found

    def check_waits(self, found, after):
        """Checks jobs that wait for events. A wait must end only once: by its event or at its deadline. An event must be kept or
        taken once. Workflows that are over must have neither waits nor events."""
        waiting = {job_id for job_id, text in found["workflow_jobs"].items() if text.startswith("w ")}
        expect(found["waits"].keys() == waiting, "waits", found["waits"], "of", waiting, "after", after)
        for place, elements in found["elements"].items():
            ends = [element[2:] for element in elements if element[1] in "wn"]
            expect(len(set(ends)) == len(ends), "a wait of", place, "ended twice:", elements, "after", after)
            pending = [text.split("=")[1] for job_id, text in found["waits"].items() if self.pool.members[job_id][3] == place]
            expect(not set(ends) & set(pending), "a wait of", place, "ended and goes on:", elements, pending, "after", after)
        for place in found["event_names"]:
            expect(found["workflow"].get(place, {}).get("state") == "active", place, "is over and has events, after", after)

    def check_workflows(self, found, after):
        """Checks that the jobs of workflows are in the pool, and that their workflows are active. pool.py checks that an accepted
        step stays in the list of elements."""
        places = {job_id: text.split(" ", 3)[3] for job_id, text in found["workflow_jobs"].items()}
        expect(places.keys() <= found["jobs"].keys(), "jobs of workflows that are not in the pool:", places, "after", after)
        opened = {job_id: place for place, ids in found["open"].items() for job_id in ids}
        expect(opened == places, "jobs of workflows", places, "are", opened, "after", after)
        for place in places.values():
            expect(found["workflow"][place]["state"] == "active", place, "is over and has jobs, after", after)
        self.check_waits(found, after)

    def check_quotas(self, after):
        """Checks the index of the topics with a quota. A topic without a quota may be in it."""
        entries = self.link("ZRANGE", BASE + "quotas", 0, -1, "WITHSCORES")
        for topic, number in zip(entries[::2], entries[1::2]):
            expect(self.pool.quota_of(topic) is None or int(number) == self.pool.pending(topic), topic, "after", after, "is counted as", number)

    def check_keyspace(self, after):
        found = self.read_keyspace() | self.read_schedules() | self.read_workflows()
        self.check_invariants(found, after)
        self.check_workflows(found, after)
        self.check_quotas(after)
        for name, expected in self.pool.keyspace().items():
            expect(found[name] == expected, name, "after", after, "is", found[name], "instead of", expected)
        names = [BASE + name for name in ("jobs", "leases", "lingering", "dead", "due", "turns", "ready", "crashes", "attempts",
                                          "kept", "kept_until", "dead_due", "carry", "topics", "patterns", "meta", "rates", "numbers",
                                          "behind", "names", "survey", "held", "lines", "sends", "sends_until", "limits", "limited", "limits_used",
                                          "schedules", "fired", "fires", "schedule_names", "skipped", "skipped_until", "expected", "expected_until",
                                          "pulled", "progress", "pull_lingering", "pull_waiters", "waited", "suspects", "expiries", "quotas", "idempotency", "windows", "openings", "openings_wanted", "certificates", "alerting", "alerts", "history", "ended", "ended_ids", "ended_read", "ended_last",
                                          "workflows", "workflow_jobs", "workflow_times", "workflows_over")]
        names += self.workflow_keys
        names += [f"{BASE}{kind}:{name}" for kind in ("waiting", "limit_users", "begun") for name in ("x", "y", "~x", "~y")]
        names += [f"{BASE}{kind}:{topic}" for kind in ("bucket", "held", "holders", "begun", *ENDS) for topic in TOPICS]
        foreign = {key for key in self.keys if not re.fullmatch(re.escape(BASE) + r"((hour|failures|breaker|completed):.*|resumed)", key)} - set(names)
        expect(not foreign, "keys", self.keys)
        self.listen()
        for worker in self.workers:
            first = min(found["due"].values(), default=INF)
            if worker.is_owner and worker.clock and not worker.is_frozen and first < INF:
                expect(worker.armed_ms <= max(first, self.pool.now), "the carry worker sleeps until",
                       worker.armed_ms, "but", first, "is due, after", after)

    def check_invariants(self, found, after):
        jobs, bucket, leases = found["jobs"], found["bucket"], found["leases"] | found["pulled"]
        expect(len(leases) == len(found["leases"]) + len(found["pulled"]), "two leases of a job after", after)
        for job_id in jobs:
            places = [job_id in place for place in (bucket, leases)]
            expect(sum(places) == 1, job_id, "is in", places, "after", after)
        expect(len(jobs) == found["places"] + len(leases), "places without a job after", after)
        expect(set(found["holders"]) == set(leases), "holders", found["holders"], "leases", leases)
        lingering = set(found["lingering"])
        expect(found["pull lingering"] == {place for place in lingering if is_pulled(place[1])}, "lingering", lingering)
        expect(set(found["pull notes"]) == set(found["pulled"]), "notes", found["pull notes"], "of", found["pulled"])
        reasons = {place: "replaced" if place in self.pool.replaced else "" for place in lingering}
        expect(found["lingering holders"] == reasons, "holders", found["lingering holders"], "lingering", reasons)
        expect(set(found["crashes"]) <= set(jobs), "crashes of no job after", after)
        suspects = [job_id for job_id, (nonce, _) in found["holders"].items()
                    if not is_recovering(nonce) and not is_pulled(nonce) and found["crashes"].get(job_id, (0,))[0] >= SUSPECT_LOSSES]
        expect(len(suspects) <= 1, "suspects in flight", suspects, "after", after)
        expect(set(found["attempts"]) <= set(jobs), "attempts of no job after", after)
        dated = set(found["kept_until"]) | set(found["dead"])
        expect(set(found["kept"]) == dated and len(found["ended"]) == len(dated), "kept", found["kept"], "dated", dated)
        expect(len(found["ready"]) <= 1, "bells", found["ready"])
        expect(found["waiting"] == found["places"], "waiting", found["waiting"], "of", found["places"], "after", after)
        behind = [topic for topic, at in found["due"].items()
                  if at > min((int(due) for job_id, due in bucket.items() if topic_of(job_id) == topic), default=-1)]
        expect(found["held number"] == len(found["held"]), "held", found["held number"], found["held"], "after", after)
        expect(found["held"].keys() <= bucket.keys(), "held", found["held"], "that do not wait, after", after)
        firsts = {topic: min(at for job_id, at in found["held"].items() if topic_of(job_id) == topic)
                  for topic in map(topic_of, found["held"])}
        expect(found["held topics"] == firsts, "held", found["held topics"], "instead of", firsts, "after", after)
        names = {topic_of(job_id) for place in (bucket, leases, found["kept"]) for job_id in place}
        names |= {topic_of(job_id) for job_id, _ in found["lingering"]}
        names |= self.pool.settings.keys()
        expect(found["names"] == sorted(names), "names", found["names"], "instead of", names, "after", after)
        expect(found["behind"] == sorted(behind), "behind", found["behind"], "instead of", behind, "after", after)
        for topic in TOPICS:
            times = [int(at) for job_id, at in bucket.items() if topic_of(job_id) == topic]
            calendar = [topic in found["due"], topic in found["turns"]]
            expect(sum(calendar) == bool(times), topic, "is in due, turns:", calendar, "after", after)
            at = found["due"].get(topic)
            in_flight = sum(topic_of(job_id) == topic for job_id in [*leases, *(job_id for job_id, _ in lingering)])
            pushed = sum(topic_of(job_id) == topic for job_id in [*found["leases"], *(job_id for job_id, nonce in lingering if not is_pulled(nonce))])
            if not self.pool.is_pull(topic):
                self.highest_limits[topic] = max(self.highest_limits[topic], self.pool.limit_of(topic))
            expect(pushed <= self.highest_limits[topic], topic, "has", pushed, "in flight after", after)
            is_held = self.pool.settings_of(topic) or in_flight >= self.pool.limit_of(topic)
            expect(at is None or at == min(times) or is_held and at > min(times), topic, "is due", at, "after", after)

    def listen(self):
        """Passes Redis's published messages on to the carry workers."""
        self.listener.send("PING")
        called, is_told = set(), False
        while (message := self.listener.receive())[0] == "message":
            if message[2].startswith("pull "):
                called.add(message[2][len("pull "):])
                continue
            is_told = is_told or message[2] == "openings"
            for worker in self.workers:
                if worker.is_frozen:
                    continue
                if message[2] == "carry" or message[2] == "openings" and worker.is_owner:
                    worker.tick_at_us = 0
                elif message[2].isdigit():
                    worker.armed_ms = min(worker.armed_ms, int(message[2]))
        expect(called == set(self.pool.calls), "waiting processes of", called, "were called instead of", self.pool.calls)
        expect(is_told == self.pool.asks_for_openings, "openings are wanted:", self.pool.asks_for_openings, "and told:", is_told)
        self.pool.calls, self.pool.asks_for_openings = [], False

    # ---- upkeep ----

    def run_carry_worker(self, worker):
        while not worker.is_frozen:
            is_tick = self.boot_us >= worker.tick_at_us
            if is_tick:
                worker.tick_at_us = self.boot_us + 1_000_000
            if not is_tick and worker.armed_ms + (0 if worker.is_owner else PATIENCE_MS) > self.pool.now:
                return
            if self.is_away:
                worker.clock, worker.armed_ms = None, INF
                return
            self.carry(worker, is_tick)

    def carry(self, worker, is_tick, most=None):
        most = most or self.chance.choice((1, 2, 256))
        is_stuck = not worker.is_owner and worker.seen and self.boot_us - worker.seen_us >= STUCK_US
        owner, beat = worker.seen if is_stuck else ("", 0)
        answer = self.call("carry", worker.name, int(is_tick), most, owner, beat, LEASE_MS, PATIENCE_MS)
        worker.hear(self.pool.now_us, self.boot_us)
        if answer[0] != worker.name:
            worker.is_owner, worker.armed_ms = False, INF if answer[2] < 0 else answer[2]
            if worker.seen != (answer[0], answer[1]):
                worker.seen, worker.seen_us = (answer[0], answer[1]), self.boot_us
            self.check("carry", (worker.name, is_tick), answer[2:], [*self.pool.carry(most, is_tick, False), self.chores(is_tick, False), *self.next_fire(is_tick)])
            return
        if not worker.is_owner:
            worker.is_owner, worker.seen = True, None
            worker.disturbed_us = self.boot_us
        next_due, until_lost, offered = self.pool.carry(most, is_tick, True)
        worker.armed_ms = INF if answer[2] < 0 else answer[2]
        self.check("carry", (worker.name, is_tick), answer[2:], [next_due, until_lost, offered, self.chores(is_tick, True), *self.next_fire(is_tick)])
        if offered < most:
            self.check_calendar()
        if "w" in answer[5] and self.chance.random() < 0.9:
            self.step_openings()
        if until_lost == 0 and self.boot_us - worker.disturbed_us >= LEASE_MS * 1000:
            expected = self.pool.now
            if self.chance.random() < 0.1:
                self.step_clock()  # the clock steps after the leases were listed and before they are ended
            self.recover(expected, self.chance.choice((1, MANY)))
            self.lapse(expected, self.chance.choice((1, MANY)))

    def chores(self, is_tick, is_owner):
        """Returns a word of carry's answer: a letter for each call that has work to do. Positions of walks and rates are
        read from Redis, because the pool does not have them."""
        pool, has = self.pool, lambda *keys: self.link("EXISTS", *(BASE + key for key in keys)) > 0
        walks = self.link("HMGET", BASE + "meta", "redate", "reoffer", "reoffer_lines", "resume_held")
        found = {
            "t": is_tick and pool.turns,
            "f": is_owner and (pool.has_old_keys() or is_tick and pool.has_old_sends()),
            "e": is_owner and is_tick and min(pool.expiries.values(), default=INF) <= pool.now + 1000,
            "s": is_owner and is_tick and (walks[0] or pool.kept or pool.dead_due or has("rates")),
            "o": is_owner and is_tick and (any(walks[1:]) or has("resuming")),
            "a": is_owner and is_tick and (pool.outbox or pool.outbox_ids or pool.outbox_read),
            "w": is_owner and is_tick and pool.openings_wanted,
        }
        return "".join(letter for letter, is_there in found.items() if is_there)

    def check_calendar(self):
        """Checks that after a carry, a topic is in turns exactly if it has a due job and is below its limits. If a rate
        allows the next attempt later within the present ms, the topic gets its turn in the next ms."""
        for topic in TOPICS:
            waiting = self.pool.waiting(topic)
            if waiting and self.pool.is_due(waiting[0][0]):
                comes = self.pool.due.get(topic) == self.pool.soonest
                # After a clock step, a topic may wait for the old end of its rate's window, although the window would allow an attempt.
                waits = self.pool.now < self.pool.due.get(topic, 0) < self.window_ends.get(topic, 0) + 1
                expect(topic in self.pool.turns or self.pool.held_until(topic) or comes or waits or self.is_behind(topic) or self.pool.is_pull(topic),
                       topic, "is stuck")

    def is_behind(self, topic):
        """Returns whether a topic waits for its limit behind a topic that is in turns. The limit's rate may have gained tokens since then; the
        topic is offered when the first one has had its turn."""
        waiting = self.pool.limit_waits.get(self.pool.shared(topic), {})
        return topic in waiting and min(waiting, key=waiting.get) in self.pool.turns

    def recover(self, expected, most):
        self.nonces += 1
        nonce = f"!{self.nonces}"
        answer = self.call("recover", "consumers", LEASE_MS, expected, most, self.chance.randrange(2 ** 32), nonce)
        found = self.read_keyspace()
        self.check("recover", ("consumers", expected, most), answer, self.pool.recover(expected, most, nonce, found["bucket"], found["lines"]))
        if answer[0] > 0 and self.chance.random() < 0.8:  # otherwise the process that listed the leases dies
            self.doomed += [(job_id, nonce, record) for job_id, nonce, _, _, record in self.jobs_in(answer)]
        if self.chance.random() < 0.7:
            self.step_bury()

    def jobs_in(self, answer):
        """The jobs in an answer of recover: id, nonce, due time, time of the lease, record."""
        return [tuple(answer[2 + 5 * i:7 + 5 * i]) for i in range(answer[1] if len(answer) > 1 else 0)]

    def lapse(self, expected, most):
        """Ends the workers' leases that have run out as failed attempts, unless the process that listed them dies first."""
        answer = self.call("recover", "workers", LEASE_MS, expected, most, 1, "!0")
        self.check("recover", ("workers", expected, most), answer, self.pool.recover_workers(expected, most))
        listed = self.jobs_in(answer)
        if self.chance.random() < 0.2:
            return
        if self.chance.random() < 0.2:
            self.step_pull_end()  # a worker ends its lease late, but before the carry worker does
        for script in ("retry", "bury"):
            chosen = [job for job in listed if (len(job[4]) % 2 == 0) == (script == "bury")]
            more = {"retry": (self.chance.choice((0, 700)), "lapsed", "1 1 2 lease_expired"), "bury": ("lapsed", "")}[script]
            items = [(job_id, nonce, *more) for job_id, nonce, *_ in chosen]
            for (job_id, nonce, *_), is_done in zip(items, self.call_items(script, (), items) if items else ()):
                if is_done > 0:
                    self.end_pulled(script, job_id, more)

    def end_pulled(self, script, job_id, more):
        life = self.lives[job_id]
        life.changes += 1
        if script == "complete":
            life.ended = "delivered"
            del self.lives[job_id]
        elif script == "bury":
            self.die(job_id)
        elif script == "retry":
            life.due = self.pool.soonest + more[0]

    # ---- workers that pull ----

    def step_lease(self):
        """Sends the lease requests of one turn. The process may die before it has the reply, and another request may repeat its idempotency key."""
        if self.is_away:
            return
        items = []
        for _ in range(self.chance.choice((1, 1, 2))):
            self.nonces += 1
            topic = self.chance.choice([topic for topic in OWNERS if self.pool.is_pull(topic)] * 5 + list(OWNERS))
            once = "-" if self.chance.random() < 0.7 else f"{self.chance.choice('ffg')} {topic}/{self.chance.randrange(3)}"
            items.append((topic, self.chance.choice((1, 2, 9)), f"p{self.nonces:x}", self.chance.choice((1000, 4000, 20000)),
                          self.chance.choice((0, 0, 3000)), once, ""))
        loses_reply = self.chance.random() < 0.15
        before = {job_id: at for job_id, at in self.pool.pulled.items() if at > self.pool.now}
        answer = self.call_items("lease", (), items)
        for (topic, _, nonce, lease_ms, _, once, _), result in zip(items, answer):
            if isinstance(result, int):
                continue
            if not result[1]:
                jobs = [(result[i], result[i + 4]) for i in range(5, len(result), 5)]
                self.check_rate(topic, nonce, sum(not is_expired(record, self.pool.now) for _, record in jobs))
            for i in range(5, len(result), 5):
                self.note_pulled(result[i:i + 5], result[0], result[1], before, loses_reply)
            if loses_reply and once == "-":
                self.lost_pulls.append((nonce, lease_ms, self.boot_us))

    def note_pulled(self, job, nonce, is_repeated, before, is_lost):
        job_id, due, _, _, record = job
        life = self.lives.get(job_id)
        expect(life, job_id, "was leased after its end")
        expect(is_repeated or job_id not in before, job_id, "was leased twice within a lease")
        expect(is_repeated or self.is_due(life), job_id, "was leased early:", life.due, self.pool.now)
        expect(is_repeated or self.pool.is_open(topic_of(job_id)), job_id, "was leased while its windows are closed")
        life.due = min(life.due, due)
        self.past.append((job_id, nonce))
        if not is_lost and not is_repeated:
            self.pulled.append(Pulled(job_id, nonce, life, record))

    def step_pull_end(self):
        """Workers end their leases: some of them late, twice, or with the token of another lease."""
        if self.is_away or not self.pulled:
            return
        held = [lease for lease in self.pulled[-30:] if self.pool.verdict(lease.id, lease.nonce) == "lease"]
        leases = [self.chance.choice(held if held and self.chance.random() < 0.8 else self.pulled[-30:]) for _ in range(self.chance.choice((1, 2)))]
        script = self.chance.choice(("complete", "complete", "retry", "bury", "renew", "release", "pulled"))
        if script == "pulled":
            items = [(lease.id, lease.nonce) for lease in leases]
            self.check("pulled", items, self.call("pulled", *[word for item in items for word in item]), self.pool.read_pulled(items))
            return
        more = {"complete": ("",), "retry": (self.chance.choice((0, 500, 4000)), '{"p":1}', "1 1 2 worker"), "bury": ('{"p":2}', ""),
                "renew": (self.chance.choice((1000, 9000)), self.chance.choice(("", "0.5", '{"n":1}'))), "release": (-1, 0, "-", 0)}[script]
        if script == "complete":
            self.complete_pulled(leases)
            return
        items = [(lease.id, lease.nonce, *more) for lease in leases]
        held = dict(self.pool.pulled)
        for lease, is_done in zip(leases, self.call_items(script, (), items)):
            if is_done > 0 and script in ("retry", "bury"):
                self.end_pulled(script, lease.id, more)
            if script == "renew":
                continue
            is_first = lease.id in held
            expect((is_done > 0) <= is_first, lease.id, script, "ended a lease that was over")

    def completed_by(self, nonce):
        """Returns the ids that Redis still lists as completed with this token."""
        fields = self.link("HGETALL", f"{BASE}completed:{nonce}")
        return {word for field in fields for word in field.split("\n") if word}

    def complete_pulled(self, leases):
        """Completes the leases. If a job has callbacks, the process reads it first."""
        items = []
        if not leases:
            return
        for lease in {lease.id: lease for lease in leases}.values():
            holds = self.pool.verdict(lease.id, lease.nonce) == "lease"
            has_callbacks = holds and self.pool.pull_notes[lease.id][1] == "+"
            if has_callbacks and self.chance.random() < 0.3:
                answer = self.call("complete", lease.id, lease.nonce, "")
                expect(answer == [-34], lease.id, "with callbacks is completed unread:", answer)
                self.check_keyspace("a complete that was refused")
            items.append((lease.id, lease.nonce, "1 1 2 200" if has_callbacks else ""))
        remembered = [(job_id, nonce) for job_id, nonce, _ in items if job_id in self.completed_by(nonce)]
        follow = [entry for entry in self.some_follow(items) if items[entry[0] - 1][2]]
        flat = [word for item in items for word in item] + [word for entry in follow for word in entry] + ([f"+{len(follow)}"] if follow else [])
        answer = self.call("complete", *flat)
        self.pool.follow = follow
        self.check("complete", flat, answer, self.pool.complete(items, remembered))
        self.pool.follow = ()
        for (job_id, *_), result in zip(items, answer):
            if result > 2:
                self.end_pulled("complete", job_id, ())
        done = [item for item, result in zip(items, answer) if result > 2]
        if done and self.chance.random() < 0.2:
            words = [word for job_id, nonce, _ in done for word in (job_id, nonce, "")]
            expect(self.call("complete", *words) == [2] * len(done), done, "is completed again in vain")
        for number, job_id, when, _ in follow:
            if answer[number - 1] > 2:
                self.lives[job_id] = Life(job_id, self.pool.due_of(when)[0])

    def step_abandon_pulled(self):
        """Releases the jobs that a call without a reply has leased."""
        if self.is_away or not self.lost_pulls:
            return
        self.abandon(*self.lost_pulls.pop(0), 1000)

    def step_bury(self):
        """Buries the jobs that recovery has listed, unless they have changed since then."""
        if self.is_away or not self.doomed:
            return
        items = [(*doomed, "") for doomed in self.doomed]
        self.doomed = []
        for (job_id, *_), is_done in zip(items, self.call_items("bury", (), items, self.some_follow(items))):
            if is_done > 0:
                self.lives[job_id].changes += 1
                self.die(job_id)

    def step_expire(self):
        """Lists the jobs that have expired. Buries those that an earlier step listed, unless they have changed since then."""
        if self.is_away:
            return
        listed, self.expired = self.expired, []
        most, expected = self.chance.choice((1, 9)), self.pool.now + self.chance.choice((0, 0, 0, 5000))
        answer = self.call("expire", most, expected)
        self.check("expire", (most, expected), answer, self.pool.expire(most, expected))
        for i in range(2, 2 + 5 * (answer[1] if len(answer) > 1 else 0), 5):
            self.expired.append((answer[i], answer[i + 1], answer[i + 4]))
        if self.chance.random() < 0.5:  # otherwise other calls come first, or the process dies
            listed += self.expired
        items = [(job_id, nonce, record, "") for job_id, nonce, record in listed]
        held = {job_id for job_id in self.lives if self.pool.deadline(job_id)}
        for (job_id, _, record, _), is_done in zip(items, self.call_items("bury", (), items, self.some_follow(items)) if items else ()):
            if is_done > 0:
                expect(is_expired(record, self.pool.now) and job_id not in held, job_id, "was buried, and has not expired:", record)
                self.lives[job_id].changes += 1
                self.die(job_id)

    # ---- consumers ----

    def can_call(self, consumer):
        return not (consumer.is_frozen or consumer.is_cut or self.is_away)

    def renew(self, consumer):
        if not self.can_call(consumer):
            return
        consumer.renew_at_us = self.boot_us + 2_000_000
        attempts = [attempt for attempt in consumer.attempts if not attempt.is_lost or attempt.is_lingering]
        if not attempts:
            return
        items = [(attempt.id, attempt.nonce, LEASE_MS, "") for attempt in attempts]
        for attempt, verdict in zip(attempts, self.call_items("renew", (), items)):
            attempt.is_lost, attempt.is_lingering = verdict <= 0, verdict < 0
            if verdict:
                attempt.renewed_us = self.boot_us

    def may_post(self, attempt):
        return not attempt.is_lost and self.is_inside_lease(attempt)

    def without_holds(self, answer):
        """Returns the answer of a claim with the due times alone. The time of a job that was held, or whose topic was paused, has the end
        of the hold behind it."""
        answer = list(answer)
        for at in range(4, 3 + 3 * int(answer[2]), 3):
            due, *free = map(int, str(answer[at]).split(" "))
            expect(not free or due < free[0] <= self.pool.now, "a hold ended at", free, "of a job that was due at", due)
            answer[at] = due if isinstance(answer[at], int) or free else answer[at]
        return answer

    def claim(self, consumer, loses_reply):
        slots = SLOTS - len(consumer.attempts)
        if slots <= 0 or not self.can_call(consumer):
            return
        self.nonces += 1
        nonce = f"n{self.nonces:x}"
        if consumer.lost_claim:
            self.abandon(*consumer.lost_claim, 86_400_000)
        consumer.lost_claim = (nonce, LEASE_MS, self.boot_us) if loses_reply else None
        if loses_reply and self.chance.random() < 0.3:
            self.abandon(*consumer.lost_claim, 86_400_000)  # Redis runs abandon before the claim that it belongs to
        most_bytes = self.chance.choice((1, 80, 1_000_000))
        kind = self.chance.choice((0, 0, 1, 2))  # 1 or 2: the claim carries first; 2: it wakes no carry worker, see below
        answer = self.call("claim", slots, nonce, LEASE_MS, SHARE, most_bytes, kind)
        if kind:
            self.pool.carry_for_claim()
        claims = self.pool.claim(slots, nonce, SHARE, most_bytes)
        flat = [word for claim in claims for word in claim]
        told = [(topic, self.pool.told_settings(topic)) for topic in self.pool.served if self.pool.told_settings(topic)]
        flat += [word for pair in told for word in pair]
        if kind:
            flat.append(self.pool.next_due())
            for worker in self.workers:
                worker.armed_ms = min(worker.armed_ms, INF if flat[-1] < 0 else flat[-1])
        self.check("claim", (slots, nonce, most_bytes, kind), self.without_holds(answer), [len(self.pool.turns), 0, len(claims), *flat])
        for topic in TOPICS:
            self.check_rate(topic, nonce, sum(topic_of(claim.id) == topic and not is_expired(claim.record, self.pool.now)
                                              for claim in claims))
        for claim in claims:
            life = self.lives.get(claim.id)
            expect(life, claim.id, "was claimed after its end")
            expect(self.is_due(life), claim.id, "was claimed early:", life.due, self.pool.now)
            expect(self.pool.is_open(topic_of(claim.id)), claim.id, "was claimed while its windows are closed")
            life.due = min(life.due, claim.due)  # the job no longer waits for its receiver
            self.past.append((claim.id, nonce))
            if not loses_reply:
                consumer.attempts.append(Attempt(claim, nonce, self.pool.now, self.boot_us, life))
                if is_expired(claim.record, self.pool.now):
                    consumer.attempts[-1].outcome = ("bury", (claim.record, ""))
                    consumer.attempts[-1].changes = life.changes

    def abandon(self, nonce, lease_ms, sent_us, spare_ms):
        items = nonce, self.chance.choice((1, 2, MANY)), lease_ms - (self.boot_us - sent_us) // 1000 - spare_ms, lease_ms + spare_ms
        self.check("abandon", items, self.call("abandon", *items), self.pool.abandon(*items))

    def is_running(self, attempt):
        """Returns whether the attempt is at its receiver and, as far as its consumer knows, counts as in flight."""
        has_place = not attempt.is_lost or attempt.is_lingering
        return attempt.is_posting and not attempt.outcome and has_place and self.is_inside_lease(attempt)

    def is_inside_lease(self, attempt):
        return self.boot_us < attempt.renewed_us + LEASE_MS * 1000 - SPARE_US

    def post(self, attempt):
        life = attempt.life
        attempt.is_posting = True
        attempt.changes = life.changes
        life.posts += 1
        expect(life.ended in (None, "cancelled while leased"), attempt.id, "is POSTed although", life.ended)
        topic = topic_of(attempt.id)
        running = [other.id for consumer in self.consumers for other in consumer.attempts
                   if topic_of(other.id) == topic and self.is_running(other)]
        expect(len(running) <= self.highest_limits[topic], topic, "has at its receiver", running)
        for consumer in self.consumers:
            for other in consumer.attempts:
                is_same = other is not attempt and other.life is life and other.is_posting
                expect(not (is_same and self.may_post(other) and not other.outcome), attempt.id,
                       "is POSTed by two within their leases")

    def learn(self, attempt):
        what = self.chance.choices(("complete", "retry", "bury", "defer"), (10, 6, 4, 3))[0]
        record = re.sub(r"\d{3}}$", f"{self.chance.randrange(100, 1000)}}}", attempt.record)
        if what == "retry":  # the flag a: the job was attempted
            record = re.sub(r'("head":"1 \d+ 0 0 )(?:-|([^ a]+)a?) ', r"\1\2a ", record)
        line = self.chance.choice(("", attempt.nonce))
        more = {"complete": (line,), "retry": (self.chance.choice((-1, 0, 500, 4000)), record, line), "bury": (record, line),
                "defer": (self.chance.choice((1000, 4000, 20000)), self.pool.now - 7, self.chance.choice("+-"))}
        attempt.outcome = (what, more[what])

    def record(self, attempts, loses_reply, is_doubled):
        """Sends the outcomes of one kind in one call. The attempts may belong to several consumers."""
        script = attempts[0].outcome[0]
        attempts = [attempt for attempt in attempts if attempt.outcome[0] == script]
        items = [(attempt.id, attempt.nonce, *attempt.outcome[1]) for attempt in attempts]
        if is_doubled:
            items *= 2
        holders, crashes, kept = dict(self.pool.holders), dict(self.pool.crashes), dict(self.pool.kept)
        answer = self.call_items(script, (), items, () if script == "defer" else self.some_follow(items))
        for attempt, is_done in zip(attempts, answer):
            life = attempt.life
            if is_done > 0:
                if attempt.id not in self.lives:
                    self.revive(attempt.id)
                expect(self.lives.get(attempt.id) is life, attempt.id, "is another job that an outcome met")
                self.end_attempt(script, attempt)
            else:
                last = crashes.get(attempt.id, (0, attempt.nonce))[1]
                if attempt.id in holders and not is_recovering(holders[attempt.id][0]):
                    last = holders[attempt.id][0]
                elif attempt.id in self.deaths:
                    last = str(kept[attempt.id][2]).partition("/")[2]
                is_other = self.lives.get(attempt.id, life) is not life
                is_superseded = is_other or life.ended or life.changes > attempt.changes or last != attempt.nonce
                is_superseded = is_superseded or script == "defer" and holders.get(attempt.id, ("",))[0] != attempt.nonce  # only a lease can be handed over
                expect(is_superseded, attempt.id, script, "was refused for no reason")
        if not loses_reply:
            for consumer in self.consumers:
                consumer.attempts = [attempt for attempt in consumer.attempts if attempt not in attempts]

    def die(self, job_id):
        """Removes the job from the pool. An earlier dead job with its id is no longer kept."""
        if job_id in self.deaths:
            self.deaths[job_id][0].ended = "dead, and another one since"
        self.deaths[job_id] = self.lives.pop(job_id), self.pool.now

    def revive(self, job_id):
        self.lives[job_id] = self.deaths.pop(job_id)[0]

    def forget_deaths(self):
        """Drops dead jobs that are no longer kept."""
        dead = self.pool.dead
        for job_id, (life, at) in list(self.deaths.items()):
            if dead.get(job_id) != at:
                life.ended = "dead, and gone"
                del self.deaths[job_id]

    def end_attempt(self, script, attempt):
        life = attempt.life
        life.changes += 1
        if script == "complete":
            life.ended = "delivered"
            del self.lives[attempt.id]
        elif script == "bury":
            self.die(attempt.id)
        elif script == "retry" and attempt.outcome[1][0] >= 0:
            life.due = self.pool.soonest + attempt.outcome[1][0]
        elif script == "defer":
            self.pulled.append(Pulled(attempt.id, "p-" + attempt.nonce, life, attempt.record))

    # ---- steps ----

    def some_ids(self):
        """Returns some ids. Prefers dead jobs, because they are few."""
        ids = [self.chance.choice(SENT_IDS if self.chance.random() < 0.1 else IDS) for _ in range(self.chance.choice((1, 1, 2, 3)))]
        if self.pool.replies and self.chance.random() < 0.1:
            ids.append(self.chance.choice(sorted(reply[3] for reply in self.pool.replies.values())))
        return ids + [self.chance.choice(sorted(self.pool.dead))] if self.pool.dead and self.chance.random() < 0.2 else ids

    def some_when(self):
        due = self.pool.now + self.chance.randrange(-5000, 5000)
        return self.chance.choice(("0", "0", "1", str(self.chance.randrange(8000)), f"@{due}"))

    def some_record(self):
        """Returns the record of a new job without its beginning: with a head, or as earlier versions wrote it."""
        ttl = self.chance.choice((None, None, 0.4, 3, 60))
        members = ('' if ttl is None else f'"url":"h","ttl":{ttl},') + f'"r":{self.chance.randrange(100, 1000)}'
        if self.chance.random() < 0.3:
            return members + "}"
        expires = 0 if ttl is None else f"+{round(ttl * 1000)}"
        return f'"head":"1 {expires} 0 0 {self.chance.choice("---c")} {len(members) + 2} ",{members}}}'

    def some_tags(self, job_id):
        """Returns a random condition for a change of the job: none, or tags of which the job must have one."""
        seen = self.pool.tag(job_id) if job_id in self.pool.jobs else "-"
        dead = self.pool.dead_tag(job_id) if job_id in self.pool.dead else seen
        return self.chance.choice(("", "", "*", seen, dead, f"- {seen}", "0" * 40))

    def step_schedule(self):
        if self.is_away:
            return
        max_jobs = self.chance.choice((0, 0, 0, 6))
        items = [(job_id, self.some_when(), self.some_record(), self.some_once(topic_of(job_id))) for job_id in self.some_ids()]
        self.schedule(max_jobs, items)

    def schedule(self, max_jobs, items):
        answer = self.call_items("schedule", (max_jobs, 86400000), items)
        for item, due in zip(items, answer):
            if isinstance(due, int) and due >= 0:
                expect(item[0] not in self.lives, item[0], "was accepted twice")
                self.lives[item[0]] = Life(item[0], due)

    def some_once(self, topic):
        """Returns the last argument of an item of schedule: an idempotency key, a throttle, both or neither."""
        once = "-" if self.chance.random() < 0.85 else f"{self.chance.choice('ffg')} {topic}/i{self.chance.randrange(2)}"
        per = self.chance.choice((0, 0, 0, 700, 5000, 60000))
        return f"{once}\nthrottle {per} {topic}/\nthrottle\n{self.chance.choice('kl')}" if per else once

    def step_debounce(self):
        if self.is_away:
            return
        items = []
        for _ in range(self.chance.choice((1, 1, 2, 3))):
            self.debounces += 1
            topic, wait = self.chance.choice(OWNERS), self.chance.choice((1, 400, 3000))
            most = self.chance.choice((wait, 2 * wait, 9000))
            items.append((f"{topic}/d{self.debounces}", "0", self.some_record(), f"~{wait} {most} {topic}/\ndebounce\n{self.chance.choice('kl')}"))
        self.chance.shuffle(items)
        items += self.chance.choice(([], [], [(self.some_ids()[-1], "0", self.some_record(), "")]))
        self.replace(items)

    def step_schedule_all(self):
        if self.is_away:
            return
        items = []
        for _ in range(self.chance.choice((1, 1, 2))):
            ids = [self.chance.choice(IDS) for _ in range(self.chance.choice((1, 2, 2, 3)))]
            items.append((len(ids), *(word for job_id in ids for word in (job_id, self.some_when(), self.some_record(), "-"))))
        answer = self.call_items("schedule_all", (self.chance.choice((0, 0, 0, 6)), 86400000), items)
        for (number, *words), result in zip(items, answer):
            if isinstance(result, list):
                expect(len(result) == number, "was scheduled in part:", words, result)
                for job_id, due in zip(words[::4], result):
                    expect(job_id not in self.lives, job_id, "was accepted twice")
                    self.lives[job_id] = Life(job_id, due)

    def step_replace(self):
        if self.is_away:
            return
        items = [(job_id, self.some_when(), self.some_record(),
                  self.chance.choice((self.some_tags(job_id), "!" + (self.some_tags(job_id) or "*")))) for job_id in self.some_ids()]
        self.replace(items)

    def replace(self, items):
        for (job_id, *_), place in zip(items, self.call_items("replace", (self.chance.choice((0, 0, 6)),), items)):
            if isinstance(place, list):
                job_id = place[3] if len(place) > 3 else job_id
                expect((place[2] > 0) == (job_id in self.lives), job_id, "was there:", place)
                self.end_replaced(job_id, place[2] == 2)
                self.lives[job_id] = Life(job_id, place[0])

    def end_replaced(self, job_id, was_leased):
        if job_id in self.lives:
            self.lives[job_id].ended = "cancelled while leased" if was_leased else "replaced"
        if was_leased and self.pool.retention(job_id) and job_id in self.deaths:
            self.deaths.pop(job_id)[0].ended = "dead, and another one since"

    def step_change(self):
        if self.is_away:
            return
        items = []
        for job_id in self.some_ids():
            seen = self.chance.choice((self.some_tags(job_id) or "*", "*"))
            when = self.chance.choice(("-", "-", self.some_when(), self.some_when(), "!"))
            keeps_record = when not in "-!" and self.chance.random() < 0.3
            created = re.match(r'({"createdAt":(\d+),)?', self.pool.jobs.get(job_id, ""))[2] or 1
            items.append((job_id, seen, when, "" if keeps_record else record_of(int(created), self.some_record())))
        held = {job_id: self.pool.held.get(job_id) for job_id, *_ in items}
        answer = self.call_items("change", (), items)
        for (job_id, _, when, _), due, seen in zip(items, answer, self.pool.met):
            if due >= 0 and seen == "dead":
                self.deaths[job_id][0].changes += 1
            elif due >= 0 and job_id in self.lives:  # otherwise a later item has buried a job of its workflow
                self.lives[job_id].changes += 1
                if when == "!":
                    self.die(job_id)
                elif when != "-":
                    self.lives[job_id].due = due
                    held[job_id] = None
                elif held[job_id] is not None:
                    self.lives[job_id].due = min(self.lives[job_id].due, int(held[job_id]))

    def step_cancel(self):
        if self.is_away:
            return
        items = [(job_id, self.chance.choice(("alive", *[self.some_tags(job_id)] * 3))) for job_id in self.some_ids()]
        answer = self.call_items("cancel", (), items)
        for (job_id, tags), result, seen in zip(items, answer, self.pool.met):
            self.end_cancelled(job_id, result[0] if isinstance(result, list) else result, seen)

    def end_cancelled(self, job_id, was_leased, seen):
        if seen == "dropped" or was_leased == -4 and job_id in self.just_dropped:
            return  # after an item with another tag than the job's, a later item of the call may have dropped the job
        expect((was_leased != -1) == (job_id in self.lives or job_id in self.deaths), job_id, "cancelled:", was_leased)
        if seen == "dead":
            self.deaths.pop(job_id)[0].ended = "cancelled"
        elif was_leased >= 0:
            self.lives.pop(job_id).ended = "cancelled while leased" if was_leased else "cancelled"
            if self.pool.retention(job_id) and job_id in self.deaths:
                self.deaths.pop(job_id)[0].ended = "dead, and another one since"

    # ---- jobs of groups ----

    def step_send(self):
        if self.is_away:
            return
        items = []
        for _ in range(self.chance.choice((1, 1, 2))):
            endpoints = self.chance.choice((ENDPOINTS, ENDPOINTS[:2], ENDPOINTS[1:], ()))
            records = [word for endpoint in endpoints for word in (endpoint, self.some_record())]
            items.append((f"{self.chance.choice(OWNERS)}/1", self.some_when(), "-", self.chance.choice("mn"), "g", len(endpoints), *records))
        answer = self.call_items("send", (self.chance.choice((0, 0, 0, 6)), 86400000), items)
        for (send_id, *_, number), result in zip((item[:6] for item in items), answer):
            if isinstance(result, list) and result[0] == "sent":
                expect(len(result) == number + 1, send_id, "was sent in part:", result)
                for endpoint, due in zip(self.pool.sends[send_id][2], result[1:]):
                    job_id = f"{send_id}~{endpoint}"
                    expect(job_id not in self.lives, job_id, "was sent twice")
                    self.lives[job_id] = Life(job_id, due)

    def step_replace_send(self):
        if self.is_away:
            return
        endpoints = self.chance.choice((ENDPOINTS, ENDPOINTS[:2], ENDPOINTS[1:]))
        send_id = f"{self.chance.choice(OWNERS)}/1"
        *_, met, sent_at = self.pool.sends.get(send_id, ((), None))
        earlier = [f"{send_id}~{endpoint}" for endpoint in met
                   if endpoint not in endpoints and self.pool.is_of_send(f"{send_id}~{endpoint}", sent_at)]
        records = [word for endpoint in endpoints for word in (endpoint, self.some_record())]
        item = (send_id, self.some_when(), self.chance.choice(("", "", "!")), self.chance.choice("mn"), self.chance.choice("gh"), len(endpoints), *records)
        leased = {f"{send_id}~{endpoint}" for endpoint in [*met, *endpoints] if self.pool.deadline(f"{send_id}~{endpoint}")}
        result, = self.call_items("replace_send", (self.chance.choice((0, 0, 0, 6)),), [item])
        if not isinstance(result, list) or result[0] != "replaced":
            return
        for job_id in (job_id for job_id in earlier if job_id in self.lives):
            self.end_cancelled(job_id, int(job_id in leased), "pool")
        for endpoint, due in zip(endpoints, result[4:]):
            job_id = f"{send_id}~{endpoint}"
            self.end_replaced(job_id, job_id in leased)
            self.lives[job_id] = Life(job_id, due)

    def step_unsend(self):
        """Reads the jobs of a send. Then cancels them, or removes the idempotency keys and sends that have expired."""
        if self.is_away:
            return
        send_id = self.chance.choice([*sorted(self.pool.sends), f"{self.chance.choice(OWNERS)}/1"])
        group = self.chance.choice("ggh")
        self.check("sent", (send_id, group), self.call("sent", send_id, group), self.pool.sent(send_id, group))
        if self.chance.random() < 0.5:
            most = self.chance.choice((1, 9))
            self.check("forget", (most,), self.call("forget", 9, most), [self.pool.forget_keys(9), self.pool.forget_sends(most)])
            return
        result, = self.call_items("unsend", (), [(send_id, group)])
        for job_id, code, seen in zip((f"{send_id}~{endpoint}" for endpoint in result[::2]), result[1::2], self.pool.met) if result != -1 else ():
            if seen:  # if nothing was seen, the job with this id was not sent to the group
                self.end_cancelled(job_id, code, seen)

    # ---- workflows ----

    def some_prepared(self, owner):
        job_id, record = f"{owner}/{self.chance.choice('1234')}", self.some_record()
        return self.chance.choice(("", f"{len(job_id)} {len(record)} {job_id}{record}p"))

    def some_entries(self, owner, most):
        """Returns jobs to add to a workflow. Most of them are due at once, so that many arrive while their workflow is active."""
        return [(self.chance.choice("sssca"), f"{owner}/{self.chance.choice('1234')}", self.some_when(), self.some_record(),
                 f"e{self.chance.randrange(100)}") for _ in range(self.chance.randrange(1, most + 1))]

    def some_failed(self, owner):
        """Returns an ended workflow that a new one continues: its place, the number of elements that are kept, and their size."""
        places = sorted(place for place, fields in self.pool.workflows.items() if place[0] == owner and fields["state"] != "active")
        if not places or self.chance.random() < 0.5:
            return "", 0, 0
        place = self.chance.choice(sorted(place for place in places if "failedBy" in self.pool.workflows[place]) or places)
        elements = self.pool.elements.get(place, [])
        kept = self.chance.randrange(len(elements) + 2)
        return place, kept, sum(len(element) for element in elements[:kept])

    def step_begin(self):
        if self.is_away:
            return
        items = []
        for _ in range(self.chance.choice((1, 1, 2))):
            workflow = self.chance.choice(WORKFLOWS)
            owner = workflow[0]
            parents = sorted(place for place in self.pool.workflows if place[0] == owner)
            parent = self.chance.choice(parents) if parents and self.chance.random() < 0.6 else ""
            items.append((workflow, "{}", parent, self.some_prepared(owner), self.some_prepared(owner),
                          self.chance.choice("0001"), *self.some_failed(owner), *self.some_entries(owner, 1)[0],
                          self.chance.choice(("", "0")), self.chance.choice(("", "1", "2"))))
        answer = self.call_items("begin", (self.chance.choice((0, 0, 6)),), items)
        for (*_, job_id, when, _, _, _, _), result in zip(items, answer):
            if isinstance(result, list) and result[0] == 1 and job_id in self.pool.members:
                self.accept_member(job_id, when)

    def step_append(self):
        if self.is_away:
            return
        workflow = self.chance.choice(WORKFLOWS)
        entries = [(*entry, self.chance.choice(("", "", EVENTS[2])), self.some_step()) for entry in self.some_entries(workflow[0], 3)]
        result, = self.call_items("append", (self.chance.choice((0, 0, 6)),), [(workflow, len(entries), *(word for entry in entries for word in entry))])
        firsts = result if isinstance(result, list) else [""] * len(entries) if result > 0 else ["refused"] * len(entries)
        for (_, job_id, when, *_), first in zip(entries, firsts):
            if not first:
                self.accept_member(job_id, when)

    def some_step(self):
        return self.chance.choice(("", *(f"{number}{kind}" for number in range(1, 4) for kind in ("", "", "c", "p"))))

    def accept_member(self, job_id, when):
        expect(job_id not in self.lives, job_id, "was accepted twice")
        self.lives[job_id] = Life(job_id, self.pool.due_of(when)[0])

    def step_wait(self):
        """Adds a step that waits for an event to a workflow. The caller has read the first kept event, or none, or an event that
        has been taken in the meantime."""
        if self.is_away:
            return
        workflow, event = self.chance.choice(WORKFLOWS), self.chance.choice(EVENTS)
        owner = workflow[0]
        job_id, other = (f"{owner}/{self.chance.choice('12345678')}" for _ in range(2))
        when = self.chance.choice((self.some_when(), "1000", str(self.chance.randrange(8000))))
        kept = self.pool.kept_events.get(self.pool.active_place(workflow), {}).get(event) or [""]
        read = self.chance.choice((kept[0], kept[0], kept[-1], ""))
        self.waits += 1
        item = (workflow, event, f"t={self.waits}", job_id, when, self.some_record(), f"w{self.waits}", read,
                other, self.some_record(), f"n{self.waits}", self.some_step())
        is_repeated = self.pool.job_of_step(self.pool.active_place(workflow), item[-1])
        result, = self.call_items("wait", (self.chance.choice((0, 0, 0, 6)),), [item])
        if is_repeated:
            expect(result == 1, workflow, "waits twice for one step")
        elif result == 1:
            self.accept_member(job_id, when)
        elif result == 2:
            expect(read, workflow, "has taken an event that its caller had not read")
            self.accept_member(other, "0")

    def step_notify(self):
        """Sends an event. The caller reads which jobs wait, and notifies all or some of them, or a job that no longer waits."""
        if self.is_away:
            return
        owner, event = self.chance.choice("ab"), self.chance.choice(EVENTS)
        workflow = self.chance.choice(("", *(name for name in WORKFLOWS if name[0] == owner)))
        most = self.chance.choice((1, 9, 9))
        place, found = "", []
        while place or not found:
            page = self.call("waiters", owner, event, workflow, most, place)
            self.check("waiters", (owner, event, workflow, most, place), page, self.pool.waiting_for(owner, event, workflow, most, place))
            place, found = page[0], found + page[1:]
            if not page[1:] or self.chance.random() < 0.3:
                break
        waiters = self.chance.choice((found[::2], found[::2], found[::2], [], self.some_ids()))
        waiters = [job_id for job_id in waiters if topic_of(job_id) == owner]
        notices = []
        for waiter in waiters:
            _, text, _ = self.pool.waits.get(waiter, ("", "t=-", ""))
            notices.append((waiter, f"{owner}/{self.chance.choice('12345678')}", self.some_record(), "n" + text.split("=")[1]))
        self.waits += 1
        words = (owner, event, workflow, f"d{self.waits}", *(word for notice in notices for word in notice))
        (_, *results), = answer = self.call("notify", *words)
        self.check("notify", words, answer, self.pool.notify(*words[:4], notices))
        self.note_workflows()
        for (_, job_id, *_), is_notified in zip(notices, results):
            if is_notified:
                self.accept_member(job_id, "0")

    def step_arrive(self):
        """Calls the script arrive for claimed jobs that wait for an event, and for jobs that wait for none. A job
        that waits and is not claimed cannot arrive."""
        claimed = sorted(job_id for job_id in self.pool.waits if self.pool.deadline(job_id) is not None)
        ids = [job_id for job_id in claimed + self.some_ids() if job_id in claimed or job_id not in self.pool.waits]
        if not self.is_away:
            self.arrive(*ids)

    def arrive(self, *ids):
        self.check("arrive", ids, self.call("arrive", *ids), self.pool.arrive(ids))

    def has_arrived(self, attempt):
        """Returns whether the body to POST is known. If the job waits for an event, the wait ends here, at its deadline."""
        is_wait = attempt.id in self.pool.waits and attempt.life is self.lives.get(attempt.id)
        if is_wait and not self.is_away:
            self.arrive(attempt.id)
        return not is_wait or not self.is_away

    def step_conclude(self):
        if self.is_away:
            return
        items = [(workflow, self.chance.choice(("succeeded", "cancelled")), "r", self.some_prepared(workflow[0]))
                 for workflow in self.chance.choices(WORKFLOWS, k=self.chance.choice((1, 1, 2)))]
        self.call_items("conclude", (), items)

    def step_workflow_list(self):
        """Reads a page of workflows, from the beginning or after the last page. Pages follow each other without gap and repetition,
        unless workflows come or go."""
        owner, state, most = self.chance.choice(("", *{name[0] for name in WORKFLOWS})), self.chance.choice(("", "active", "failed")), self.chance.choice((1, 2, 9))
        behind = self.chance.choice(("", self.workflows_behind))
        found = self.call("workflow_list", owner, "", state, behind, most, 1000)
        self.check("workflow_list", (owner, state, behind, most), found, self.pool.list_workflows(owner, state, behind, most))
        self.workflows_behind = found[0]

    # ---- schedules ----

    def next_fire(self, is_tick):
        """Returns the last word of an answer of carry, the time of the next schedule, as a list. Without schedules the list is empty."""
        if is_tick and self.pool.ahead():
            return [self.pool.now]
        return [min(self.pool.fires.values())] if self.pool.fires else []

    def some_tag(self, name):
        """Returns the tag of a definition as a client or a process has read it, perhaps before the definition changed."""
        seen = self.pool.fired[name][0] if name in self.pool.fired else "-"
        return self.chance.choice((seen, seen, seen, self.seen_tags.get(name, "-")))

    def step_define(self):
        if self.is_away:
            return
        name = self.chance.choice(SCHEDULES)
        tag = self.some_tag(name)
        if tag != "-" and self.chance.random() < 0.2:
            self.call_items("undefine", (), [(name, self.chance.choice((tag, "*")))])
        else:
            next_ms = self.chance.choice(("-", "=", *(str(self.pool.now + more) for more in (0, 300, 2000))))
            self.call_items("define", (), [(name, tag, f'{{"d":{self.chance.randrange(3)}}}', next_ms, *self.some_expectation())])
        if self.chance.random() < 0.5:
            self.seen_tags[name] = self.pool.fired[name][0] if name in self.pool.fired else "-"

    def some_expectation(self):
        """Returns expectBy and jitter of a schedule, ms."""
        return self.chance.choice((("0", "0"), ("1000", "0"), ("1000", "300"), ("60000", "0")))

    def some_group(self):
        """Returns the last arguments of an item of the script fire. In most cases, the job is sent to no group."""
        endpoints = self.chance.choice(((), (), (), ENDPOINTS, ENDPOINTS[:2]))
        if not endpoints:
            return (0,)
        return (len(endpoints), "m", "g", *(word for endpoint in endpoints for word in (endpoint, self.some_record())))

    def some_skipped(self):
        """Returns the text of the times that a schedule has skipped."""
        until = self.pool.now + self.chance.choice((-1000, -1, 0, 1, 1000))
        return self.chance.choice(("=", "=", "=", "-", f"0 {until + 1} 5 6", f"{until} {until + 1}", f"{until} {until + 1} 5 {until}"))

    def step_fire(self):
        """A process fires schedules that it has listed, perhaps long ago, or creates a job that a client requests."""
        if self.is_away:
            return
        due = sorted((at, name) for name, at in self.pool.fires.items() if at <= self.pool.now)
        later = min((at for at in self.pool.fires.values() if at > self.pool.now), default=-1)
        found = self.call("fires", 9)
        ahead = [(self.pool.fires.get(name, -1), name) for _, name in self.pool.ahead()]
        self.check("fires", (9,), found, [len(due) + len(ahead), later, *(word for at, name in (due + ahead)[:9] for word in (
            name, at, self.pool.schedules[name], " ".join(map(str, self.pool.fired[name])), self.pool.skipped.get(name, "")))])
        some = due if self.chance.random() < 0.8 else [(at, name) for name, at in self.pool.fires.items()]  # also schedules that are not due yet
        listed = [(name, self.pool.fired[name][0], at) for at, name in some]
        if listed and self.chance.random() < 0.15:  # the definition changes before the schedule is fired, and keeps its next time
            name, tag, _ = self.chance.choice(listed)
            self.call_items("define", (), [(name, tag, f'{{"d":{self.chance.randrange(3)}}}', "=", *self.some_expectation())])
        items = []
        for name, tag, at in self.chance.choice((listed, listed, self.listed)) + self.chance.choice(([], listed)):
            kind = self.chance.choice(("fire", "fire", "fire", "skip", "hold"))
            next_ms = self.chance.choice(("-", str(at + 300), str(at + 300), str(self.pool.now + 2000)))
            items.append((name, tag, str(at), next_ms, kind, str(at), self.chance.choice("01"), self.chance.choice("001"), self.some_skipped(),
                          f"{name}~{at}T0Z" if kind == "fire" else "", f"@{at + self.chance.choice((0, 0, 400))}", self.some_record(), "-",
                          *(self.some_group() if kind == "fire" else (0,))))
        for at, name in ahead if self.chance.random() < 0.8 else [(at, name) for name, at in self.pool.fires.items()]:
            expected = str(at) if at >= 0 else "-"
            items.append((name, self.some_tag(name), expected, self.chance.choice(("-", str(self.pool.now + 300))), "move", "0", "0", "0",
                          self.some_skipped(), "", "0", "", "-", 0))
        if self.chance.random() < 0.2:
            name = self.chance.choice(SCHEDULES)
            items.append((name, self.some_tag(name), "-", "-", "fire", "0", "0", "0", "=", f"{name}~run-{self.chance.randrange(3)}", "0", self.some_record(), "-", *self.some_group()))
        self.listed = self.chance.choice((listed, self.listed))
        for item, result in zip(items, self.call_items("fire", (self.chance.choice((0, 0, 0, 6, len(self.pool.jobs) + 1)), 86400000), items) if items else ()):
            for job_id in [f"{item[9]}~{endpoint}" for endpoint in item[16::2]] or [item[9]] if result > 1 else ():
                expect(job_id not in self.lives, job_id, "was fired twice")
                expect(item[2] == "-" or self.pool.now >= int(item[2]), job_id, "was fired early")
                self.lives[job_id] = Life(job_id, result)

    def step_run(self):
        if self.is_away:
            return
        items = []
        for job_id in self.some_ids():
            old = self.pool.kept[job_id][3] if job_id in self.pool.dead else ""
            items.append((job_id, self.chance.choice(("0", "0", "700")), self.some_tags(job_id),
                          self.chance.choice((old, old, "", "else")), old + " "))
        for (job_id, *_), due in zip(items, self.call_items("run", (self.chance.choice((0, 0, 3, 6)),), items)):
            if due >= 0:
                if job_id not in self.lives:
                    self.revive(job_id)
                self.lives[job_id].due = due
                self.lives[job_id].changes += 1

    def find_leased(self, topic, behind):
        """Returns the leased ids after this id, sorted."""
        answer = self.call("leased", topic, behind, 0, 100)
        found = answer[1:]
        expect(answer[0] == ("p0" if self.pool.pulled else "0"), "the walk through leases goes on at", answer[0])
        if answer[0] != "0":
            answer = self.call("leased", topic, behind, answer[0], 100)
            expect(answer[0] == "0", "the walk through leases does not end")
            found += answer[1:]
        found = sorted(set(found))
        self.check("leased", (topic, behind), found, [job_id for job_id in sorted(self.pool.leases | self.pool.pulled)
                                                      if topic_of(job_id) == topic and job_id > behind])
        return found

    def step_look(self):
        """A step that only reads, or that repairs an intact keyspace."""
        if self.is_away:
            return
        ids = self.some_ids()
        self.check("read", ids, self.call("read", *ids), self.pool.read(ids))
        self.check("attempts", ids[:1], self.call("attempts", ids[0]), self.pool.read_attempts(ids[0]))
        state, topic = self.chance.choice(("delayed", "ready", "leased", *ENDS)), self.chance.choice(TOPICS)
        most, score, last, answer = self.chance.choice((1, 2, 9)), "", "", None
        while answer is None or last:
            ids = self.find_leased(topic, last)[:most] if state == "leased" else ()
            answer = self.call("list", state, topic, most, score, last, 5, 1000, "-inf", "+inf", "", "jobs", 0, "\n".join(ids), "", "", "")
            expected = self.pool.list(state, topic, answer[2], score, last)
            self.check("list", (state, topic, score, last), answer[3:], expected)
            score, last = answer[:2] if state != "leased" else ("0", ids[-1] if ids else "")
        pool = self.pool
        counts = [len(pool.jobs), len(pool.bucket), len(pool.leases) + len(pool.pulled), len(pool.dead),
                  len(pool.due) + len(pool.turns), sum(map(pool.is_due, pool.bucket.values())), len(pool.attempts),
                  len(pool.kept), len(pool.kept_until)]
        oldest = min((int(at) for at in pool.bucket.values() if pool.is_due(at)), default=-1)
        first = min((int(at) for at in [*pool.held.values(), oldest] if at >= 0), default=-1)
        answer = self.call("audit", 9)
        self.check("audit", (), answer[:14], counts + [first, 0, 0, len(pool.held), len(pool.pulled)])
        expect(answer[14:18] in ([], [len(pool.outbox), len(pool.outbox_ids) + len(pool.outbox_read), pool.outbox_bytes(), len(pool.dropped)]),
               "audit of the outbox", answer[14:])
        self.look_at_coming()
        cursor, *found = self.call("survey", "", self.chance.choice((1, 2)), 0, -1)
        while cursor:
            cursor, *found = self.call("survey", cursor, self.chance.choice((1, 2)), *found)
        expect(found == [counts[5], oldest], "survey", found, "instead of", counts[5], oldest)

    def look_at_coming(self):
        """Checks the script coming, which counts jobs in steps. Each step begins where the previous one ended. The spans begin at the time of the first step."""
        pool, spans, answer = self.pool, (1000, 60000), [0, 0, 0, 1]
        found = [0] * (len(spans) + 2)
        while answer[3]:
            began, topics, examined, left, waiting, *counts = answer = self.call("coming", answer[2], 99, answer[0], answer[1], *spans)
            found = [one + other for one, other in zip(found, counts)]
        expect(began == pool.now and examined == topics and waiting == len(pool.bucket), "a walk through what is coming", answer)
        self.check("coming", spans, found, pool.coming(spans))

    def step_sweep(self):
        """Sweeps. Sometimes an operator has just set the retention of a topic with dead jobs, or removed it."""
        if self.is_away:
            return
        if self.pool.dead and self.chance.random() < 0.5:
            self.set(topic_of(self.chance.choice(sorted(self.pool.dead))), self.chance.choice(({"retention": 1.5}, {})))
            self.pass_time(2_000_000)
        most, age = self.chance.choice((1, 2, 256)), self.chance.choice((0, 0, 0, 1000, 60000))
        dead_max = self.chance.choice((0, 0, 0, 1, 3))
        until, dead = dict(self.pool.kept_until), dict(self.pool.dead)
        answer = self.call("sweep", most, age, dead_max)
        expected, by_retention, by_age, by_number = self.pool.sweep(most, age, dead_max)
        self.check("sweep", (most, age, dead_max), answer, expected)
        for job_id in until.keys() - self.pool.kept_until.keys():
            expect(until[job_id] <= self.pool.now, job_id, "was to be kept until", until[job_id])
        for job_id in by_retention:
            expect(dead[job_id] + self.pool.retention(job_id) <= self.pool.now, job_id, "died only then:", dead[job_id])
        for job_id in by_age:
            expect(dead[job_id] + age <= self.pool.now, job_id, "died only then:", dead[job_id])
        expect(not by_number or len(self.pool.dead) >= dead_max, "too few dead are left")

    def step_mend(self):
        """Runs mend over all data. mend must not change intact data, and must leave each topic in turns or due, where a carry has put it."""
        owner = next((worker for worker in self.workers if worker.is_owner and not worker.is_frozen), None)
        if self.is_away or not owner:
            return
        self.carry(owner, True, 256)
        for walk in ("jobs", "leases", "attempts", "kept", "dead", "kept_until", "dead_due", "due", "turns", "held", "lines", "names", "pulled",
                     "topics", "some_jobs", "ended", "waiting", "limited"):
            cursor = None
            while cursor != "0":
                cursor, *mended = self.call("mend", walk, cursor or "0")
                expect(not mended, "mended", mended)
        self.pool.touched = {topic_of(job_id): True for job_id in self.pool.jobs}
        self.pool.undated = {topic_of(job_id): True for job_id in self.pool.dead}
        self.pool.note_expiries()
        self.pool.finish()
        self.check_keyspace("mend")

    # ---- the history ----

    def read_outbox(self, archiver, backlog):
        in_hand = sum(len(batch) for batch, *_ in archiver)
        most, max_bytes = self.chance.choice(((500, 9999), (2, 9999), (500, 100)))
        answer = self.call("archive", backlog, "on", most, max_bytes, in_hand)
        self.check("archive", (backlog, most, max_bytes, in_hand), answer, self.pool.read_outbox(backlog, most, max_bytes, in_hand))
        fields, texts = (sum(answer[first::2], []) for first in (5, 6))
        if fields:
            archiver.append([list(zip(fields, texts)), False, answer[3] + in_hand])

    def remove_archived(self, archiver):
        batch, _, place = archiver.pop(0)
        fields, size = [field for field, _ in batch], sum(2 * len(field) + len(text) for field, text in batch)
        words = place, 0, len(batch), size, fields[0], fields[-1]
        answer = self.call("archived", *words)
        self.check("archived", words, answer, self.pool.remove_archived(place, fields))

    def step_archive(self):
        """One of two archivers does its next step, fails or dies. The other archiver may be late."""
        if self.is_away:
            return
        archiver = self.chance.choice(self.archivers)
        doing = self.chance.choice(("read", "read", "add", "add", "remove", "remove", "die", "fail", "switch"))
        if doing == "read":
            self.read_outbox(archiver, self.pool.backlog)
        elif doing == "add" and archiver:
            added = self.chance.choice(archiver)
            self.table |= {(field.split("\n")[0], text) for field, text in added[0]}
            added[1] = True
        elif doing == "remove" and archiver and archiver[0][1]:
            self.remove_archived(archiver)
        elif doing == "die" or doing == "fail":
            archiver.clear()
        elif doing == "switch":
            self.read_outbox(archiver, self.chance.choice((0, 400, 1_000_000, 1_000_000)))
        self.check_history()

    def check_history(self):
        """Checks that each ended job that has left the outbox is in the table, or was dropped and counted."""
        pool = self.pool
        left = {(field.split("\n")[0], text) for field, text in pool.outbox.items()}
        missing = set(pool.ends) - left - self.table
        expect(missing == set(pool.dropped) - left - self.table, "missing in the history", missing, "dropped", pool.dropped)

    def settle_history(self):
        for archiver in self.archivers:
            archiver.clear()
        while self.pool.outbox:
            self.read_outbox(self.archivers[0], 1_000_000)
            for batch, *_ in self.archivers[0]:
                self.table |= {(field.split("\n")[0], text) for field, text in batch}
            while self.archivers[0]:
                self.remove_archived(self.archivers[0])
        self.check_history()

    def some_consumer(self):
        return self.chance.choice(self.consumers)

    def step_claim(self):
        self.claim(self.some_consumer(), self.chance.random() < 0.2)

    def step_bell(self):
        """A process takes the entry of the doorbell. It may die before it claims."""
        if self.is_away:
            return
        popped = self.link("LPOP", BASE + "ready")
        expect([popped] == (self.pool.bell or [None]), "the bell was", popped)
        self.pool.bell = []
        if self.chance.random() < 0.7:
            self.step_claim()

    def begin(self, consumer):
        """The consumer POSTs its claimed jobs, and drops those whose leases may have run out."""
        consumer.attempts = [attempt for attempt in consumer.attempts
                             if attempt.is_posting or self.may_post(attempt)]
        for attempt in consumer.attempts:
            if not attempt.is_posting and not attempt.outcome and self.has_arrived(attempt):
                self.post(attempt)

    def step_post(self):
        consumer = self.some_consumer()
        if not consumer.is_frozen:
            self.begin(consumer)

    def step_learn(self):
        consumer = self.some_consumer()
        for attempt in consumer.attempts:
            is_running = attempt.is_posting and not attempt.outcome and not consumer.is_frozen
            if is_running and self.chance.random() < 0.7:
                self.learn(attempt)

    def step_record(self):
        attempts = [attempt for consumer in self.consumers if self.can_call(consumer)
                    for attempt in consumer.attempts if attempt.outcome]
        self.chance.shuffle(attempts)
        attempts = attempts[:self.chance.choice((1, 3))]
        if attempts:
            self.record(attempts, self.chance.random() < 0.15, self.chance.random() < 0.1)

    def step_stray(self):
        """Sends outcomes that arrive too late to count."""
        strays = [claim for claim in self.past[-20:] if not is_pulled(claim[1]) and not self.pool.verdict(*claim) and claim not in self.pool.lingering]
        self.chance.shuffle(strays)
        if strays and not self.is_away:
            more = {"complete": ("stray",), "retry": (0, "stray", "stray"), "bury": ("stray", "stray")}
            script = self.chance.choice(list(more))
            self.call_items(script, (), [(*claim, *more[script]) for claim in strays[:5]])

    def step_release(self):
        """A consumer gives jobs back without sending them, usually right after their claim."""
        consumer = self.some_consumer()
        if self.chance.random() < 0.7:
            self.claim(consumer, False)
        unsent = [attempt for attempt in consumer.attempts if not attempt.is_posting and not attempt.outcome]
        if unsent and self.can_call(consumer):
            items = [(attempt.id, attempt.nonce, self.chance.choice((-1, 0, 700, 5000, 60000)), attempt.claimed_ms,
                      self.chance.choice(("-", *BREAKERS)), self.chance.choice((0, 1, "url"))) for attempt in unsent]
            items *= self.chance.choice((1, 1, 2))
            for (job_id, nonce, wait, _, receiver, by_setting), is_done in zip(items, self.call_items("release", (), items)):
                if is_done > 0 and wait >= 0:
                    self.unbegin(topic_of(job_id), nonce)
                if is_done > 0 and wait >= 0 and not self.pool.is_without_breaker(job_id, receiver, by_setting):
                    self.lives[job_id].due = max(self.lives[job_id].due, self.pool.soonest + wait)
                    holder = f"/{topic_of(job_id)}" if by_setting == "url" else receiver
                    is_noted = self.link("ZSCORE", f"{BASE}breaker:{holder}", job_id) is not None
                    expect(is_noted == (holder != "-"), job_id, "is held by", holder, is_noted)
            consumer.attempts = [attempt for attempt in consumer.attempts if attempt not in unsent]

    def step_resume(self):
        """Closes a breaker: the jobs that it held get their earlier due times again."""
        if self.is_away:
            return
        receiver, most = self.chance.choice(BREAKERS), self.chance.choice((1, 3, 100))
        guide = self.link("ZRANGE", f"{BASE}breaker:{receiver}", 0, most - 1)
        held = dict(self.pool.held)
        self.check("resume", (receiver, most), self.call("resume", receiver, most), self.pool.resume(guide))
        self.note_resumed(held)

    def note_resumed(self, held):
        """Notes which jobs the call has resumed: they are due again at the time when they were due before they were held.
        held: id -> this time, for the jobs that were held before the call. A job was resumed if it is no longer held, or
        if it is the head of a fifo line that waits only until this time or less."""
        for job_id, due in held.items():
            at, _, head = self.pool.line.get(topic_of(job_id), (INF, 0, ""))
            is_let_go = head == job_id and at <= due
            if (job_id not in self.pool.held or is_let_go) and job_id in self.lives:
                self.lives[job_id].due = min(self.lives[job_id].due, int(due))

    def step_reoffer(self):
        if not self.is_away:
            held = dict(self.pool.held)
            self.read_without_url()
            self.check("reoffer", (1000,), self.call("reoffer", 1000, 0), self.pool.reoffer())
            self.note_resumed(held)

    def step_lose(self):
        """Pretends that a job has lost two or four consumers: it becomes a suspect, which after four losses is dead after the next one."""
        leased = {job_id: nonce for job_id, (nonce, _) in self.pool.holders.items()
                  if not is_recovering(nonce) and not is_pulled(nonce) and not self.pool.suspect_in_flight()}
        jobs = sorted(leased.keys() | self.pool.bucket.keys())
        if jobs and not self.is_away:
            job_id, losses = self.chance.choice(jobs), self.chance.choice((SUSPECT_LOSSES, LOSSES_MAX - 1))
            self.pool.crashes[job_id] = (losses, "earlier")
            self.link("HSET", BASE + "crashes", job_id, f"{losses} earlier")
            if job_id in leased:
                self.pool.note_attempted(job_id, leased[job_id])
                self.link("ZREMRANGEBYSCORE", BASE + "suspects", "-inf", 0)
                self.link("ZREM", BASE + "suspects", job_id)
                self.link("ZADD", BASE + "suspects", 0, f"{job_id}\n{leased[job_id]}")

    def step_crash(self):
        self.consumers[self.chance.randrange(len(self.consumers))] = Consumer()

    def step_leave(self):
        """A carry worker stops, perhaps the owner of the lock, and another process starts in its place."""
        worker = self.chance.choice(self.workers)
        if worker.is_frozen or self.is_away:
            return
        owner = self.link("HGET", BASE + "carry", "owner")
        answer = self.call("carry", worker.name, -1, 1, "", 0, LEASE_MS, PATIENCE_MS)
        expect(answer[0] == ("" if owner in (None, worker.name) else owner), "the lock is left to", answer[0])
        expect(bool(self.link("EXISTS", BASE + "carry")) == bool(answer[0]), "the lock")
        self.check("carry", (worker.name, "leaves"), answer[2:], [-1, -1, 0, ""])
        self.workers[self.workers.index(worker)] = CarryWorker(worker.name)

    def step_freeze(self):
        frozen = [one for one in self.consumers + self.workers if one.is_frozen]
        wakes = frozen and self.chance.random() < 0.7
        one = self.chance.choice(frozen if wakes else self.consumers + self.workers)
        one.is_frozen = not wakes
        if one in self.workers:
            one.armed_ms, one.tick_at_us = self.pool.now, 0  # the carry worker finds missed events when it wakes up

    def step_cut(self):
        cut = [consumer for consumer in self.consumers if consumer.is_cut]
        heals = cut and self.chance.random() < 0.7
        consumer = self.chance.choice(cut) if heals else self.some_consumer()
        consumer.is_cut = not heals

    def step_outage(self):
        if not self.is_away:
            self.away_until_us = self.boot_us + self.chance.choice((2_000_000, 8_000_000))
            for worker in self.workers:
                worker.clock, worker.armed_ms = None, INF
            self.pass_time(self.away_until_us - self.boot_us)
            for worker in self.workers:
                worker.tick_at_us = 0  # connected again

    def step_time(self):
        self.pass_time(self.chance.choice((1, 400, 1000, 60_000, 700_000, 2_500_000, 6_000_000, 25_000_000)))

    def step_clock(self):
        steps = (3_600_000_000, -3_600_000_000, 7_000_001, -7_000_001, 1_300_000, -1_300_000)
        if self.boot_us - self.small_step_us > 20_000_000 and self.chance.random() < 0.5:
            steps = (400_000, -400_000)
            self.small_step_us = self.boot_us
        step_us = self.chance.choice(steps)
        self.offset_us += step_us
        self.forget_begun(self.boot_us + self.offset_us)
        for topic, at in self.pool.due.items():
            # After a step back, a topic may wait for the end of the hours in which it was closed. The owner of the lock, which notices the step,
            # calls reoffer, and the topic is then offered by the right time.
            if step_us < 0 and at < INF and "windows" in self.pool.settings_of(topic):
                self.window_ends[topic] = max(self.window_ends.get(topic, 0), at)
        self.set_clock()
        for worker in self.workers:
            worker.armed_ms = self.pool.now  # a timer counts from now, so the next tick checks again

    def forget_begun(self, next_us):
        """The clock steps to next_us. The keys with the counts of rates might expire or not, so this deletes them. The count of a window stays
        if the window has not ended yet and next_us is before its beginning."""
        kept = {}
        for topic, (began, number) in self.pool.windows.items():
            rate = self.pool.window_rate(topic)
            end_us = began + rate["per"] * 1_000_000 if rate else 0
            self.window_ends[topic] = max(self.window_ends.get(topic, 0), end_us / 1000)
            if next_us < began and self.pool.now_us < end_us:
                kept[topic] = (began, number)
        self.begun, self.pool.begun, self.pool.windows = {}, {}, kept
        self.link("DEL", *(f"{BASE}begun:{topic}" for topic in (*TOPICS, "~x", "~y") if topic not in kept))

    # ---- windows ----

    def some_spans(self):
        """Returns the spans in which a topic with windows is open, as the owner of the lock would compute them. If it does not know a zone, it
        adds when it computes them again. The first span may be over before they are stored."""
        now, most = self.pool.now, self.chance.choice((2000, 9000, 9000, 2 * DAY_MS))
        spans, at = [], now + self.chance.choice((-500, -500, 0, 300, 3000))
        for _ in range(self.chance.choice((1, 1, 2, 3))):
            closes = at + self.chance.randrange(1, most)
            spans.append(f"{at} {closes}")
            at = closes + self.chance.randrange(1, 4000)
        again = f"- {now + self.chance.choice((500, 3000, 600_000))}"
        return self.chance.choice((*7 * (" ".join(spans),), " ".join([*spans, again]), again, "-"))

    def step_openings(self):
        """Stores the spans that were computed, perhaps for settings that have changed since then. Lists the topics whose spans are missing or
        end soon; the owner of the lock may die before it has computed them."""
        if self.is_away:
            return
        computed, most = self.computed, self.chance.choice((1, 9, 9))
        listed = self.call("openings", most, *(word for item in computed for word in item))
        left = set(self.link("SMEMBERS", BASE + "openings_wanted"))
        self.check("openings", (most, *computed), listed, self.pool.store_openings(computed, listed, left))
        expect(most <= len(TOPICS) or left == set(listed[::2]), "of", left, "only", listed, "are listed")
        self.computed = [(topic, settings, self.some_spans()) for topic, settings in zip(listed[::2], listed[1::2])] if self.chance.random() < 0.8 else []

    # ---- operators ----

    def read_without_url(self):
        """Reads which topics hold jobs for want of a url. These keys expire, and so are not modelled."""
        self.pool.without_url = {topic for topic in TOPICS if self.link("EXISTS", f"{BASE}breaker:/{topic}")}

    def set(self, topic, settings):
        old = self.pool.settings.get(topic)
        is_stale = self.chance.random() < 0.1
        texts = [settings_json(text) if text else "" for text in (old, settings)]
        self.read_without_url()
        answer = self.call("settings", topic, "stale" if is_stale else texts[0], texts[1])
        held = dict(self.pool.held)
        has_no_limit = not is_stale and "limit" in settings and settings["limit"] not in self.pool.limits
        if has_no_limit:
            is_stale = True
        if not is_stale:
            self.pool.set(topic, settings)
            self.begun.pop(topic, None)
        elif held:
            self.pool.reoffer()  # each call does a part of the work
        self.note_resumed(held)
        self.check("settings", (topic, *texts), answer, [-37 if has_no_limit else int(not is_stale)])
        return not is_stale

    def set_patterns(self, name, settings):
        """An operator changes a pattern. If the operator has read an earlier version of the patterns, nothing changes."""
        pool, is_stale = self.pool, self.chance.random() < 0.1
        read = pool.patterns_version + (1 if is_stale else 0)
        before = dict(pool.patterns)
        pool.patterns.pop(name, None)
        if settings:
            pool.patterns[name] = settings
        flat = [word for pattern in pool.patterns for word in (pattern, pool.pattern_text(pattern))]
        number, pool.patterns = len(pool.patterns), before
        answer = self.call("set_patterns", read, "", 3, number, *flat)
        has_no_limit = not is_stale and "limit" in settings and settings["limit"] not in pool.limits
        if not is_stale and not has_no_limit:
            pool.set_patterns(name, settings)
            self.begun = {}
        self.check("set_patterns", (read, *flat), answer, [0 if is_stale else -37 if has_no_limit else pool.patterns_version])
        return not is_stale and not has_no_limit

    def set_limit(self, name, settings):
        """An operator writes a limit that topics share, or deletes it (None). If the operator has read an earlier version, nothing changes."""
        old, is_stale = self.pool.limits.get(name), self.chance.random() < 0.1
        texts = [settings_json(text) if text is not None else "" for text in (old, settings)]
        if old is None and settings is None:
            return
        answer = self.call("limit_set", name, "stale" if is_stale else texts[0], texts[1])
        self.begun.pop("~" + name, None)
        self.check("limit_set", (name, *texts), answer, [0] if is_stale else self.pool.set_limit(name, settings))

    def step_limits(self):
        if self.is_away:
            return
        rate = {"jobs": self.chance.choice((1, 3)), "per": self.chance.choice((1, 2)), "burst": self.chance.choice((1, 2))}
        kinds = {"maxInFlight": 1}, {"maxInFlight": 1}, {"maxInFlight": 2}, {"maxInFlight": 3}, {"rate": rate}, {"rate": {**rate, "window": True}}, {"paused": True}, {"rate": rate, "maxInFlight": 2}, None
        self.set_limit(self.chance.choice("xy"), self.chance.choice(kinds))

    def step_settings(self):
        if self.is_away:
            return
        rate = {"jobs": self.chance.choice((1, 3)), "per": self.chance.choice((1, 2)), "burst": self.chance.choice((1, 2))}
        window = {**rate, "window": True}
        kinds = ({}, {}, {"paused": True}, {"maxInFlight": 1}, {"rate": rate}, {"rate": rate}, {"rate": window}, {"rate": window}, {"weight": 2}, {"weight": 100}, {"order": "fifo"}, {"order": "fifo", "maxInFlight": 2},
                 {"order": "fifo", "rate": rate}, {"order": "fifo", "onHeadDead": "pause"}, {"paused": False, "onHeadDead": "pause", "order": "fifo"}, {"onHeadDead": "pause"}, {"retention": 60}, {"retention": 1.5},
                 {"breaker": False}, {"breaker": False}, {"breaker": False, "order": "fifo"}, {"breaker": True}, {"breaker": True},
                 {"url": "http://h/"}, {"url": "http://h/"}, {"url": "http://h/", "breaker": True}, {"retention": 1.5}, {"delivery": "pull"}, {"delivery": "pull"}, {"delivery": "pull", "maxInFlight": 1}, {"delivery": "pull", "rate": rate},
                 {"delivery": "pull", "order": "fifo"}, {"delivery": "pull", "retention": 60}, {"delivery": "pull", "onDelivered": "http://h/"},
                 {"maxPending": 0}, {"maxPending": 1}, {"maxPending": 3}, {"maxPending": 2, "maxInFlight": 1}, {"maxPending": 2, "rate": rate}, {"maxPending": 1, "paused": True},
                 {"delivery": "push"}, *3 * ({"limit": "x"}, {"limit": "y"}), {"limit": "x", "delivery": "pull"}, {"limit": "x", "maxInFlight": 1, "rate": rate}, {"limit": "y", "order": "fifo"}, {"limit": "y", "weight": 2}, {"onDead": "http://h/"}, {"onDelivered": "http://h/", "onAttempt": "http://h/"},
                 *self.gatherings(), *self.closings())
        if self.chance.random() < 0.4:
            name = self.chance.choice(("*", "a*", "b*"))
            loses_breaker = self.pool.patterns.get(name, {}).get("breaker") and self.chance.random() < 0.5
            self.set_patterns(name, {} if loses_breaker else self.chance.choice(kinds + 4 * ({"breaker": True},)))
        else:
            self.set(self.chance.choice(TOPICS), self.chance.choice(kinds + ({"paused": False}, {"maxInFlight": 2})))

    def gatherings(self):
        """Returns settings of topics whose jobs are delivered in batches."""
        batch = {"size": self.chance.choice((1, 2, 2, 2, 3)), "wait": self.chance.choice((0.7, 2, 4))}
        rate = {"jobs": 3, "per": 1, "burst": self.chance.choice((1, 2))}
        return [{"batch": batch, **more} for more in (*4 * ({"maxInFlight": self.chance.choice((3, 4, 5))},), {}, {}, {"rate": rate}, {"limit": "x"}, {"weight": 2}, {"maxPending": 2}, {"maxInFlight": 1}, *self.closings()[:1])] + 2 * [{"batch": {"size": 2}, "maxInFlight": 5}]

    def closings(self):
        """Returns settings of topics with windows; the model does not read when they open."""
        windows = [{"from": f"0{self.chance.randrange(3)}:00", "to": "06:00"}]
        return [{"windows": windows, **more} for more in ({}, {}, {"delivery": "pull"}, {"order": "fifo"}, {"rate": {"jobs": 3, "per": 2, "burst": 1}}, {"limit": "x"}, {"maxPending": 2})]

    def step_gather(self):
        """A topic gets batches, or windows, and some jobs; consumers claim them."""
        topic = self.chance.choice(OWNERS)
        if self.is_away or not self.set(topic, self.chance.choice(self.gatherings() + self.closings())):
            return
        for kind in self.chance.choices(("schedule", "claim", "openings", "time", "late", "end"), (4, 4, 3, 2, 2, 1), k=self.chance.choice((3, 6, 9))):
            if kind == "schedule":
                topic = topic if self.chance.random() < 0.8 else self.chance.choice(OWNERS)
                items = [(f"{topic}/{self.chance.choice('123456')}", self.chance.choice(("0", "0", "900", str(self.chance.randrange(3000)))), self.some_record(), "-")
                         for _ in range(self.chance.choice((1, 2, 3, 5)))]
                self.schedule(0, items)
            elif kind == "time":
                self.pass_time(self.chance.choice((1000, 400_000, 2_000_000)))
            elif kind == "late":  # a claim comes before the timers of the carry workers
                self.schedule(0, [(f"{topic}/{self.chance.choice('1234')}", "200", self.some_record(), "-")])
                for consumer in self.consumers:
                    self.claim(consumer, False)
                self.boot_us += 300_000
                self.set_clock()
                self.step_claim()
            elif kind == "end":
                self.step_post()
                self.step_learn()
                self.step_record()
            else:
                getattr(self, "step_" + kind)()
        if self.chance.random() < 0.5:
            self.set(topic, {})

    def check_rate(self, topic, nonce, number):
        """Checks that the attempts that begin in a second never exceed the rate and the burst. Rates with a window
        are not checked here, because pool.py has the same window."""
        if not self.pool.rate_of(topic) or self.pool.window_rate(topic) or not number:
            return
        begun = self.begun.setdefault(topic, {})
        begun[nonce] = (self.pool.now_us, number)
        total = 0
        for at, count in reversed(begun.values()):
            if at <= self.pool.now_us - SECOND_US:
                break
            total += count
            expect(total <= self.pool.most_in_second(topic), topic, "is over its rate:", begun)

    def unbegin(self, topic, nonce):
        """Reduces the count of begun attempts by one, because a job was released without being sent. If the rate or the clock has changed since
        the job began, more tokens may be returned than were taken."""
        begun = self.begun.get(topic, {})
        if nonce in begun:
            at, number = begun[nonce]
            begun[nonce] = (at, number - 1)
        else:
            self.begun.pop(topic, None)

    STEPS = {
        "define": 4, "fire": 5, "schedule": 24, "schedule_all": 4, "send": 4, "replace_send": 3, "unsend": 3, "replace": 4, "debounce": 6, "openings": 3, "gather": 8, "change": 5, "cancel": 4, "run": 6, "look": 3, "mend": 1, "claim": 14, "bell": 6, "post": 16,
        "learn": 14, "record": 14, "stray": 3, "release": 4, "resume": 3, "reoffer": 2, "time": 12, "settings": 3, "limits": 2, "sweep": 4,
        "bury": 2, "expire": 5, "lose": 3, "lease": 12, "pull_end": 14, "abandon_pulled": 2, "archive": 16,
        "begin": 5, "append": 8, "arrive": 2, "wait": 8, "notify": 6, "conclude": 2, "workflow_list": 2,
    }
    TROUBLE = {"crash": 2, "leave": 1, "freeze": 3, "cut": 3, "outage": 0.4, "clock": 0.6}

    def step(self, kind, seed):
        self.chance.seed(seed)
        getattr(self, "step_" + kind)()
        self.note_prepared()
        self.forget_deaths()

    def settle(self):
        """Ends all faults. Then each job that was accepted and not cancelled must be delivered."""
        self.chance.seed(0)
        for one in self.consumers + self.workers:
            one.is_frozen = False
        for worker in self.workers:
            worker.armed_ms, worker.tick_at_us = self.pool.now, 0
        for consumer in self.consumers:
            consumer.is_cut = False
        for topic in list(self.pool.settings):
            while not self.set(topic, {}):
                pass
        for name in list(self.pool.patterns):
            while not self.set_patterns(name, {}):
                pass
        for name in list(self.pool.limits):
            while name in self.pool.limits:
                self.set_limit(name, None)
        for _ in range(400):
            dead = [(job_id, "0", "", self.pool.kept[job_id][3], "fresh") for job_id in self.pool.dead
                    if job_id not in self.pool.jobs]
            if not self.pool.jobs and not dead:
                self.settle_history()
                return
            for (job_id, *_), due in zip(dead, self.call_items("run", (0,), dead) if dead else ()):
                self.revive(job_id)
                self.lives[job_id].due = due
                self.lives[job_id].changes += 1
            for consumer in self.consumers:
                self.claim(consumer, False)
                self.begin(consumer)
                for attempt in consumer.attempts:
                    attempt.outcome = attempt.outcome or ("complete", ("",))
            self.step_bury()
            # After a step of the clock, a worker's lease may last for an hour. The worker ends the lease, even if the job was cancelled.
            self.complete_pulled([Pulled(job_id, self.pool.holders[job_id][0], self.lives[job_id], "") for job_id in self.pool.pulled])
            self.complete_pulled([types.SimpleNamespace(id=place[0], nonce=place[1]) for place in self.pool.lingering if is_pulled(place[1])])
            for kind in ("complete", "retry", "bury", "defer"):
                known = [attempt for consumer in self.consumers for attempt in consumer.attempts
                         if attempt.outcome[0] == kind]
                if known:
                    self.record(known, False, False)
            first = int(min(self.pool.bucket.values(), default=0))
            left_us = min(max(first - self.pool.now, 1000), 4_000_000) * 1000
            # If the clock has stepped back, this wait may be an hour long, and nothing happens in it.
            self.pass_time(left_us, 250_000 if left_us < LONG_US else 5_000_000)
        raise Broken("still in the pool: " + str(self.pool.jobs))


def make_steps(seed, count):
    chance = random.Random(seed)
    more = chance.choice((0.2, 1, 5))
    weights_of = World.STEPS | {kind: weight * more for kind, weight in World.TROUBLE.items()}
    kinds, weights = zip(*weights_of.items())
    return [(kind, chance.randrange(2 ** 32)) for kind in chance.choices(kinds, weights, k=count)]


class Bench:
    """A Redis with one version of the scripts: those of the product, or those with a seeded bug."""

    def __init__(self, redis, link, folder, changes=()):
        self.redis, self.link, self.functions = redis, link, load_functions(link, folder, changes)

    def run(self, steps):
        """Runs the steps. Returns the fault that was found, or None."""
        world = World(self.redis, self.link, self.functions)
        try:
            for number, (kind, seed) in enumerate(steps):
                try:
                    world.step(kind, seed)
                except FAULTS as error:
                    return f"step {number} ({kind}): {error}"
            try:
                world.settle()
            except FAULTS as error:
                return f"settling: {error}"
            return None
        finally:
            world.close()

    def shrink(self, steps, seconds):
        deadline = time.monotonic() + seconds
        size = len(steps) // 2
        while size and time.monotonic() < deadline:
            at = 0
            while at < len(steps) and time.monotonic() < deadline:
                shorter = steps[:at] + steps[at + size:]
                if self.run(shorter):
                    steps = shorter
                else:
                    at += size
            size //= 2
        return steps


CONTROLS = {
    "a delivery of a schedule's job is not noticed": [("complete", "    if Expected.is_used() then Expected.note_delivered(gone) end\n", "")],
    "a delivery makes up for later times": [("lib/expected", "if open[k].jobs < 1 then last = k end", "if open[k].jobs < 1 then last = #open end")],
    "one job of a group is enough": [("lib/expected", "open[k].jobs = open[k].jobs - 1", "open[k].jobs = 0")],
    "a skipped time is expected": [("lib/expected", "  if outcome ~= 'overlap' then\n", "  if true then\n")],
    "times that were missed are not expected": [("lib/expected", "tonumber(entry.next_at) < tonumber(time) then", "false then")],
    "new times are not expected": [("define", "  Expected.define(id, by ~= '0' and by, jitter, next_at, ", "  Expected.define(id, by ~= '0' and by, jitter, '=', ")],
    "a deleted schedule is expected": [("undefine", "  Expected.forget(id)\n", "")],
    "a clock that steps back leaves the old time expected": [("fire", "  Expected.move(item.id, item.next_at)\n", "")],
    "no fence": [("lib/fence", "if string.sub(claim, 1, #begin) == begin or claim == nonce then", "if true then")],
    "no fence after a loss": [("lib/fence", "string.match(crash, '%S+$') == nonce and 'late' or nil", "'late'")],
    "nothing recorded after a loss": [("recover", "call('HSET', CRASHES, id, losses .. ' ' .. nonce)",
                                       "call('HSET', CRASHES, id, losses .. ' -')")],
    "two outcomes in a batch": [("lib/fence", "if verdict and not (has_repeats and has_ended[its_ids[k]]) then", "if verdict then")],
    "not offered after complete": [("complete", "    Places.touch_freed(topic)\n", "")],
    "a weight counts for nothing": [("claim", "settings_of(topics[i]).weight or 1", "1")],
    "a served topic keeps its place": [("claim", "math.ceil(turn.taken * Turns.A_JOB / turn.weight)", "0")],
    "limit ignored": [("claim", "Turns.default_limit - Turns.in_flight[topic]", "most"), ("lib/serving", "limit - Turns.in_flight[topic]", "most")],
    "suspects together": [("claim", "next_suspect = not (place and Suspects.is_attempted(place)) and id", "next_suspect = id")],
    "pause ignored": [("lib/turns", "own.paused or ", "")],
    "rate ignored": [("lib/serving", ", (Rates.tokens(topic)))", ")")],
    "a shared limit is ignored": [("lib/serving", "shared and math.min(most, (Limits.room(shared, topic))) or most", "most")],
    "workers ignore a shared limit": [("lease", "math.min(most, room), room < 1", "most, room < 1")],
    "a paused shared limit goes on": [("lib/limits", "if own.paused or own == UNREADABLE then", "if own == UNREADABLE then")],
    "nobody is let in under a shared limit": [("lib/limits", "  if change < 0 then Limits.touched[name] = true end\n", "")],
    "a served topic stays the first of a shared limit": [("lib/limits", "  Limits.leave(topic, name) -- the topic has had its turn\n", "")],
    "the rate of a shared limit counts nothing": [("lib/limits", "  Rates.spend(topic_like(name), spending, first_due)\n", "")],
    "a shared limit forgets the ends": [("lib/places", "    for i = 1, #touched do Limits.count(touched[i]) end\n", "")],
    "a topic with another limit waits for the old one": [("settings", "if limit and limit ~= Limits.of(topic) then Limits.leave(topic, limit) end", "")],
    "a shared limit is deleted while it is named": [("limit_set", "if #users > 0 then", "if false then")],
    "a window never ends": [("lib/rates", " or now_us >= began + rate.per * 1000000", "")],
    "a window forgets its attempts": [("lib/rates", "(before or 0) + number", "number")],
    "a window gets nothing back": [("lib/rates", "math.max(0, before - number)", "before")],
    "rate forgets what was spent": [("lib/rates", "math.max(spent, now_us - Rates.CREDIT_US, ", "math.max(now_us - Rates.CREDIT_US, ")],
    "rate makes up for idle time": [("lib/rates", "math.min(math.floor(first_due or Rates.first_due_of(topic)) * 1000, now_us)", "0")],
    "an expired job spends its topic's rate": [("claim", "(turn.has_rate or turn.lanes) and not Records.is_expired(record)", "turn.has_rate")],
    "a held job keeps its turn": [("release", "note_unsent(topic_of(id), ARGV[i + 1], tonumber(ARGV[i + 3]))", "")],
    "a turn comes back beside the time": [("lib/rates", "math.max(0, now_us - since * 1000 - Rates.CREDIT_US)", "0")],
    "abandons what others hold": [("abandon", "its_nonce == nonce", "its_nonce")],
    "abandons and forgets": [("abandon", "    Places.put_for_retry(ids[i], due, false)\n", "")],
    "cancel keeps the holder": [("lib/places", "    call('HDEL', holders_of(topic), id)\n    if has_lanes then Lanes.end_attempts(topic, {id}) end\n    return 'leased'",
                                 "    return 'leased'")],
    "cancel frees the place of a running attempt": [("lib/lingering", "  if claim and not Attempts.is_recovering(claim) then", "  if false then")],
    "a cancelled job's attempt takes its place with it": [("lib/lingering", "  Lingering.free(place)\n", "")],
    "an attempt of a cancelled job is not renewed": [("renew", "if why and holder == CONSUMERS then", "if false then")],
    "what is to be buried is lost to no outcome": [("lib/fence", "Attempts.is_recovering(claim) and late_verdict", "false and late_verdict")],
    "a job is listed for its burial once": [("recover", "    losses = losses + 1\n", "    losses = losses % LOSSES_MAX + 1\n"),
                                            ("recover", "if not Attempts.is_recovering(nonce) then", "if true then")],
    "the burial of a lost consumer's job forgets it": [("bury", "Attempts.is_recovering(nonce) and call", "false and call")],
    "another's burial counts": [("recover", "recoverer .. ' ' .. due", "'!1 ' .. due")],
    "a stale end has its follow-ups": [("complete", "FollowUps.by_item[item] and verdicts[item] and replies[item + 1] > 0", "FollowUps.by_item[item]")],
    "an outbox that loses a delivery": [("lib/outbox", "        number = number + 1\n", "")],
    "an outbox that loses a cancel of a dead job": [("lib/cancels", "    if record then Outbox.add(id, 'cancelled', now, losses, record, lines) end\n", "")],
    "an earlier end is overwritten": [("lib/outbox", "    if olds[i] then", "    if false then")],
    "the last end is not found": [("lib/outbox", "    call('HSET', ENDED_LAST, unpack(last))\n", "")],
    "another archiver's texts are removed": [("archived", "(numbers[1] or '0') ~= ARGV[2] or ", ""), ("archived", " or fields[1] ~= ARGV[6] or fields[number] ~= ARGV[7]", "")],
    "dropped texts are not counted": [("lib/outbox", "  call('HINCRBY', NUMBERS, 'outbox_dropped', dropped)\n", "")],
    "texts in hand are read again": [("archive", "offset = math.min(offset, call('LLEN', ENDED_READ))", "offset = 0")],
    "texts of a dead archiver are forgotten": [("archive", "offset = math.min(offset, call('LLEN', ENDED_READ))", "offset = call('LLEN', ENDED_READ)")],
    "a delivery loses its follow-ups": [("complete", "  if FollowUps.by_item[item] and verdicts[item] and replies[item + 1] > 0 then FollowUps.schedule(FollowUps.by_item[item], ARGV[3 * item - 1]) end\n", "")],
    "a retry loses its follow-ups": [("retry", "    if FollowUps.by_item[number] then FollowUps.schedule(FollowUps.by_item[number], id) end\n", "")],
    "a death loses its follow-ups": [("bury", "    if FollowUps.by_item[number] then FollowUps.schedule(FollowUps.by_item[number], id) end\n", "")],
    "the place of a lost attempt stays": [("recover", "    Lingering.free(lingering[i])\n", "")],
    "cancel keeps the losses": [("lib/cancels", "  Attempts.forget_losses(id)\n", "")],
    "cancel keeps the attempts": [("lib/cancels", "  Attempts.forget({id})\n", "")],
    "complete keeps the attempts": [("complete", "  Attempts.forget(gone)\n", "")],
    "nothing is kept of a cancelled job": [("lib/cancels", "Ended.keep_job(id, 'cancelled')", "local _ = 0")],
    "what is kept has no attempts": [("lib/ended", "Attempts.with_line(lines, line or '')", "Attempts.with_line('', line or '')")],
    "a dead job is not kept": [("lib/ended", "  Ended.keep(id, 'dead', now, losses, record, Attempts.with_line(Attempts.lines(id), line))\n", "")],
    "a dead job holds its id": [("lib/ended", "  call('HDEL', JOBS, id)\n", "")],
    "a new job of a dead one's id has its past": [("lib/ended", "  Attempts.forget_losses(id)\n  Attempts.forget({id})\n", "")],
    "a dead job comes back without its attempts": [("lib/ended", "  if lines ~= '' then", "  if false then")],
    "a dead job comes back and stays dead": [("lib/ended", "  Ended.drop(id)\n", "")],
    "a dead job comes back under an id that is taken": [("run", "  if call('HEXISTS', JOBS, id) == 1 then return RESULT.TAKEN end\n", "")],
    "a dead job comes back beyond the most jobs": [("run", "max_jobs > 0 and Expiries.jobs_below(max_jobs) >= max_jobs", "false")],
    "a dead job comes back beyond the quota": [("run", "  local refused = Quotas.refusal(topic_of(id), 1, new)\n", "  local refused = nil\n")],
    "a quota refuses nothing": [("lib/quotas", "if rooms[topic] and rooms[topic] < number then", "if false then")],
    "a quota does not count jobs in flight": [("lib/quotas", " + call('HLEN', holders_of(topic))", "")],
    "a new job takes no place of the quota": [("lib/quotas", "  if rooms[topic] then rooms[topic] = rooms[topic] - number end\n", "")],
    "a sibling topic has no quota": [("lib/quotas", "settings_of(owner_of(topic)).maxPending", "settings_of(topic).maxPending")],
    "what replaces a job needs room": [("replace", "    was_leased = Lingering.make_way(id)\n", "    was_leased = Lingering.make_way(id)\n    local refused = Quotas.refusal(topic_of(id), 1)\n    if refused then return refused end\n")],
    "a full quota loses a time": [("fire", " and result ~= RESULT.QUOTA", "")],
    "the index of quotas has a wrong number": [("lib/quotas", "written[#written + 1] = number\n", "written[#written + 1] = number + 1\n")],
    "the tag of a dead job meets a living one": [("lib/tags", "string.find(tags, Tags.of(id, record), 1, true)", "true")],
    "the dead are kept for ever": [("sweep", "retention and take_over(", "false and take_over(")],
    "the dead of all topics are swept": [("lib/ended", "retention and integer(tonumber(first) + retention) or 'inf'",
                                          "integer(tonumber(first) + (retention or 1500))")],
    "another retention dates nothing": [("settings", "  Ended.touch_dead(topic)\n", "")],
    "too young to be swept": [("sweep", "integer(now - age_ms)", "integer(now - age_ms + 5000)")],
    "more of the dead go than are too many": [("sweep", "math.min(excess, left, CHUNK) - 1", "math.min(excess, left, CHUNK)")],
    "a retention of a pattern dates nothing": [("set_patterns", ", 'redate', '0')", ")")],
    "a topic's own settings count no more than a pattern's": [("lib/settings", "  for member, value in pairs(own) do merged[member] = value end\n", "")],
    "a pattern's settings are lost where a topic has its own": [("lib/settings", "  for member, value in pairs(common) do merged[member] = value end\n", "")],
    "the shortest pattern counts": [("lib/settings", "return a > b", "return a < b")],
    "patterns match sibling topics": [("lib/settings", "  if string.find(topic, '~', 1, true) then return end\n", "")],
    "another pattern frees no topic": [("lib/reoffer", "topics, place = behind_step(from, last, most - number)", "topics, place = {}, false")],
    "another pattern holds no topic": [("lib/reoffer", "topics, place = turns_step(from, last, most - number)", "topics, place = {}, false")],
    "patterns that were read before another change": [("set_patterns", "    if version ~= tonumber(old) then return 0 end\n", "")],
    "swept too early": [("sweep", "KEPT_UNTIL, '-inf', now,", "KEPT_UNTIL, '-inf', now + 30000,")],
    "replace keeps the attempts": [("lib/lingering", "  Attempts.forget({id})\n", "")],
    "an expired job is dead after it has changed": [("bury", "Expiries.nonce(record) == nonce and Records.is_expired(record)", "true")],
    "a job that expires behind the head pauses its topic": [("bury", "(verdicts[number] or is_first(id))", "true")],
    "an expired job stays": [("bury", "(verdicts[number] or has_expired(id, ARGV[i + 1]))", "verdicts[number]")],
    "an attempt of an expired job is ended": [("bury", " or Leases.deadline(id) then return false end", " then return false end")],
    "no job is noted as one that expires": [("lib/expiries", "  if not at then return end\n", "  if at then return end\n")],
    "a job is accepted that would expire before it is due": [("lib/records", "return expires and tonumber(expires) <= at", "return false")],
    "a change lets a job expire before it is due": [("change", "if is_too_late(id, when, record) then return RESULT.EXPIRED end", "")],
    "a dead job that has expired is run": [("run", "if Records.is_expired(new, at) then return RESULT.EXPIRED end", "")],
    "run ignores what was seen": [("run", "if not seen then return", "if false then return")],
    "cancel ignores what was seen": [("lib/cancels", "if not seen then", "if false then")],
    "replace takes what it is not to": [("replace", "    if not is_other then return RESULT.NOT_AS_SEEN end\n", "")],
    "replace keeps the losses": [("lib/lingering", "  Attempts.forget_losses(id)\n", "")],
    "a move ignores that a job expires": [("change", "if Records.is_expired(call('HGET', JOBS, id), (Records.due_of(when))) then return RESULT.NOT_AS_SEEN end", "")],
    "change keeps the losses": [("change", "  Attempts.forget_losses(id)\n", "")],
    "change of what is delivered": [("change", "Leases.deadline(id)", "false")],
    "change ignores what was seen": [("change", "if not seen or seen == 'dead' and when ~= '-' then", "if false then")],
    "a replaced job keeps its lease": [("lib/lingering", "    Lingering.take_cancelled(id, 'replaced')\n", "")],
    "a replaced job frees the place of its attempt": [("lib/lingering", "    Lingering.take_cancelled(id, 'replaced')\n", "    Places.take(id)\n")],
    "a job that is replaced during its attempt is not kept": [("lib/lingering", "Ended.keep_job(id, 'cancelled', nil, 'replaced')", "")],
    "nobody learns that a job was replaced": [("lib/lingering", "return why == 'replaced' and RESULT.REPLACED or 0", "return 0")],
    "renew does not say that the job was replaced": [("renew", "why == 'replaced' and RESULT.REPLACED or ", "")],
    "early": [("claim", "or time >= due_before then", "or time > now + 3000 then")],
    "a later job of the same ms comes before": [("lib/places", "last and last + TIE or ms", "ms")],
    "a job that is given back has a new place": [("abandon", "Places.put_for_retry(ids[i], due, false)",
                                                  "Places.put(ids[i], math.floor(tonumber(due)))")],
    "a job that resumes is early": [("lib/places", "Places.put_back(ids[i], dues[i])", "Places.put_back(ids[i], dues[i] - 1000)")],
    "what is not held resumes": [("lib/places", "if dues[i] and places_now[i] and", "if not dues[i] or")],
    "a topic that turns its breaker off resumes nothing": [("lib/resuming", "breaker == false or was_on and breaker == nil", "was_on and breaker == nil")],
    "a topic that loses its setting resumes nothing": [("lib/resuming", " or was_on and breaker == nil", "")],
    "a pattern that loses its breaker resumes nothing": [("set_patterns", "lost[#lost + 1] = name", "")],
    "a pattern that turns breakers off resumes nothing": [("lib/resuming", "call('HSET', META, 'resume_held', '0')", "call('HLEN', META)")],
    "a breaker that is off holds what was claimed before": [("release", "if is_free(topic_of(id), ARGV[i + 4], ARGV[i + 5]) then wait = -1 end", "")],
    "a breaker whose setting is gone holds what was claimed before": [("release", " or by_setting == '1' and not breaker", "")],
    "a breaker forgets whom it holds": [("release", "Holds.add_by_breaker(holder, id, soonest + wait)", "local _ = 0")],
    "a topic that has a url again resumes nothing": [("lib/resuming", "(is_off or has_url_again(topic))", "is_off")],
    "a topic that has a url again and a breaker resumes nothing": [("lib/resuming", "is_mended or settings_of", "settings_of")],
    "a job that was claimed before its topic had a url is held": [("release", "return Records.needs_no_url(topic) end", "return false end")],
    "a fifo topic has two in flight": [("lib/turns", "own.order == 'fifo' and 1 or ", "")],
    "the line holds nothing": [("lib/turns", "  if line_at then return line_at end\n", "")],
    "the head of a fifo topic loses its place": [("lib/places", "local keeps_place = Fifo.line_of(id)", "local keeps_place = false")],
    "a held job is passed when its topic becomes fifo": [
        ("lib/fifo", "  if not held[1] or tonumber(held[2]) >= tonumber(first[2]) then return first end", "  if true then return first end")],
    "a topic that is no longer fifo keeps its line": [("settings", "  Places.leave_fifo(topic)\n", "")],
    "a head that runs again waits for its line": [("run", "      Fifo.let_go(id)\n", "")],
    "a dead head that comes back is behind": [("lib/places", "    return put_head(id, tonumber(at))\n", "    return Places.put(id, at)\n")],
    "a dead head that comes back later holds nothing": [("lib/places", "  Fifo.hold(id, score, at)\n", "")],
    "a dead head pauses nothing": [("bury", "Fifo.pause_after(id)", "local _ = 0")],
    "a topic that is no longer fifo by its pattern keeps its line": [
        ("lib/reoffer", "Places.leave_fifo(page[2][i])", "")],
    "an emptied fifo topic stays in due": [("claim", "if any_settings and is_fifo(topic) then turn.is_front = false end", "")],
    "a line without its job stays": [("lib/fifo", "    call('HDEL', LINES, topic)\n    return first[2] or false", "    return first[2] or false")],
    "held back for less": [("release", "wait >= 0 and soonest + wait)", "wait >= 0 and soonest + wait - 500)")],
    "early by a fraction": [("retry", "soonest + ", "now + ")],
    "recovers after a step of the clock": [("recover", "> Leases.STEP_MS then", "> (holder == CONSUMERS and 1e12 or Leases.STEP_MS) then")],
    "lost after the clock went back": [("lib/leases", "return call('ZRANGEBYSCORE', key, '(' .. integer",
                                        "return {} or call('ZRANGEBYSCORE', key, '(' .. integer")],
    "a bucket is written beside its number": [("lib/places", "  waiting_change = waiting_change + number\n", "")],
    "a job that is taken still counts as waiting": [("lib/places", "  waiting_change = waiting_change - number\n", "")],
    "a claimed job is still held": [("lib/places", "  waiting_change = waiting_change - #ids\n  if has(HELD) then Holds.remove(topic, ids) end\n",
                                   "  waiting_change = waiting_change - #ids\n")],
    "a held job forgets when it was due": [("claim", "turn.dues[at]", "false")],
    "a topic has no name": [("lib/places", "if highest == false or had_none[topic] then Names.add(topic) end", "")],
    "a topic without jobs keeps its name": [("lib/turns", "    Names.doubt(topic, true)\n", "")],
    "a topic with kept jobs has no name": [("lib/names", "if has_rare_keys or is_there[KEPT] then", "if false then")],
    "a topic with settings has no name": [("lib/names", "    if text then return false end\n", "")],
    "a held topic is not behind": [("lib/turns", "if is_late and at or not is_new and has(BEHIND) then note_behind(topic, is_late and at) end", "")],
    "a pull topic is in turns": [("lib/turns", "  if not is_pull(topic) then return end\n", "  if true then return end\n")],
    "a process that waits for jobs is not called": [("lib/turns", "  if is_offer then call_waiters(topic) end\n", "")],
    "a process is called that waits no more": [("lib/turns", "tonumber(until_ms) > clock.lease_now then", "true then")],
    "a lease has no holder": [("lease", "    call('HSET', holders_of(topic), unpack(holders))\n", "")],
    "a lease leaves the job in its bucket": [("lease", "    Places.leave_front(topic, taken)\n", "")],
    "a lease ignores the limit": [("lease", "Turns.limit_of(topic) - call('HLEN', holders_of(topic))", "most")],
    "a lease ignores the pause": [("lease", "  if own.paused then return 0, -1 end\n", "")],
    "a lease ignores the rate": [("lease", "  most = math.min(most, tokens)\n", "")],
    "a lease spends no rate": [("lease", "  if own.rate and #begun > 0 then Rates.spend(topic, #begun, first_due) end\n", "")],
    "a lease ignores the line": [("lease", "  if line_at then return 0, tonumber(line_at) end\n", "")],
    "a job is leased early": [("lease", "    if time >= due_before then break end\n", "")],
    "a key returns what others hold": [("lease", "holder_nonce == nonce and tonumber(deadline) > now", "due")],
    "a key is used for two requests": [("lease", "  if kept == RESULT.REUSED then return kept end\n", "")],
    "a deferred attempt stays that of a consumer": [("defer", "      call('ZREM', CONSUMERS.leases, id)\n", "")],
    "a late answer makes a lease shorter": [("defer", "'XX', 'GT', ", "'XX', ")],
    "the token of another attempt is heard": [("defer", "== 'p-' .. nonce then", "~= nil then")],
    "the progress of an attempt stays": [("retry", "      Attempts.forget_progress(id)\n", "")],
    "the last progress is lost": [("lib/ended", "  record = Records.with(record, 'progress', Attempts.progress(id))\n", "")],
    "a lease that ran out is extended": [("renew", "if has_lease and holder == WORKERS then", "if false then")],
    "a token extends the lease of another": [("renew", "verdicts[number] == 'lease'", "(holder == WORKERS or verdicts[number] == 'lease')")],
    "a completed job keeps its lease": [("complete", "  call('ZREM', WORKERS.leases, unpack(pulled))\n", "")],
    "a completed lease is not remembered": [("lib/pull", "    call('HSET', completed_by(nonce), list[1], others)\n    call('PEXPIRE', completed_by(nonce), COMPLETED_MS)\n", "")],
    "a job is completed without its callbacks": [("complete", "then return RESULT.NO_RECORD end", "then local _ = 0 end")],
    "a kept job that a worker has completed has no attempt": [("lib/pull", "return table.concat({name, began, integer(math.max(0, now - tonumber(began))), '200'}, ' ')", "return ''")],
    "a living lease is a failed attempt": [("recover", "local ids = Leases.lost(holder, holder.leases, lease_ms, ARGV[5])",
                                            "local ids = holder == WORKERS and call('ZRANGE', holder.leases, 0, ARGV[5] - 1) or Leases.lost(holder, holder.leases, lease_ms, ARGV[5])")],
    "a lease that ran out after a step of the clock": [("recover", "> Leases.STEP_MS then", "> (holder == WORKERS and 1e12 or Leases.STEP_MS) then")],
    "no carry sees that a worker's lease runs out": [("carry", "ipairs(HOLDERS)", "ipairs({CONSUMERS})")],
    "a worker's lease ends and stays": [("lib/leases", " or has(WORKERS.leases) and call('ZREM', WORKERS.leases, id) == 1", "")],
    "an owner does not see the lease of a worker": [("lib/leases", "  deadline = has(WORKERS.leases) and call('ZSCORE', WORKERS.leases, id)\n", "")],
    "the audit forgets the leases of workers": [("audit", "call('ZCARD', CONSUMERS.leases) + pulled", "call('ZCARD', CONSUMERS.leases)")],
    "a worker's cancelled job keeps its place": [("recover", "has(holder.lingering) and", "holder == CONSUMERS and has(holder.lingering) and")],
    "the walk through leases leaves those of workers out": [("leased", "elseif not is_pulled and at == '0' and has(WORKERS.leases) then", "elseif false then")],
    "no wake-up": [("lib/turns", "publish(first_after)", "return")],
    "no wake-up by a claim": [("claim", "\n  Turns.wake()\n", "\n")],
    "no bell": [("lib/turns", "if first and call('LLEN', READY) == 0 then call('RPUSH', READY, first) end", "")],
    "jobs that are scheduled together replace jobs": [("schedule_all", "if is_taken or call('HEXISTS', JOBS, id) == 1 then", "if is_taken then")],
    "one of the jobs that are scheduled together is there twice": [("schedule_all", "if is_taken or", "if")],
    "only a part of the jobs that are scheduled together fits": [("schedule_all", "if number > room then", "if room < 1 then")],
    "a send replaces jobs that have its ids": [("send", "  if taken then return {'taken', taken} end\n", "")],
    "a send is beyond the most jobs": [("send", "room < #send.endpoints", "room < 1")],
    "the same is sent again": [("send", "if mark == send.mark and group", "if false and group")],
    "a send of other content is the same": [("send", "if mark == send.mark and group", "if group")],
    "a send leaves a leased job its lease": [("replace_send", "    if Lingering.make_way(same[i]) then", "    if not Leases.deadline(same[i]) and Lingering.make_way(same[i]) then")],
    "jobs of earlier endpoints stay": [("replace_send", "    Cancels.cancel(others[i], '')\n", "")],
    "a send replaces what must not be there": [("replace_send", "send.only == '!' and", "false and")],
    "a replaced send is beyond the most jobs": [("replace_send", "+ more > max_jobs", "> max_jobs")],
    "only a part of a send is cancelled": [("unsend", "for i = 1, #endpoints do", "for i = 1, 1 do")],
    "a cancelled send is remembered": [("unsend", " else Sends.drop(id) end", " end")],
    "a send is forgotten while its jobs wait": [("forget", "if may_be_left(ids[i]) then", "if false then")],
    "another job is cancelled with a send": [("unsend", "if not sent_at or Sends.is_of_send(id, sent_at) then", "if true then")],
    "a schedule moves from another time": [("fire", "(times[item.id] and tonumber(times[item.id])) ~=", "false and")],
    "a time is fired again": [("fire", "  if not is_expected(id, item.expected) then return 0 end\n", "")],
    "a time is fired early": [("fire", "at == tonumber(expected) and at <= now", "at == tonumber(expected)")],
    "an old definition is fired": [("fire", "  if its_tag ~= item.tag then\n", "  if not its_tag then\n")],
    "a full pool loses a time": [("fire", "if result ~= RESULT.FULL and result", "if result")],
    "an occurrence beyond the most jobs": [("fire", "if has_no_url or refused or room < 1 then", "if has_no_url or refused then")],
    "overlap ignored": [("fire", "item.overlap == '1' and previous", "false")],
    "an occurrence replaces a job": [("fire", "call('HSETNX', JOBS, item.job, record) == 0",
                                       "call('HSET', JOBS, item.job, record) < 0")],
    "an occurrence for a group replaces jobs": [("fire", "  if is_in_pool(item.job) or Sends.first_left(item.job, item.endpoints) then", "  if false then")],
    "an occurrence for a group is beyond the most jobs": [("fire", "  if room < #item.endpoints or", "  if room < 1 or")],
    "overlap overlooks jobs of a group": [("fire", "  return endpoints and Sends.first_left(id, endpoints, sent_at) ~= nil\n", "")],
    "a deleted schedule fires": [("undefine", "  call('HDEL', FIRED, id)\n  call('ZREM', FIRES, id)\n", "")],
    "a definition that was not read is replaced": [("define", "if (its_tag or '-') ~= tag then return 0 end", "")],
    "a death does not fail its workflow": [("bury", "    if has(WORKFLOW_JOBS) then WorkflowEnds.fail(id) end\n", "")],
    "a delivered job stays in its workflow": [("complete", "  if has(WORKFLOW_JOBS) then WorkflowEnds.leave_all(gone) end\n", "")],
    "a cancelled job stays in its workflow": [("lib/cancels", "  if has(WORKFLOW_JOBS) then others = WorkflowEnds.cancel(id) end\n", "")],
    "a workflow goes on without a job that was cancelled": [("lib/cancels", "then others = WorkflowEnds.cancel(id) end", "then leave(id) end")],
    "a workflow that is over takes elements": [("lib/workflows", "if place and Workflows.is_active(place) then return place end", "return place")],
    "a workflow goes on again and again": [("begin", "    Cancels.cancel_dead(dead_job)\n", "")],
    "a step is appended twice": [("append", "named[step] or Workflows.job_of_step(place, step) or ''", "named[step] or ''")],
    "a step is appended twice in one call": [("append", "named[step] or Workflows.job_of_step(place, step) or ''", "Workflows.job_of_step(place, step) or ''")],
    "a step waits twice": [("wait", "  if Workflows.job_of_step(place, step) then return 1 end\n", "")],
    "a step of a parent starts two workflows": [("begin", "local started = parent ~= ''", "local started = false")],
    "a delivery that has done its work is repeated": [("arrive", "  if role == 's' and Workflows.is_done(place, id) then return {'done'} end\n", "")],
    "the delivery of a step counts as done by its neighbour": [("lib/workflows", "Workflows.after_step(place, number .. 'p')", "''")],
    "steps of a workflow that is over stay": [("lib/workflow_ends", "call('UNLINK', Workflows.open_key(place), Workflows.steps_key(place))", "call('UNLINK', Workflows.open_key(place))")],
    "jobs of a workflow that is over stay": [("lib/workflow_ends", "local jobs = WorkflowEnds.drop_members(place, state)", "local jobs")],
    "a kept event is taken twice": [("wait", "    Events.take(place, event)\n", "")],
    "a wait takes an event that its caller has not read": [("wait", "  if kept and kept ~= ARGV[10] then return {kept} end\n", "")],
    "a wait passes an event that was kept": [("wait", "  if kept then\n", "  if false then\n")],
    "a workflow that is over waits": [("wait", "Workflows.active_place(id), tonumber(ARGV[2])", "Workflows.place(id), tonumber(ARGV[2])")],
    "no event finds a wait": [("wait", "  call('ZADD', Events.waiters_key(Events.owner_of_place(place), event), integer(now), job)\n", "")],
    "a wait that has timed out takes an event": [("arrive", "  Events.forget_wait(id, place)\n", "")],
    "a wait times out with each attempt": [("arrive", "  Workflows.note_membership(id, 's', position, bytes, place)\n", "")],
    "a wait times out without its element": [("arrive", "  if role == 'w' then position, bytes = end_wait(id, place) end\n", "")],
    "a wait that was notified times out": [("notify", "  WorkflowEnds.drop_member(waiter)\n", "")],
    "a job that waits no more is notified": [("notify", "if role ~= 'w' or", "if not role or")],
    "an event replaces a job": [("notify", "or call('HEXISTS', JOBS, job) == 1 then return 0 end", "then return 0 end")],
    "an event is kept while its workflow waits": [("notify", "  if call('ZCARD', Events.waiters_key(place, event)) > 0 then return RESULT.AGAIN end\n", "")],
    "an event is taken and kept": [("notify", "if taken == 0 and ARGV[4] ~= ''", "if ARGV[4] ~= ''")],
    "a workflow that is over keeps events": [("notify", "  if not place then return RESULT.NOT_FOUND end\n", "  place = place or Workflows.place(ARGV[4])\n  if not place then return RESULT.NOT_FOUND end\n")],
    "waits of a workflow that is over stay": [("lib/workflow_ends", "  if role == 'w' then Events.forget_wait(id, place) end\n", "")],
    "the room of an event that was taken is not free": [("lib/events", "  add_event_bytes(-size)\n", "")],
    "a step does not note its webhook": [("append", "Events.note_hook(place, hook)", "local _")],
    "a workflow that waits for a webhook does not note it": [("wait", "  if Events.is_hook(event) then Events.note_hook(place, event) end\n", "")],
    "the room of a webhook's event that was taken is not free": [("lib/events", "  if Events.is_hook(event) then shrink_hooks(names, size) end\n", "")],
    "a workflow that continues another one loses its webhooks": [("begin", "  Events.copy_hooks(from, place)\n", "")],
    "events of a workflow that is over stay": [("lib/workflow_ends", "  Events.forget_all(place)\n", "")],
    "waiters of other workflows are told": [("waiters", "if ARGV[4] ~= '' then scope = Workflows.active_place(ARGV[4]) end\n", "")],
    "a batch waits for nothing": [("lib/turns", "  if batch_at then return batch_at, 'batch' end\n", "")],
    "a batch that is whole waits": [("lib/rates", "  if last then at = math.min(at, math.floor(tonumber(last))) end\n", "")],
    "a batch waits longer than it may": [("lib/rates", "math.ceil(first_due + (batch.wait or 0) * 1000)", "math.ceil(first_due + (batch.wait or 0) * 3000)")],
    "the job that makes a batch whole is not noticed": [("lib/places", "  if has_settings() and settings_of(topic).batch then Places.touch(topic) end", "  ")],
    "a claim takes a part of a batch": [("claim", "    if any_settings then leave_rest(turn) end\n", "")],
    "a claim without room for a batch splits it": [("claim", "    if is_full then break end", "    is_full = nil")],
    "a share splits a batch": [("claim", "math.max(1, math.floor(most / batch.size)) * batch.size", "most")],
    "a claim that carries does not wait for a batch": [("claim", "if #topics == 1 and not waits and", "if #topics == 1 and")],
    "a batch counts from when its topic was carried": [("lib/turns", " or settings_of(topic).batch or has(LINES)", " or has(LINES)")],
    "windows hold no topic back": [("lib/turns", "  if opens then return opens end\n", "")],
    "a claim ignores windows": [("lib/serving", "  if own.windows and Openings.closed_until(topic) then return 0, limit end\n", "")],
    "workers ignore windows": [("lease", "  if opens then return 0,", "  if false then return 0,")],
    "windows are open before their times are known": [("lib/openings", "  closed[topic] = 'inf'\n", "  closed[topic] = false\n")],
    "a span never ends": [("lib/openings", "if now < tonumber(closes) then", "if now < tonumber(closes) + 60000 then")],
    "a span opens early": [("lib/openings", "now < tonumber(opens) and opens", "now < tonumber(opens) - 1000 and opens")],
    "nobody is asked for spans": [("lib/openings", "  if is_last and may_write and call(", "  if false and call(")],
    "the carry worker is not told that spans are wanted": [("lib/openings", "    publish('openings')\n", "")],
    "a zone that was unknown is not looked for again": [("lib/openings", "    is_last = now >= again\n", "    is_last = false\n")],
    "a topic with an unknown zone is not offered again": [("lib/openings", "then closed[topic] = integer(again) end", "then local _ = 0 end")],
    "the last span ends before the next ones are known": [("lib/openings", "at > #spans and closes - now < DAY_MS", "false")],
    "spans of earlier settings stay": [("settings", "  Openings.forget(topic)\n", "")],
    "spans of earlier patterns stay": [("set_patterns", "  call('DEL', Openings.key())\n", "")],
    "spans of earlier settings are stored": [("openings", "    if settings_text_of(topic) == settings_text then", "    if true then")],
    "a topic whose windows open is not offered": [("openings", "      Places.touch(topic, 'all')\n", "")],
    "spans are stored and computed again": [("openings", "      call('SREM', Openings.wanted(), topic)\n      Places", "      Places")],
    "a throttled job is scheduled": [("schedule", "  if key then due, standing = Idempotency.standing(key) end\n", "")],
    "a throttle never ends": [("lib/idempotency", "if id and (kind == 'debounce' or tonumber(expiry) > now) then", "if id then")],
    "a throttle is forgotten": [("schedule", "  if key and is_new then Idempotency.stand('throttle', key, result, id, tonumber(per)) end\n", "")],
    "a job that was not scheduled stands for others": [("schedule", "local is_new = type(result) == 'number' and result > 0", "local is_new = type(result) == 'number'")],
    "a throttled answer is not kept": [("schedule", "    if once ~= '-' then Idempotency.keep(once, standing, due, tonumber(ARGV[3]), true) end\n", "")],
    "a repeated request schedules a second job": [("schedule", "  if answer then return answer end\n", "")],
    "a debounce schedules each job": [("replace", "  if not stands then first, standing = soonest, id end", "  first, standing = soonest, id")],
    "a debounce waits without end": [("replace", "math.min(soonest + wait, first + most)", "soonest + wait")],
    "a debounce replaces a job that was attempted": [("replace", "    stands = not Records.may_have(Records.read(standing), 'a')\n", "    stands = true\n")],
    "a debounce replaces a job under way": [("replace", "if standing and not stands and call('ZSCORE', bucket_of(topic_of(standing)), standing) then",
                                             "if standing and not stands and call('HEXISTS', JOBS, standing) == 1 then")],
    "debounces of one call do not know each other": [("replace", "  debounced[standing] = true\n", "")],
    "a debounce is forgotten while its job waits": [("forget", "if Idempotency.is_awaited(keys[i]) then", "if false then")],
    "a debounce is forgotten during an attempt": [("lib/idempotency", "call('HEXISTS', JOBS, id) == 1", "call('ZSCORE', bucket_of(topic_of(id)), id)")],
    "a throttled request is accepted when it is repeated": [("lib/idempotency", "string.sub(due, 1, 1) == '+' and 'throttled' or 'repeated'", "'repeated'")],
    "pages by rank": [("list", "Lists.rank_of(key, ARGV[5], ARGV[6], ", "Lists.rank_of(key, ARGV[5], '', ")],
}


def main():
    here = pathlib.Path(__file__).resolve().parent
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--clock-preload", required=True, help="the library made of support/clock_preload.c")
    options.add_argument("--scripts", default=here.parent.parent / "src/store/scripts")
    options.add_argument("--seed", type=int,
                         default=os.environ.get("DUEPOST_TEST_SEED") or random.SystemRandom().randrange(2 ** 32))
    options.add_argument("--steps", type=int, default=12000, help="in all")
    options.add_argument("--run-steps", type=int, default=600, help="in one run, which begins with nothing")
    options.add_argument("--controls", type=int, default=100, help="percent of the bugs, by the seed")
    options.add_argument("--control-steps", type=int, default=240000,
                         help="within which each bug has to be found")
    options.add_argument("--control-seconds", type=float, default=math.inf,
                         help="after which no more bugs are searched for; some are found only after many steps")
    options = options.parse_args()
    print(f"seed {options.seed}", flush=True)

    redis = Redis(options.clock_preload)
    try:
        link = redis.connect()
        bench = Bench(redis, link, options.scripts)
        for number in range(options.steps // options.run_steps):
            steps = make_steps(f"{options.seed} {number}", options.run_steps)
            failure = bench.run(steps)
            if failure:
                print(f"run {number}: {failure}", flush=True)
                steps = bench.shrink(steps, 30)
                print(f"{len(steps)} steps are enough:", *steps, bench.run(steps), sep="\n")
                return 1
        print(f"{options.steps} steps: all promises kept", flush=True)
        missed = 0
        chosen = random.Random(f"{options.seed} controls").sample(sorted(CONTROLS), len(CONTROLS) * options.controls // 100)
        end, tried = time.monotonic() + options.control_seconds, 0
        for name in chosen:
            changes = CONTROLS[name]
            bench = Bench(redis, link, options.scripts, changes)
            failure, number = None, 0
            while not failure and number * options.run_steps < options.control_steps and time.monotonic() < end:
                failure = bench.run(make_steps(f"{options.seed} control {number}", options.run_steps))
                number += 1
            if not failure and time.monotonic() >= end:
                print(f"{tried} of {len(chosen)} bugs within {options.control_seconds:g} s", flush=True)
                break
            print(f"control, {name}: {failure or 'NOT FOUND'}"[:200], flush=True)
            tried += 1
            missed += not failure
        return 1 if missed else 0
    finally:
        redis.stop()


if __name__ == "__main__":
    sys.exit(main())
