#!/usr/bin/python3
"""A worker of pull topics that records all its requests and answers, and may be killed at any instant.

    pull_worker.py LEDGER SEED PORT,PORT TOPIC,TOPIC [calm]

Each line of the ledger is written by one call, before its request is sent or after its answer came."""

import http.client
import json
import os
import random
import sys
import time
import uuid

LEASE_S = 1.5
TIMEOUT_S = 10
# The outcomes of leased jobs, with their shares. late: the job is completed some time after its lease has run out.
FATES = (("complete", 50), ("retry", 14), ("bury", 3), ("release", 8), ("forget", 6), ("late", 6), ("extend", 13))


def now_ms():
    return time.time_ns() / 1e6


class Worker:
    def __init__(self, ledger, seed, ports, topics, is_calm):
        self.file = os.open(ledger, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self.chance, self.ports, self.topics, self.is_calm = random.Random(seed), ports, topics, is_calm
        self.links = {}

    def note(self, **what):
        os.write(self.file, json.dumps({"at": now_ms(), **what}).encode() + b"\n")

    def ask(self, topic, action, document, key=None):
        """Returns status and JSON; (0, None) if no answer came."""
        port = self.chance.choice(self.ports)
        link = self.links.pop(port, None) or http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_S)
        headers = {"Content-Type": "application/json", **({"Idempotency-Key": key} if key else {})}
        try:
            link.request("POST", f"/topics/{topic}/{action}", json.dumps(document), headers)
            answer = link.getresponse()
            text = answer.read()
        except (OSError, http.client.HTTPException):
            link.close()
            return 0, None
        self.links[port] = link
        return answer.status, json.loads(text)

    def lease(self, topic):
        """Returns jobs. If the answer was lost, repeats the request with the same key."""
        document = {"max": self.chance.randrange(1, 6), "lease": LEASE_S, "wait": 0 if self.is_calm else 0.3}
        key = str(uuid.uuid4()) if self.chance.random() < 0.7 else None
        for _ in range(4):
            status, answer = self.ask(topic, "lease", document, key)
            if status == 200:
                for job in answer["jobs"]:
                    self.note(what="lease", topic=topic, job=job["jobId"], token=job["token"], attempt=job["attempt"], until=job["leaseUntil"])
                return answer["jobs"]
            time.sleep(0.1)
            if not key:
                break
        return []

    def end(self, topic, job, action, **more):
        name = {"topic": topic, "job": job["jobId"], "token": job["token"], "action": action}
        for _ in range(4):
            self.note(what="send", **name)
            status, answer = self.ask(topic, action, {"jobId": job["jobId"], "token": job["token"], **more})
            self.note(what="answer", status=status, state=(answer or {}).get("state"), until=(answer or {}).get("leaseUntil"), **name)
            if status not in (0, 503):
                return status
            time.sleep(0.1)
        return 0

    def serve(self, topic, job):
        fate = "complete" if self.is_calm else self.chance.choices([name for name, _ in FATES], [share for _, share in FATES])[0]
        time.sleep(0 if self.is_calm else self.chance.uniform(0, 0.05))
        if fate == "forget":
            return
        if fate == "late":
            time.sleep(LEASE_S + self.chance.uniform(0, 2))
            fate = "complete"
        if fate == "extend":
            time.sleep(LEASE_S / 2)
            if self.end(topic, job, "extend", lease=LEASE_S) != 200:
                return
            time.sleep(LEASE_S * 0.8)
            fate = "complete"
        more = {"error": "no luck: \"\\ \u20ac"} if fate in ("retry", "bury") else {}
        self.end(topic, job, fate, **more)

    def run(self):
        while True:
            topic = self.chance.choice(self.topics)
            while jobs := self.lease(topic):
                for job in jobs:
                    self.serve(topic, job)
                if not self.is_calm:
                    break
            time.sleep(0.01)


if __name__ == "__main__":
    path, seed, ports, topics, *more = sys.argv[1:]
    Worker(path, seed, [int(port) for port in ports.split(",")], topics.split(","), bool(more)).run()
