"""Durable workflows while the application, duepost and its Redis are killed at random: each run ends with the right result."""

import os
import random
import time
from collections import Counter

import pytest

import processes
import scratch
from application import Application
from duepost import Duepost
from patience import until

KILLS = int(os.environ.get("DUEPOST_TEST_KILLS", "12"))
SEED = int(os.environ.get("DUEPOST_TEST_SEED", "1"))
RUNS = 4  # runs of each workflow at the same time


@pytest.fixture
def world():
    data = scratch.directory("data")
    world = World(data)
    yield world
    world.stop()


class World:
    def __init__(self, data):
        self.data, self.listen = data, "127.0.0.1:0"
        self.start()
        self.listen = f"127.0.0.1:{self.server.port}"
        self.application = Application(self.server)

    def start(self):
        self.server = Duepost("--qstash", "on", "--breaker", "off", data=self.data, listen=self.listen)

    def kill_application(self):
        self.application.kill()
        self.application.start()

    def kill_duepost(self):
        """Kills duepost and starts a new one. If the private Redis survives the kill, the new duepost takes it
        over."""
        self.server.kill()
        self.server.process.stdout.close()
        self.start()

    def kill_redis(self):
        for pid in self.server.redis_pids():
            processes.end(pid)
        until(lambda: self.server.redis_pids() and self.server.get("/readyz").status == 200, 20, "a new Redis")

    def kill_all(self):
        self.application.kill()
        for pid in self.server.redis_pids():
            processes.end(pid)
        self.server.kill()
        self.server.process.stdout.close()
        self.start()
        self.application.start()

    def stop(self):
        self.application.stop()
        self.server.stop()
        for pid in processes.redis_servers_of(self.data):
            processes.end(pid)


def trigger_all(application, round_number):
    """Triggers runs of each workflow. Returns {id of the run: expected result}."""
    expected = {}
    for number in range(RUNS):
        name = f"{round_number}-{number}"
        for workflow, body, result in [
            ("plain", {"first": number}, {"sum": 2 * (number + 1)}),
            ("parallel", None, [1, 2, 11, 22]),
            ("sleeps", None, "slept"),
            ("long", {"steps": 10}, 55),
            ("waits", {"event": f"never-{name}", "timeout": "2s"}, {"isOver": True}),
            ("invokes", {"how": "plain"}, {"body": {"six": 6}, "isCanceled": False, "isFailed": False}),
        ]:
            run = until(lambda: trigger(application, workflow, body, f"{workflow}-{name}"), 60, "the run is triggered")
            expected[run] = result
    return expected


def trigger(application, workflow, body, run):
    """Triggers a run, and repeats the request with the same id until an answer comes. While the run is active, a
    repeated request does not start it again."""
    answer = application.client("return client.trigger(options)", options={
        "url": application.url(workflow), "body": body, "workflowRunId": run, "retries": 20, "retryDelay": "100 * (1 + retried)"})
    return answer.get("workflowRunId")


def is_as_expected(found, expected):
    if isinstance(expected, dict):
        return {name: found.get(name) for name in expected} == expected
    return found == expected


def results(application, runs):
    found = {}
    for effect in application.all_effects():
        if effect["step"] == "result" and effect["run"] in runs:
            found[effect["run"]] = effect.get("result")
    return found


def test_runs_survive_kills(world):
    chance = random.Random(SEED)
    application, kinds = world.application, [world.kill_application, world.kill_duepost, world.kill_redis, world.kill_all]
    expected, kills = {}, Counter()
    while sum(kills.values()) < KILLS:
        begun = trigger_all(application, sum(kills.values()))
        expected.update(begun)
        for _ in range(4):
            time.sleep(chance.uniform(0.1, 1.0))
            kind = chance.choice(kinds)
            kind()
            kills[kind.__name__] += 1
    until(lambda: set(results(application, expected)) == set(expected), 120,
          lambda: f"seed {SEED}, {dict(kills)}: no result of {sorted(set(expected) - set(results(application, expected)))}")
    for run, result in results(application, expected).items():
        assert is_as_expected(result, expected[run]), (SEED, run, result)
    until(lambda: all(application.is_over(run) for run in expected), 60, "all have ended")
    repeated = sum(count - 1 for count in Counter((one["run"], one["step"]) for one in application.all_effects()).values())
    assert repeated <= 3 * len(expected) // RUNS * sum(kills.values()), f"{repeated} effects came twice in {sum(kills.values())} kills"
