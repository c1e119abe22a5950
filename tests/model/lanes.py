#!/usr/bin/env python3
"""Random walks through the scripts with jobs that have keys and priorities, against a small model. Promises:

  - no job begins early, and a claim returns only jobs that wait
  - never more attempts of a key or of a topic in flight than its limit, none of a key that is paused, and no more in a
    second than the rate of the key allows
  - in a lane, no job begins before a more urgent one that is due; in a fifo lane, none before the one ahead has ended
  - a new job is refused if and only if its key has as many jobs as its quota allows
  - a topic with a job that may begin gets an attempt with each claim, and lanes take turns
  - the index has exactly the waiting jobs, and the sets exactly the attempts in flight; nothing is left when all jobs
    have ended
  - what Redis loses of the index, walks of the janitor make again

Seeded bugs in the scripts have to be found."""

import argparse
import json
import os
import pathlib
import random
import sys

from redis_link import Redis, load_functions

BASE = "d{0}:"
KEYS = ["", "k1", 'k"2', "k\\3", "\u00fc4", "5"]
TOPICS = ["a", "b", "p"]  # workers lease the jobs of p
DEFAULT_LIMIT = 1000
USUAL = 5  # priority
HOUR_MS = 3600000
BEGIN_US = 1700000000123456


class Broken(Exception):
    """A promise is broken."""


def promise(kept, *what):
    if not kept:
        raise Broken(" ".join(map(str, what)))


def text_of(key, priority):
    """Returns a record as the C code writes it, without its beginning."""
    if key or priority != USUAL:
        inner = json.dumps(key, ensure_ascii=False)[1:-1]
        return f'"head":"1 0 0 {priority} k 20 {inner}","topic":"x","url":"http://a/"}}'
    return '"head":"1 0 0 0 - 20 ","topic":"x","url":"http://a/"}'


class Job:
    def __init__(self, topic, key, priority):
        self.topic, self.key, self.priority = topic, key, priority
        self.score = None  # in the bucket


