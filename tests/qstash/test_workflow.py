"""Durable workflows with the unmodified client in JavaScript: each kind of step, ends and failures."""

import itertools

import json

import pytest

from application import Application
from patience import until
from receiver import Answer


@pytest.fixture(scope="module")
def application(server):
    started = Application(server)
    yield started
    started.stop()


def test_steps_run_once_each_in_their_order(application):
    run = application.trigger("plain", {"first": 1}, headers={"x-shop": "one"})
    assert application.result(run) == {"sum": 4, "header": "one"}
    assert application.steps(run) == ["add", "double", "end"]


def test_a_run_is_triggered_without_the_client(application):
    reply = application.server.request("POST", f"/v2/trigger/{application.url('plain')}", '{"first":4}',
                                       {"Content-Type": "application/json", "Upstash-Forward-X-Shop": "two"}, check=False).expect(200)
    assert application.result(reply["workflowRunId"]) == {"sum": 10, "header": "two"}
    assert application.steps(reply["workflowRunId"]) == ["add", "double", "end"]


def test_sleeps(application):
    run = application.trigger("sleeps")
    assert application.result(run) == "slept"


def test_a_trigger_may_wait(application):
    run = application.trigger("plain", {"first": 2}, delay=2)
    assert application.result(run)["sum"] == 6


def test_parallel_steps(application):
    run = application.trigger("parallel")
    assert application.result(run) == [1, 2, 11, 22]
    assert sorted(application.steps(run)) == ["a", "b", "d", "e", "end"]


def test_calls_of_third_parties(application, receiver, topic):
    path = f"/{topic}"
    receiver.script(path, Answer(200, body=b'{"their":"answer"}', headers=(("Content-Type", "application/json"), ("x-theirs", "2"))))
    receiver.script(f"{path}-refuses", *[503] * 4)
    run = application.trigger("calls", {"url": receiver.url(path)})
    result = application.result(run)
    assert result["status"] == 200 and result["body"] == {"their": "answer"} and result["header"] == ["2"]
    assert result["refused"] == 503 and receiver.count(f"{path}-refuses") == 2
    got = receiver.of(path)[0]
    assert got.body == b'{"of":"us"}'
    assert got.headers["x-own"] == "1" and not [name for name in got.headers if name.lower().startswith("upstash-workflow")]


def test_waits_end_by_an_event(application, topic):
    run = application.trigger("waits", {"event": topic, "timeout": "1h"})
    waiters = until(lambda: application.client("return client.getWaiters({eventId: event})", event=topic), 20, "the run waits for the event")
    assert len(waiters) == 1 and waiters[0]["headers"]["Upstash-Workflow-Runid"] == [run]
    told = application.client("return client.notify({eventId: event, eventData: {some: 'news'}})", event=topic)
    assert [one["workflowRunId"] for one in told] == [run] and told[0]["messageId"]
    assert application.result(run) == {"eventData": {"some": "news"}, "isOver": False}
    assert application.client("return client.getWaiters({eventId: event})", event=topic) == []
    assert application.client("return client.notify({eventId: event, eventData: 'late'})", event=topic) == []


def test_waits_end_at_their_deadline(application, topic):
    run = application.trigger("waits", {"event": topic, "timeout": "1s"})
    assert application.result(run) == {"isOver": True}
    assert application.client("return client.getWaiters({eventId: event})", event=topic) == []


def test_an_event_of_a_run_is_kept_until_it_waits(application, topic):
    run = application.trigger("waits", {"event": topic, "timeout": "1h"}, delay=1)
    told = application.client("return client.notify({eventId: event, eventData: 'early', workflowRunId: run})", event=topic, run=run)
    assert isinstance(told, list)
    assert application.result(run) == {"eventData": "early", "isOver": False}


def test_a_run_notifies_others(application, topic):
    waiting = application.trigger("waits", {"event": topic, "timeout": "1h"})
    until(lambda: application.client("return client.getWaiters({eventId: event})", event=topic), 20, "the run waits for the event")
    telling = application.trigger("notifies", {"event": topic})
    assert application.result(waiting)["eventData"] == {"news": "good"}
    assert application.result(telling) == 1


