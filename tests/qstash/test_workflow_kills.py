"""Durable workflows while the application, duepost and its Redis are killed at random: each run ends with the right result,
and an effect whose result was kept is not repeated."""

import json
import os
import pathlib
import random
import sys
import time
from collections import Counter

import pytest

import processes
import scratch
from application import PYTHON_MODULES, Application
from duepost import Duepost
from patience import until
from receiver import Answer, Receiver

HERE = pathlib.Path(__file__).resolve().parent
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
            ("texts", {"steps": 5}, {}),
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


def texts_of_steps(application):
    """Returns {(run, step): [results]}, in the order of the effects."""
    found = {}
    for effect in application.all_effects():
        if effect["step"] != "result" and "result" in effect:
            found.setdefault((effect["run"], effect["step"]), []).append(effect["result"])
    return found


def repeated_although_kept(application, runs):
    """Returns the steps that took effect again after the effect whose result was kept, and the number of all steps."""
    kept = {text for result in results(application, runs).values() if isinstance(result, dict) for text in result.get("texts", ())}
    found = texts_of_steps(application)
    for name, texts in found.items():
        assert name[0] not in runs or len(kept & set(texts)) == 1, (name, texts)
    return [name for name, texts in found.items() if name[0] in runs and texts[-1] not in kept], len(found)


@pytest.mark.parametrize("framework", ["fastapi", "flask"])
def test_runs_of_the_client_for_python_survive_kills_of_duepost(world, framework):
    """This client refuses a list in which a step comes twice."""
    sys.path.append(str(PYTHON_MODULES))
    from upstash_workflow.workflow_requests import _get_first_invocation_batch_body
    chance, third, runs, kills = random.Random(SEED), Receiver(), [], 0
    third.script("/third", Answer(200, body=b"{}"))
    application = Application(world.server, (sys.executable, HERE / "application_python.py", PYTHON_MODULES, framework))
    try:
        while kills < KILLS:
            for number in range(RUNS):
                run = f"wfr_{framework}-{kills}-{number}"
                body = json.dumps(_get_first_invocation_batch_body(run, application.url("texts"), {}, {"url": third.url("/third")}, 3))
                until(lambda: world.server.request("POST", "/v2/batch", body.encode(), {"Content-Type": "application/json"}, check=False).status == 200,
                      60, "the run is triggered")
                runs.append(run)
            for _ in range(4):
                time.sleep(chance.uniform(0.1, 1.0))
                world.kill_duepost()
                kills += 1
        until(lambda: set(results(application, runs)) >= set(runs), 180, lambda: f"no result of {sorted(set(runs) - set(results(application, runs)))}")
        repeated, steps = repeated_although_kept(application, runs)
        assert not repeated, f"{len(repeated)} of {steps} effects in {kills} kills: {repeated}"
        assert all(len(result["texts"]) == 6 and result["status"] == 200 for result in results(application, runs).values())
        until(lambda: all(application.is_over(run) for run in runs), 60, "all have ended")
        print(f"{steps} steps, {sum(map(len, texts_of_steps(application).values())) - steps} came twice in {kills} kills")
    finally:
        application.stop()
        third.stop()


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
    again, steps = repeated_although_kept(application, expected)
    assert not again, f"seed {SEED}, {dict(kills)}: {len(again)} of {steps} effects: {again}"
    repeated = sum(count - 1 for count in Counter((one["run"], one["step"]) for one in application.all_effects()).values())
    assert repeated <= 3 * len(expected) // RUNS * sum(kills.values()), f"{repeated} effects came twice in {sum(kills.values())} kills"