class Walk:
    def __init__(self, redis, link, functions, seed):
        self.redis, self.link, self.functions = redis, link, functions
        self.chance = random.Random(seed)
        self.now_us = BEGIN_US
        self.jobs, self.waiting, self.leased = {}, set(), {}  # leased: id -> nonce
        self.topics = {topic: {} for topic in TOPICS}
        self.keys = {}
        self.number = 0
        self.passed = {}  # lane with a job that may begin -> attempts of other lanes since
        self.begun = {}  # lane with a rate -> times
        self.lingering = {}  # attempt of a cancelled job, as in holders:<topic> -> topic and key
        self.heads = {}  # fifo lane -> the job that came back to it, and goes first
        self.due_at = {}  # id -> time before which it must not begin
        self.not_indexed = False  # an older job may not be in the index yet
        link("FLUSHALL")
        redis.set_time(self.now_us)
        self.set_topic("p", {"delivery": "pull"})

    def call(self, name, *words):
        command = "FCALL_RO" if name == "keys" else "FCALL"
        return self.link(command, self.functions[name], 1, BASE + "jobs", DEFAULT_LIMIT, *words)

    def pass_time(self, ms):
        self.now_us += ms * 1000
        self.redis.set_time(self.now_us)

    @property
    def now(self):
        return self.now_us // 1000

    # ---- settings ----

    def set_topic(self, topic, settings):
        old, new = (json.dumps(s) if s else "" for s in (self.topics[topic], settings))
        promise(self.call("settings", topic, old, new)[1] == 1, "the settings are not as read")
        self.topics[topic] = settings
        self.passed.clear()
        self.begun.clear()
        self.heads.clear()

    def set_key(self, topic, key, values):
        old, new = (json.dumps(v) if v else "" for v in (self.keys.get((topic, key)), values))
        promise(self.call("key_set", topic, key, old, new)[1] == 1, "the values are not as read")
        self.keys[topic, key] = values
        self.passed.clear()
        self.begun.clear()
        self.heads.clear()

    def is_line(self, topic):
        return self.topics[topic].get("order") == "fifo"

    def values(self, topic, key):
        if not key:
            return {}
        return {**self.topics[topic].get("perKey", {}), **(self.keys.get((topic, key)) or {})}

    def limit(self, topic):
        return 1 if self.is_line(topic) else self.topics[topic].get("maxInFlight", DEFAULT_LIMIT)

    def lane_limit(self, topic, key):
        values = self.values(topic, key)
        if self.is_line(topic):
            return 1
        return 0 if values.get("paused") else 1 if values.get("order") == "fifo" else values.get("maxInFlight", DEFAULT_LIMIT)

    # ---- state ----

    def in_flight(self, topic, key=None):
        lanes = [(job.topic, job.key) for job in map(self.jobs.get, self.leased)] + list(self.lingering.values())
        return sum(lane[0] == topic and key in (None, lane[1]) for lane in lanes)

    def bucket(self, topic):
        found = self.link("ZRANGE", f"{BASE}bucket:{topic}", 0, -1, "WITHSCORES")
        return {found[i]: float(found[i + 1]) for i in range(0, len(found), 2)}

    def read_scores(self):
        for topic in TOPICS:
            for job_id, score in self.bucket(topic).items():
                promise(job_id in self.waiting, job_id, "is in a bucket, but does not wait")
                self.jobs[job_id].score = score

    def is_due(self, job_id):
        return self.jobs[job_id].score < self.now + 1 and self.due_at.get(job_id, 0) <= self.now

    def urgency(self, job_id):
        job = self.jobs[job_id]
        age = self.topics[job.topic].get("priorityAge", 3600)
        return (-job.priority, job.score) if age == "off" else (job.score - job.priority * age * 1000,)

    def pending(self, topic, key):
        return len(self.lane(topic, key)) + self.in_flight(topic, key)

    def lane(self, topic, key):
        return [job_id for job_id in self.waiting if (self.jobs[job_id].topic, self.jobs[job_id].key) == (topic, key)]

    def may_begin(self, topic, key):
        """Returns whether a job of the lane may begin for certain; where the order of a line or a rate decides, it does not
        say so."""
        if self.topics[topic].get("paused") or self.is_line(topic) or self.in_flight(topic) >= self.limit(topic):
            return False
        values = self.values(topic, key)
        if values.get("rate") or values.get("order") or self.in_flight(topic, key) >= self.lane_limit(topic, key):
            return False
        return any(map(self.is_due, self.lane(topic, key)))

    # ---- attempts ----

    def begin(self, ids, nonce):
        lanes = {}
        for job_id in ids:
            promise(job_id in self.waiting, job_id, "begins, but does not wait")
            promise(self.is_due(job_id), job_id, "begins early")
            lanes.setdefault((self.jobs[job_id].topic, self.jobs[job_id].key), []).append(job_id)
        self.read_scores()  # a claim may give a job that has left its line a later place
        is_laned = {topic: self.link("HEXISTS", BASE + "lanes", topic) for topic in TOPICS}
        for (topic, key), chosen in lanes.items():
            is_fifo = self.is_line(topic) or self.values(topic, key).get("order") == "fifo"
            if not is_laned[topic] or self.is_line(topic) or self.not_indexed:
                continue
            of = (lambda job_id: (self.jobs[job_id].score,)) if is_fifo else self.urgency
            last = max(map(of, chosen))
            head = self.heads.pop((topic, key), None)
            promise(head in (None, *chosen), chosen, "does not wait for", head)
            for other in self.lane(topic, key):
                promise(other in chosen or not is_fifo and not self.is_due(other) or of(other) >= last, other, "is more urgent than", chosen)
        for job_id in ids:
            self.waiting.discard(job_id)
            self.leased[job_id] = nonce
            self.due_at.pop(job_id, None)
        for (topic, key), chosen in lanes.items():
            promise(self.in_flight(topic) <= max(self.limit(topic), self.before[topic]), "above the limit of", topic)
            promise(self.in_flight(topic, key) <= max(self.lane_limit(topic, key), self.before[topic, key]), "above the limit of", topic, key)
            rate = self.values(topic, key).get("rate")
            if rate and not self.is_line(topic):
                times = self.begun.setdefault((topic, key), [])
                times += [self.now_us] * len(chosen)
                promise(sum(at > self.now_us - 1000000 for at in times) <= rate["jobs"] / rate["per"] + rate["burst"], "above the rate of", topic, key)
        for topic, key in lanes:
            self.passed.pop((topic, key), None)
        for topic, key in list(self.passed):
            if not self.may_begin(topic, key):
                del self.passed[topic, key]
                continue
            self.passed[topic, key] += sum(len(chosen) for lane, chosen in lanes.items() if lane[0] == topic)
            has_weights = any(self.values(topic, other).get("weight") for other in KEYS)
            most = (30 if has_weights else 3) * len(KEYS)
            promise(self.passed[topic, key] <= most, "the lane", topic, repr(key), "gets no turn")

    def note_before(self):
        self.read_scores()
        self.before = {topic: self.in_flight(topic) for topic in TOPICS}
        self.before.update({(topic, key): self.in_flight(topic, key) for topic in TOPICS for key in KEYS})
        for topic in "ab":  # a worker that asks for one key may put its lane ahead of others
            for key in KEYS:
                if self.may_begin(topic, key):
                    self.passed.setdefault((topic, key), 0)

    def new_nonce(self, letter="n"):
        self.number += 1
        return f"{letter}{self.number}"

    def claim(self, most):
        nonce = self.new_nonce()
        self.note_before()
        answer = self.call("claim", most, nonce, 60000, self.chance.choice((1, 4)), 100000, self.chance.choice((1, 2)))
        ids = [answer[4 + 3 * i] for i in range(answer[3])]
        self.begin(ids, nonce)
        return ids

    def step_claim(self):
        if self.claim(self.chance.choice((1, 2, 8, 64))):
            return
        for topic in "ab":
            ready = [key for key in KEYS if self.may_begin(topic, key)]
            promise(not ready or any(self.claim(8) for _ in range(40)), "no claim gets a job of", topic, "although it has jobs of", ready)

    def step_lease(self):
        nonce, only = self.new_nonce("p"), self.chance.choice((None, None, "", "k1", "5"))
        self.note_before()
        answer = self.call("lease", "p", self.chance.choice((1, 3, 20)), nonce, 60000, 0, "-", "" if only is None else "=" + only)[1]
        ids = [answer[i] for i in range(5, len(answer), 5)]
        promise(only is None or all(self.jobs[job_id].key == only for job_id in ids), ids, "are not of", only)
        ready = [key for key in KEYS if only in (None, key) and self.may_begin("p", key)]
        promise(ids or not ready or self.not_indexed, "no lease gets a job of", ready)
        self.begin(ids, nonce)

    def step_end(self):
        for place in [place for place in self.lingering if self.chance.random() < 0.3]:
            self.call("complete", *place.split("\n"), "")
            del self.lingering[place]
        for _ in range(self.chance.randint(1, 4)):
            if self.leased:
                self.end(self.chance.choice(sorted(self.leased)), self.chance.choice(("complete", "complete", "release", "retry", "hold", "bury")))

    def end(self, job_id, how):
        nonce, job = self.leased[job_id], self.jobs[job_id]
        record = '{"createdAt":5,' + text_of(job.key, job.priority)
        wait = self.chance.choice((0, 20))
        words = {"complete": ["complete", job_id, nonce, ""], "release": ["release", job_id, nonce, -1, 0, "-", 0],
                 "hold": ["release", job_id, nonce, wait, 0, "r", 0], "bury": ["bury", job_id, nonce, record, ""],
                 "retry": ["retry", job_id, nonce, wait, record, ""]}[how]
        promise(self.call(*words)[1] >= 1, "the end of", job_id, "is stale")
        del self.leased[job_id]
        if how in ("complete", "bury"):
            del self.jobs[job_id]
            return
        self.waiting.add(job_id)
        # A line that several jobs in flight have joined keeps the time of only one of them (lib/fifo.lua).
        in_line = self.in_flight(job.topic) if self.is_line(job.topic) else self.in_flight(job.topic, job.key)
        if how in ("retry", "hold") and not (in_line and (self.is_line(job.topic) or self.values(job.topic, job.key).get("order"))):
            self.due_at[job_id] = self.now + wait
        is_first = all(self.jobs[other].score >= job.score for other in self.lane(job.topic, job.key))
        if self.values(job.topic, job.key).get("order") and not self.is_line(job.topic) and not in_line and is_first:
            self.heads[job.topic, job.key] = job_id
        if how == "retry" and "retryPriority" in self.topics[job.topic]:
            job.priority = self.topics[job.topic]["retryPriority"]
        self.read_scores()

    # ---- clients ----

    def rank(self):
        return self.chance.choice(KEYS) if self.chance.random() < 0.8 else "", USUAL if self.chance.random() < 0.6 else self.chance.randint(0, 9)

    def step_schedule(self):
        items, ids, refused = [], [], {}
        for _ in range(self.chance.randint(1, 6)):
            self.number += 1
            topic, (key, priority) = self.chance.choice(TOPICS), self.rank()
            job_id, delay = f"{topic}/{self.number}", self.chance.choice((0, 0, 0, 5, 30))
            items += [job_id, delay, text_of(key, priority), "-"]
            ids.append(job_id)
            quota = self.values(topic, key).get("maxPending")
            if quota is not None and self.pending(topic, key) >= quota:
                refused[job_id] = [quota, self.pending(topic, key), key]
                continue
            self.jobs[job_id] = Job(topic, key, priority)
            self.waiting.add(job_id)
            self.due_at[job_id] = self.now + delay
        for job_id, result in zip(ids, self.call("schedule", 0, 1000, *items)[1:]):
            told = [*result[2:4], result[5]] if isinstance(result, list) and result[0] == "quota" else None
            promise(told == refused.get(job_id), job_id, "gets", result, "and should get", refused.get(job_id))

    def step_cancel(self):
        if not self.jobs:
            return
        job_id = self.chance.choice(sorted(self.jobs))
        promise(self.call("cancel", job_id, "")[1] == (job_id in self.leased), job_id, "is not cancelled")
        if job_id in self.leased:
            self.lingering[f"{job_id}\n{self.leased.pop(job_id)}"] = self.jobs[job_id].topic, self.jobs[job_id].key
        self.waiting.discard(job_id)
        self.leave_head(job_id)
        del self.jobs[job_id]

    def leave_head(self, job_id):
        if self.heads.get((self.jobs[job_id].topic, self.jobs[job_id].key)) == job_id:
            del self.heads[self.jobs[job_id].topic, self.jobs[job_id].key]

    def step_put(self):
        if not self.waiting:
            return
        job_id = self.chance.choice(sorted(self.waiting))
        key, priority = self.rank()
        delay = self.chance.choice((0, 10))
        job = self.jobs[job_id]
        quota = self.values(job.topic, key).get("maxPending")
        is_refused = quota is not None and key != job.key and self.pending(job.topic, key) >= quota
        result = self.call("replace", 0, job_id, delay, text_of(key, priority), "")[1]
        promise((result[0] == "quota") == is_refused, job_id, "gets", result)
        if is_refused:
            return
        self.leave_head(job_id)
        self.jobs[job_id] = Job(self.jobs[job_id].topic, key, priority)
        self.due_at[job_id] = self.now + delay

    def step_settings(self):
        topic, settings = self.chance.choice("ab"), {}
        chance = self.chance.random
        if chance() < 0.3:
            settings["maxInFlight"] = self.chance.choice((1, 3, 5))
        if chance() < 0.8:
            own = settings["perKey"] = {}
            if chance() < 0.6:
                own["maxInFlight"] = self.chance.choice((1, 2))
            if chance() < 0.25:
                own["order"] = "fifo"
            if chance() < 0.3:
                own["weight"] = 3
            if chance() < 0.2:
                own["maxPending"] = self.chance.choice((0, 2, 5))
            if chance() < 0.2:
                own["rate"] = {"jobs": 5, "per": 1, "burst": 1}
        if chance() < 0.2:
            settings["priorityAge"] = self.chance.choice(("off", 1, 0.01))
        if chance() < 0.2:
            settings["retryPriority"] = self.chance.choice((2, 8))
        if chance() < 0.1:
            settings["paused"] = True
        self.set_topic(topic, {"order": "fifo"} if chance() < 0.05 else settings)

    def step_key(self):
        self.set_key(self.chance.choice(TOPICS), self.chance.choice(KEYS[1:]),
                     self.chance.choice(({}, {}, {"paused": True}, {"maxInFlight": 1}, {"weight": 9})))

    def step_time(self):
        self.pass_time(self.chance.choice((1, 5, 30)) if self.chance.random() < 0.98 else 2 * HOUR_MS)

    def step_loss(self):
        """Redis loses a part of what belongs to lanes, and the janitor walks."""
        if self.chance.random() < 0.8:
            return
        names = sorted(self.link("KEYS", BASE + "lane*") + self.link("KEYS", BASE + "ranks"))
        for name in self.chance.sample(names, min(len(names), self.chance.randint(1, 3))):
            self.link("DEL", name)
        for walk in ("jobs", "leases", "pulled", "due", "turns", "lines", "ranks", "lanes", "calendars") * 2:
            cursor, rounds = "0", 0
            while rounds == 0 or cursor != "0":
                answer = self.call("mend", walk, cursor)
                cursor, rounds = answer[1], rounds + 1
                promise(rounds < 1000, "the walk", walk, "does not end")
        for job_id, job in self.jobs.items():  # a rank that was lost comes from the record, which has the priority before retries
            rank = self.link("HGET", BASE + "ranks", job_id) or f"{USUAL}"
            promise(rank[1:] == job.key or not self.link("HEXISTS", BASE + "lanes", job.topic), job_id, "has lost its key")
            job.priority = int(rank[0])
        for place, (topic, _) in self.lingering.items():  # no record has the key of a cancelled job
            self.lingering[place] = topic, (self.link("HGET", BASE + "ranks", place) or f"{USUAL}")[1:]

    # ---- checks ----

    def check(self):
        self.read_scores()
        for topic in TOPICS:
            bucket = self.bucket(topic)
            waiting = {job_id for job_id in self.waiting if self.jobs[job_id].topic == topic}
            promise(set(bucket) == waiting, "the bucket of", topic, "differs:", set(bucket) ^ waiting)
            state = self.link("HGET", BASE + "lanes", topic)
            if state:
                self.check_lanes(topic, bucket, state.startswith("inf"))

    def check_lanes(self, topic, bucket, is_whole):
        indexed = {}
        for name in self.link("KEYS", f"{BASE}lane:{topic}\n*"):
            rank = name.split("\n", 1)[1]
            found = self.link("ZRANGE", name, 0, -1, "WITHSCORES")
            for job_id, score in zip(found[::2], found[1::2]):
                promise(job_id not in indexed, job_id, "is in two lanes")
                promise(bucket.get(job_id) == float(score), job_id, "has another place in the index")
                promise(rank[1:] == self.jobs[job_id].key, job_id, "is in the lane", rank)
                promise(int(rank[0]) == self.jobs[job_id].priority, job_id, "has the priority", rank)
                indexed[job_id] = rank
        promise(not is_whole or set(indexed) == set(bucket), "the index lacks", set(bucket) - set(indexed))
        for key in KEYS:
            own = {job_id for job_id in self.leased if (self.jobs[job_id].topic, self.jobs[job_id].key) == (topic, key)}
            own |= {place for place, lane in self.lingering.items() if lane == (topic, key)}
            found = set(self.link("SMEMBERS", f"{BASE}lane_leases:{topic}\n{key}"))
            promise(found == own or not key and found <= own, "in flight of", topic, repr(key), found ^ own)
            pending = sum(rank[1:] == key for rank in indexed.values()) + len(found)
            promise(float(self.link("ZSCORE", f"{BASE}lanes_pending:{topic}", key) or 0) == pending, "the number of", topic, repr(key))

    def end_all(self):
        for topic in TOPICS:
            self.set_topic(topic, {"delivery": "pull"} if topic == "p" else {})
        for topic, key in list(self.keys):
            self.set_key(topic, key, {})
        for number in range(300):
            for job_id in list(self.leased):
                self.end(job_id, "bury")
            while self.lingering:
                self.step_end()
            if not self.jobs:
                break
            self.pass_time(10 if number % 50 else HOUR_MS)
            self.claim(64)
            self.step_lease()
            self.read_scores()
        promise(not self.jobs, "left:", sorted(self.jobs))
        left = [name for name in self.link("KEYS", BASE + "*") if "lane" in name or name.endswith(("ranks", "key_settings", "lines"))]
        promise(not left, "left of the lanes:", left)

    def step_back(self):
        """Redis's clock steps back."""
        ms = self.chance.choice((20, 1000, 60000))
        self.pass_time(-ms)
        for _ in range(50):
            if not self.call("reoffer", 64, -ms)[2]:
                break
            ms = 0
        self.begun.clear()
        self.passed.clear()

    STEPS = {"back": 1, "schedule": 25, "claim": 25, "lease": 8, "end": 25, "cancel": 4, "put": 3, "settings": 4, "key": 3, "time": 20, "loss": 2}

    def run(self, steps):
        names = self.chance.choices(list(self.STEPS), list(self.STEPS.values()), k=steps)
        for number, name in enumerate(names):
            try:
                getattr(self, "step_" + name)()
                self.check()
            except Broken as broken:
                return f"step {number} {name}: {broken}"
        try:
            self.end_all()
        except Broken as broken:
            return f"end: {broken}"
        return None