@pytest.mark.parametrize("is_early", [False, True])
def test_webhooks(application, is_early):
    run = application.trigger("webhook")
    url = until(lambda: [one["url"] for one in application.effects(run) if one["step"] == "webhook"], 20, "the address is made")[0]
    if not is_early:
        event = url.rpartition("/")[2]
        until(lambda: application.client("return client.getWaiters({eventId: event})", event=event), 20, "the run waits for the event")
    assert application.post(f"{url}?a=%20b", b"from outside", {"X-Own": "1"}) == 200
    assert application.result(run) == {"timeout": False, "method": "POST", "query": "?a=%20b", "header": "1", "body": "from outside"}


@pytest.mark.parametrize("how, expected", [
    ("plain", {"body": {"six": 6}, "isCanceled": False, "isFailed": False}),
    ("child_fails", {"isCanceled": False, "isFailed": True}),
])
def test_a_run_invokes_another(application, how, expected):
    run = application.trigger("invokes", {"how": how})
    result = application.result(run)
    assert {name: result.get(name) for name in expected} == expected
    assert result["workflowRunId"] != run


def test_a_step_that_fails_is_retried(application):
    run = application.trigger("recovers", retryDelay="10")
    assert application.result(run) == ["well", "then"]


@pytest.mark.parametrize("workflow, retries, breaks", [("fails", 1, 2), ("fails_at_once", 3, 1)])
def test_a_run_that_fails_calls_its_failure_function(application, workflow, retries, breaks):
    run = application.trigger(workflow, {"of": "us"}, retries=retries, retryDelay="10", headers={"x-shop": "one"})
    failure = until(lambda: [one for one in application.effects(run) if one["step"] == "failure"], 20, "the failure function is called")[0]
    assert failure["payload"] == {"of": "us"} and failure["shop"] == "one"
    assert application.steps(run).count("breaks") == breaks
    assert failure["failStatus"] == (489 if workflow == "fails_at_once" else 500)


# ---- dead letters ----

def letter(application, run):
    """Waits until the client lists the dead letter of the run, and returns this dead letter."""
    listed = "return (await client.dlq.list({filter: {workflowRunId: run}})).messages"
    return until(lambda: application.client(listed, run=run), 20, "the run has a dead letter")[0]


numbers = itertools.count(1)


def broken(application, workflow="breaks_once", **payload):
    """Creates a run and waits until it has failed. If the run is repeated, it succeeds. Its payload has a unique
    number. Returns the run's id and its dead letter."""
    run = application.trigger(workflow, {"number": next(numbers), **payload}, retries=0, label="broken", headers={"x-shop": "one"})
    return run, letter(application, run)


def test_dead_letters_of_runs(application):
    run, dead = broken(application)
    assert (dead["workflowRunId"], dead["responseStatus"], dead["label"]) == (run, 500, "broken")
    assert "broken at first" in dead["responseBody"] and dead["workflowUrl"] == application.url("breaks_once")
    told = "return (await client.dlq.list({filter: {workflowRunId: run, failureFunctionState: 'CALLBACK_SUCCESS'}})).messages"
    assert until(lambda: application.client(told, run=run), 20, "the failure function has ended")
    assert application.client("return client.dlq.delete(id)", id=dead["dlqId"]) == {"deleted": 1}
    assert application.client("return client.dlq.delete([id])", id=dead["dlqId"]) == {"deleted": 0}
    assert application.client("return client.dlq.list({filter: {workflowRunId: run}})", run=run) == {"messages": []}


@pytest.mark.parametrize("how, steps", [("resume", ["before", "breaks"]), ("restart", ["before", "before", "breaks"])])
def test_a_failed_run_is_continued(application, how, steps):
    run, dead = broken(application)
    made = application.client(f"return client.dlq.{how}({{dlqId: id, retries: 1}})", id=dead["dlqId"])
    new = made["workflowRunId"]
    result = application.result(new)
    assert (result["shop"], result["before"]) == ("one", run if how == "resume" else new)
    steps_of_both = application.steps(run) + application.steps(new)
    assert [step for step in steps_of_both if step in ("before", "breaks")] == ["before", "breaks", *steps[1:]]
    assert application.client(f"return client.dlq.{how}([id])", id=dead["dlqId"]) == {"workflowRuns": []}