def serve(walk, topic, claims, nonce):
    """Claims jobs. Returns their ids in the order in which they begin."""
    answer = walk.call("claim", walk.chance.choice(claims), nonce, 60000, walk.chance.choice((1, 8)), 1000000, 2)
    return [answer[4 + 3 * i] for i in range(answer[3])]


def add_jobs(walk, topic, key, first, number):
    for start in range(first, first + number, 100):
        items = [word for i in range(start, min(start + 100, first + number)) for word in (f"{topic}/{key}{i}", 0, text_of(key, USUAL), "-")]
        walk.call("schedule", 0, 1000, *items)


def check_shares(walk, begins):
    """Keys with many jobs share what begins by their weights."""
    weights = {"a": 1, "b": 2, "c": 5, "d": 10}
    for key, weight in weights.items():
        walk.set_key("a", key, {"weight": weight})
        add_jobs(walk, "a", key, 0, begins)
    walk.pass_time(1000)  # a ms has room for 2048 jobs
    begun, number = dict.fromkeys(weights, 0), 0
    while sum(begun.values()) < begins:
        number += 1
        ids = serve(walk, "a", (1, 4, 16, 64), f"n{number}")
        for job_id in ids:
            begun[job_id[2]] += 1
        walk.call("complete", *(word for job_id in ids for word in (job_id, f"n{number}", "")))
    for key, weight in weights.items():
        share = begun[key] / sum(begun.values()) / (weight / sum(weights.values()))
        promise(0.95 < share < 1.05, key, f"has {share:.3f} of its share of {sum(begun.values())} attempts")


def check_flood(walk, flood, singles):
    """Whatever one key has, a single job of another one begins within the next attempts, as many as lanes and the limit together."""
    limit = 10
    walk.set_topic("a", {"maxInFlight": limit})
    add_jobs(walk, "a", "a", 0, flood)
    walk.pass_time(1000)
    in_flight, number = [], 0
    for single in range(singles):
        add_jobs(walk, "a", "b", single, 1)
        walk.pass_time(1)
        before, is_begun = 0, False
        while not is_begun:
            number += 1
            ids = serve(walk, "a", (1, 2, 4), f"n{number}")
            is_begun = f"a/b{single}" in ids
            before += ids.index(f"a/b{single}") if is_begun else len(ids)
            in_flight += [(job_id, f"n{number}") for job_id in ids]
            promise(before < 2 + limit, before, "attempts begin before the single job")
            for _ in range(min(len(in_flight), walk.chance.randint(1, 3))):
                walk.call("complete", *in_flight.pop(0), "")


# Bugs: what to change in the scripts, (file, old text, new text).
CONTROLS = {
    "a claim ignores the limit of a key": [("lib/lanes", "most = math.min(most, limit - Lanes.in_flight(topic, key))", "most = most")],
    "a claim ignores a paused key": [("lib/lanes", "  if own.paused or own == UNREADABLE then return 0, 'inf', 'paused' end\n", "")],
    "the end of an attempt frees no place of its key": [("complete", "if has_lanes then Lanes.end_attempts(its_topic, ids) end", "")],
    "a retry frees no place of its key": [("lib/places", "    if has_lanes then Lanes.end_attempts(topic, {id}) end\n", "")],
    "an attempt does not count for its key": [("claim", "if has_lanes then Lanes.begin_attempts(topic, turn.holders) end", "")],
    "a worker's lease does not count for its key": [("lease", "    if has_lanes then Lanes.begin_attempts(topic, holders) end\n", "")],
    "a cancelled attempt does not count for its key": [("lib/lingering", "    if has_lanes then Lanes.linger(id, place) end\n", "")],
    "a place of a cancelled attempt stays": [("lib/lingering", "  Lanes.end_attempts(topic_of(place), {place})\n", "")],
    "the priority does not matter": [("lib/lanes", "if a.urgency ~= b.urgency then return a.urgency < b.urgency end", "")],
    "a priority does not age": [("lib/lanes", "is_strict and priority * 1e15 or priority * age_ms", "priority * 1e15")],
    "strict priorities age": [("lib/lanes", "is_strict and priority * 1e15 or priority * age_ms", "priority * age_ms")],
    "a retry keeps its priority": [("retry", "      if wait >= 0 then Lanes.note_retry(id) end\n", "")],
    "a job that leaves stays in the index": [("lib/places", "  if has(HELD) then Holds.remove(topic, ids) end\n  if has_lanes then Lanes.leave(topic, ids) end\n  return number", "  if has(HELD) then Holds.remove(topic, ids) end\n  return number")],
    "a job that comes is not in the index": [("lib/places", "    Lanes.put(topic, list)\n", "")],
    "a replaced job stays in its lane": [("lib/lanes", "    if old and old ~= rank then Lanes.leave(topic, {id}) end -- a job that this call has replaced\n", "")],
    "a job that loses its key stays in its lane": [("lib/lanes", "    Lanes.leave(topic_of(id), {id})\n    Ranks.set(id, Ranks.PLAIN)\n", "")],
    "a key is read with its escapes": [("lib/ranks", "(string.gsub(string.sub(record, at, mark - 1), '\\\\(.)', '%1'))", "string.sub(record, at, mark - 1)")],
    "jobs without a rank stay out of the index": [("lib/lanes", "    add_to_index(topic, {unpack(ids, first, last_one)}, {unpack(scores, first, last_one)})\n", "")],
    "the lane keeps its turn": [("lib/lanes", "    best.turn = best.turn + math.ceil(a_job / best.weight)\n", "")],
    "changed settings leave lanes held": [("lib/lanes", "if call('EXISTS', due_key(topic)) == 1 then call('RENAME', due_key(topic), again_key(topic)) end", "")],
    "lanes that wait are not carried": [("lib/lanes", "  for i = 1, #found do touch(topic, found[i]) end\n  return #found == STEP\nend\n\n-- Forgets", "  return #found == STEP\nend\n\n-- Forgets")],
    "the line of a key is not kept": [("lib/fifo", "return lane and settings_of(lane).order == 'fifo' and lane or nil", "return nil")],
    "a line of a key that ends lets its job begin early": [("lib/lanes", "if is_right and tonumber(at) > ms_of(place) then Fifo.move(id, at) end", "")],
    "the rate of a key is not spent": [("lib/lanes", "if spent[lane.key] and settings_of(name).rate then Rates.spend(name, spent[lane.key], lane.first) end", "")],
    "a quota of a key refuses nothing": [("lib/quotas", "if name and rooms[name] < number then", "if false then")],
    "the jobs of one call do not count for the quota of their key": [("lib/quotas", "  if name then rooms[name] = rooms[name] - number end\n", "")],
    "a job that gets another key passes its quota": [("replace", "    local refused = Quotas.refusal_of_key(topic_of(id), 1, record)\n    if refused then return refused end\n", "")],
    "a worker gets jobs of any key": [("lib/lanes", "local found = only and {only, call('ZSCORE', turns_key(topic), only) or nil}\n    or call", "local found = call")],
    "lanes of a topic without jobs stay": [("lib/lanes", "  call('HDEL', LANES, topic)\n", "")],
    "the number of jobs of a key is not kept": [("lib/lanes", "    call('ZADD', Lanes.pending_key(topic), number, key)\n", "")],
    "a lost index stays lost": [("lib/lanes", "  if score then add_to_index(topic, {id}, {score}) end\nend\n\n-- ---- end", "end\n\n-- ---- end")],
    "a lost rank stays lost": [("mend", "  Lanes.note_changed(id, record)\n  Places.touch(topic_of(id), 'all')\n  mended('rank ' .. id)", "")],
    "a rank outlives its job": [("lib/attempts", "  if has_lanes then Ranks.forget(ids) end\n", "")],
    "an attempt that is lost does not count again": [("mend", "    if has_lanes then Lanes.mend_attempt(topic, holder) end\n", ""),
                                                     ("mend", "  if state == 'leased' and has_lanes then Lanes.mend_attempt(topic_of(id), id) end\n", "")],
}