def test_failed_runs_are_continued_by_filters(application):
    runs = [broken(application)[0] for _ in range(2)]
    made = application.client("return client.dlq.resume({filter: {workflowUrl: url, label: 'broken', workflowRunId: run}})",
                              url=application.url("breaks_once"), run=runs[0])
    assert application.result(made["workflowRuns"][0]["workflowRunId"])["before"] == runs[0]
    made = application.client("return client.dlq.restart({all: true, count: 100})")["workflowRuns"]
    ends = until(lambda: [one for run in made for one in application.effects(run["workflowRunId"]) if one["step"] == "result"], 20, "one ends")
    assert ends[0]["result"]["shop"] == "one"


def test_parallel_steps_of_a_failed_run_are_continued(application):
    run, dead = broken(application, "breaks_in_parallel")
    new = application.client("return client.dlq.resume({dlqId: id})", id=dead["dlqId"])["workflowRunId"]
    assert application.result(new) == [1, 2, 3]


def test_a_failure_function_that_fails_is_called_again(application):
    run, dead = broken(application, failureFails=True)
    listed = "return (await client.dlq.list({filter: {failureFunctionState: 'CALLBACK_FAIL', workflowRunId: run}})).messages"
    found, = until(lambda: application.client(listed, run=run), 20, "the failure function has failed")
    assert found["failureCallbackInfo"]["responseStatus"] == 500
    calls = len([one for one in application.effects(run) if one["step"] == "failure"])
    assert application.client("return client.dlq.retryFailureFunction({dlqId: id})", id=dead["dlqId"])["workflowRunId"] == run
    until(lambda: len([one for one in application.effects(run) if one["step"] == "failure"]) > calls, 20, "the failure function is called again")
    ended = listed.replace("CALLBACK_FAIL", "CALLBACK_SUCCESS")
    until(lambda: application.client(ended, run=run), 20, "the failure function has ended")


# ---- logs ----

def test_logs_of_runs(application, topic):
    run = application.trigger("plain", {"first": 1}, label=topic)
    assert application.result(run)["sum"] == 4
    failed = application.trigger("fails_at_once", {"of": "us"}, retries=0, label=topic)
    until(lambda: application.is_over(failed), 20, "the run fails")
    logs = application.client("return client.logs({filter: {label: topic}})", topic=topic)["runs"]
    states = {one["workflowRunId"]: one["workflowState"] for one in logs}
    assert states == {run: "RUN_SUCCESS", failed: "RUN_FAILED"}
    log, = application.client("return client.logs({filter: {workflowRunId: run}, count: 1})", run=run)["runs"]
    steps = [step for group in log["steps"] for step in group["steps"]]
    assert (log["workflowUrl"], log["labels"], steps[0]["stepType"]) == (application.url("plain"), [topic], "Initial")
    assert [(step["stepName"], step["out"], step["state"]) for step in steps[1:3]] == [("add", "2", "STEP_SUCCESS"), ("double", "4", "STEP_SUCCESS")]
    assert json.loads(log["workflowRunResponse"]) == {"sum": 4, "header": None}
    assert log["workflowRunCreatedAt"] <= log["workflowRunCompletedAt"]


def test_a_run_cancels_itself(application):
    run = application.trigger("cancels")
    until(lambda: application.is_over(run), 20, "the run is cancelled")
    assert application.steps(run) == ["before"]


def test_runs_are_cancelled(application, topic):
    runs = [application.trigger("waits", {"event": topic, "timeout": "1h"}) for _ in range(3)]
    until(lambda: len(application.client("return client.getWaiters({eventId: event})", event=topic)) == 3, 20, "all wait")
    assert application.client("return client.cancel(run)", run=runs[0]) == {"cancelled": 1}
    assert application.client("return client.cancel(run)", run=runs[0]) == {"cancelled": 0}
    assert application.client("return client.cancel({ids: runs})", runs=runs) == {"cancelled": 2}
    assert application.client("return client.getWaiters({eventId: event})", event=topic) == []


def test_the_deprecated_cancel_of_a_run(application, javascript, topic):
    run = application.trigger("waits", {"event": topic, "timeout": "1h"})
    until(lambda: application.client("return client.getWaiters({eventId: event})", event=topic), 20, "the run waits for the event")
    assert javascript("return await client.workflow.cancel(run);", run=run) is True
    assert application.client("return client.getWaiters({eventId: event})", event=topic) == []
    assert javascript("return await client.workflow.cancel(run);", run=run)["status"] == 404