def main():
    here = pathlib.Path(__file__).resolve().parent
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--clock-preload", required=True, help="the library made of support/clock_preload.c")
    options.add_argument("--scripts", default=here.parent.parent / "src/store/scripts")
    options.add_argument("--seed", type=int, default=os.environ.get("DUEPOST_TEST_SEED") or random.SystemRandom().randrange(2 ** 32))
    options.add_argument("--begins", type=int, default=2000, help="attempts in the checks of shares and turns")
    options.add_argument("--walks", type=int, default=10)
    options.add_argument("--steps", type=int, default=300, help="of a walk")
    options.add_argument("--controls", type=int, default=100, help="percent of the bugs, by the seed")
    options.add_argument("--control-walks", type=int, default=60, help="within which each bug has to be found")
    options = options.parse_args()
    print(f"seed {options.seed}", flush=True)

    redis = Redis(options.clock_preload)
    try:
        link = redis.connect()
        functions = load_functions(link, options.scripts)
        for check, *numbers in (check_shares, options.begins), (check_flood, 5 * options.begins, options.begins // 10):
            try:
                check(Walk(redis, link, functions, options.seed), *numbers)
            except Broken as broken:
                print(f"{check.__name__}: {broken}", flush=True)
                return 1
        for number in range(options.walks):
            failure = Walk(redis, link, functions, f"{options.seed} {number}").run(options.steps)
            if failure:
                print(f"walk {number}: {failure}", flush=True)
                return 1
        print(f"{options.walks} walks of {options.steps} steps: all promises kept", flush=True)
        missed = 0
        for name in random.Random(f"{options.seed} controls").sample(sorted(CONTROLS), len(CONTROLS) * options.controls // 100):
            functions = load_functions(link, options.scripts, CONTROLS[name])
            failure, number = None, 0
            while not failure and number < options.control_walks:
                failure = Walk(redis, link, functions, f"{options.seed} control {number}").run(options.steps)
                number += 1
            print(f"control, {name}: {failure or 'NOT FOUND'}"[:200], flush=True)
            missed += not failure
        return 1 if missed else 0
    finally:
        redis.stop()


if __name__ == "__main__":
    sys.exit(main())