def test_runs_are_cancelled_by_filters(application, topic):
    runs = [application.trigger("waits", {"event": topic, "timeout": "1h"}, label=[topic, f"{topic}-{number}"]) for number in range(4)]
    until(lambda: len(application.client("return client.getWaiters({eventId: event})", event=topic)) == 4, 20, "all wait")
    url = application.url("waits")
    assert application.client("return client.cancel({filter: {label: `${l}-0`, workflowUrl: url}})", l=topic, url=url) == {"cancelled": 1}
    assert application.client("return client.cancel({filter: {label: l, workflowUrl: url + 'x'}})", l=topic, url=url) == {"cancelled": 0}
    some = application.client("return client.cancel({filter: {label: l, workflowUrlStartingWith: url.slice(0, -2)}, count: 2})", l=topic, url=url)
    assert some == {"cancelled": 2}
    assert application.client("return client.cancel({filter: {label: [l], fromDate: 1}})", l=topic) == {"cancelled": 1}
    assert all(application.is_over(run) for run in runs)


def test_long_lists_are_fetched(application):
    """The list of steps is too long for a delivery, so the client fetches the list."""
    run = application.trigger("large")
    assert application.result(run) == "large"
    assert application.steps(run) == ["one", "two", "three", "four", "end"]


def test_a_run_of_the_same_id_exists_once(application):
    run = application.trigger("sleeps", workflowRunId="the-same")
    assert application.trigger("sleeps", workflowRunId="the-same") == run == "wfr_the-same"
    assert application.result(run) == "slept"
    assert application.steps(run) == ["begin", "end"]


# ---- logs ----

def log_of(application, run):
    page = application.client("return client.logs({filter: {workflowRunId: run}})", run=run)
    assert list(page) == ["runs"], page
    one, = page["runs"]
    return one


def groups(found):
    return [(group["type"], [(one["stepName"], one["stepType"], one["state"]) for one in group["steps"]]) for group in found["steps"] if group["type"] != "next"]


def test_logs_of_steps(application, topic):
    run = application.trigger("plain", {"first": 1}, headers={"x-shop": "one"}, label=f"label-{topic}")
    application.result(run)
    found = log_of(application, run)
    assert (found["workflowState"], found["workflowUrl"], found["label"]) == ("RUN_SUCCESS", application.url("plain"), f"label-{topic}")
    assert found["workflowRunResponse"] == '{"sum":4,"header":"one"}' and found["workflowRunCompletedAt"] >= found["workflowRunCreatedAt"]
    assert groups(found) == [("sequential", [("init", "Initial", "STEP_SUCCESS")]),
                             *(("sequential", [(name, "Run", "STEP_SUCCESS")]) for name in ("add", "double", "end"))]
    steps = [group["steps"][0] for group in found["steps"]]
    assert [(one["stepId"], one.get("out")) for one in steps[:3]] == [(0, '{"first":1}'), (1, "2"), (2, "4")]
    assert steps[0]["headers"]["X-Shop"] == ["one"]
    by_label = application.client("return client.logs({count: 1, filter: {label, state: 'RUN_SUCCESS'}})", label=f"label-{topic}")
    assert [one["workflowRunId"] for one in by_label["runs"]] == [run]
    assert application.client("return client.logs({workflowRunId: run})", run=run)["runs"] == [found]  # the older form of filters


def test_logs_of_parallel_steps_and_sleeps(application):
    run = application.trigger("parallel")
    application.result(run)
    found = log_of(application, run)
    assert groups(found) == [("sequential", [("init", "Initial", "STEP_SUCCESS")]),
                             ("parallel", [("a", "Run", "STEP_SUCCESS"), ("b", "Run", "STEP_SUCCESS"), ("c", "SleepFor", "STEP_SUCCESS")]),
                             ("parallel", [("d", "Run", "STEP_SUCCESS"), ("e", "Run", "STEP_SUCCESS")]),
                             ("sequential", [("end", "Run", "STEP_SUCCESS")])]
    assert found["steps"][1]["steps"][2]["sleepFor"] == 1


def test_logs_of_calls(application, receiver, topic):
    path = f"/{topic}"
    receiver.script(path, Answer(200, body=b'{"their":"answer"}', headers=(("Content-Type", "application/json"), ("x-theirs", "2"))))
    receiver.script(f"{path}-refuses", *[503] * 4)
    run = application.trigger("calls", {"url": receiver.url(path)})
    application.result(run)
    found = log_of(application, run)
    assert groups(found)[1:3] == [("sequential", [(name, "Call", "STEP_SUCCESS")]) for name in ("third party", "refuses")]
    one, two = (group["steps"][0] for group in found["steps"][1:3])
    assert (one["callUrl"], one["callMethod"], one["callBody"], one["callResponseStatus"], one["callResponseBody"]) == \
        (receiver.url(path), "POST", '{"of":"us"}', 200, '{"their":"answer"}')
    assert one["callResponseHeaders"]["X-Theirs"] == ["2"] and ["1"] in one["callHeaders"].values() and two["callResponseStatus"] == 503


def test_logs_of_waits_and_of_what_comes_next(application, topic):
    run = application.trigger("waits", {"event": topic, "timeout": "1h"})
    until(lambda: application.client("return client.getWaiters({eventId: event})", event=topic), 20, "the run waits for the event")
    until(lambda: log_of(application, run)["steps"][-1]["type"] != "next", 20, "nothing is delivered")
    found = log_of(application, run)
    assert found["workflowState"] == "RUN_STARTED" and groups(found)[1:] == [("sequential", [("for news", "Wait", "STEP_PROGRESS")])]
    application.client("return client.notify({eventId: event, eventData: {some: 'news'}})", event=topic)
    application.result(run)
    one, = log_of(application, run)["steps"][1]["steps"]
    assert (one["state"], one["waitEventId"], one["waitTimeout"], one["out"]) == ("STEP_SUCCESS", topic, False, '{"some":"news"}')


def test_logs_of_invoked_runs(application):
    run = application.trigger("invokes", {"how": "plain"})
    child = application.result(run)["workflowRunId"]
    one, = log_of(application, run)["steps"][1]["steps"]
    invoked = log_of(application, child)
    assert (one["stepName"], one["stepType"], one["invokedWorkflowRunId"]) == ("child", "Invoke", child)
    assert (one["invokedWorkflowUrl"], one["invokedWorkflowCreatedAt"]) == (invoked["workflowUrl"], invoked["workflowRunCreatedAt"])
    assert log_of(application, child)["invoker"] == {"workflowRunId": run, "workflowUrl": application.url("invokes"),
                                                     "workflowRunCreatedAt": log_of(application, run)["workflowRunCreatedAt"]}


def test_logs_of_failures(application):
    run = application.trigger("fails", {"of": "us"}, retries=1, retryDelay="10")
    until(lambda: log_of(application, run).get("failureFunction", {}).get("state") == "CALLBACK_SUCCESS", 20, "the failure function of the run has ended")
    found = log_of(application, run)
    assert found["workflowState"] == "RUN_FAILED" and found["dlqId"] == found["failureFunction"]["dlqId"]
    assert found["failureFunction"]["failStatus"] == 500 and "broken for good" in found["failureFunction"]["failResponse"]
    assert groups(found)[1:] == [("sequential", [("before", "Run", "STEP_SUCCESS")])]
    last, = found["steps"][-1]["steps"]
    assert (last["state"], last["retries"], last["stepName"]) == ("STEP_FAILED", 1, "breaks") and [error["status"] for error in last["errors"]] == [500, 500]
    letter = application.client("return client.dlq.list({filter: {workflowRunId: run}})", run=run)["messages"][0]
    assert letter["dlqId"] == found["dlqId"]


def test_logs_by_pages(application, topic):
    runs = [application.trigger("waits", {"event": topic, "timeout": "1h"}, label=f"label-{topic}") for _ in range(3)]
    found = application.client("""
        const found = [];
        let cursor;
        do {
          const page = await client.logs({cursor, count: 2, filter: {label}});
          found.push(...page.runs.map((run) => run.workflowRunId));
          cursor = page.cursor;
        } while (cursor);
        return found;""", label=f"label-{topic}")
    assert found == runs[::-1]
