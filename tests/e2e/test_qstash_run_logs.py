"""The log of runs: groups of steps, what is being delivered, failures, filters and pages."""

import base64
import json
import time

import pytest

from patience import until
from qstash import QStash, arrivals
from receiver import HANG, Answer
from runs import TAKEN, Run, call, encoded, failing, step

FAILS = Answer(489, body=b'{"error":"E","message":"broken"}', headers=(("Upstash-NonRetryable-Error", "true"), ("Upstash-Error-Step-Name", "breaks")))


@pytest.fixture(scope="module")
def qstash():
    server = QStash()
    yield server
    server.stop()


@pytest.fixture
def run(qstash, receiver, topic):
    receiver.script(f"/{topic}", *[TAKEN] * 20)
    return Run(qstash, receiver, f"/{topic}", upstash_label="l1,l2", upstash_forward_shop="one", upstash_retries="2", upstash_retry_delay="10",
               upstash_flow_control_key=f"key.{topic}", upstash_flow_control_value="parallelism=9")


def log(qstash, query="", path="logs?"):
    return qstash.call("GET", f"workflows/{path}{query}").expect(200)


def log_of(run, query=""):
    one, = log(run.qstash, f"workflowRunId={run.id}{query}")["runs"]
    return one


def quiet(run):
    """Waits until nothing is being delivered."""
    until(lambda: log_of(run)["steps"][-1]["type"] != "next", 10, lambda: f"{run.id} is quiet: {log_of(run)}")
    return log_of(run)


def groups(found):
    return [(group["type"], [(one.get("stepName"), one["state"]) for one in group["steps"]]) for group in found["steps"]]


# ---- steps ----

def test_a_run_and_its_first_step(run):
    arrivals(run.receiver, run.path, 1)
    found = quiet(run)
    one, = found.pop("steps")
    assert found.pop("workflowRunCreatedAt") <= time.time() * 1000 and found.pop("workflowRunCallerIp")
    assert found == {"workflowRunId": run.id, "workflowUrl": run.url, "workflowState": "RUN_STARTED", "label": "l1", "labels": ["l1", "l2"],
                     "flowControlKey": f"key.{run.path.strip('/')}"}
    assert one["type"] == "sequential"
    first, = one["steps"]
    assert abs(first.pop("createdAt") - time.time() * 1000) < 60_000
    assert first == {"stepId": 0, "stepName": "init", "stepType": "Initial", "callType": "step", "messageId": run.first["messageId"], "out": "payload",
                     "concurrent": 1, "state": "STEP_SUCCESS", "retries": 2, "retryDelay": "10", "headers": {"Shop": ["one"], "Content-Type": ["application/json"]}}


def test_steps_follow_each_other(run):
    arrivals(run.receiver, run.path, 1)
    message, = run.step(step(1, {"ü": 1}))
    assert run.step(step(1, {"ü": 1})) == [message]  # a client that got no answer sends the same step again
    arrivals(run.receiver, run.path, 2)
    run.step(step(2, 2, stepType="SleepFor", sleepFor=3))
    arrivals(run.receiver, run.path, 3)
    found = quiet(run)
    assert groups(found) == [("sequential", [(name, "STEP_SUCCESS")]) for name in ("init", "s1", "s2")]
    one, two = found["steps"][1]["steps"][0], found["steps"][2]["steps"][0]
    assert (one["stepId"], one["stepType"], one["messageId"], one["out"], one["concurrent"]) == (1, "Run", message, json.dumps({"ü": 1}), 1)
    assert two["sleepFor"] == 3 and two["createdAt"] >= one["createdAt"]


def test_a_sleep_is_in_progress_until_its_time(run):
    arrivals(run.receiver, run.path, 1)
    run.step(step(1, None, stepType="SleepFor", sleepFor=3600), upstash_delay="1h")
    assert groups(quiet(run))[1:] == [("sequential", [("s1", "STEP_PROGRESS")])]


def test_parallel_steps_are_one_group(run):
    plans = [json.dumps({"stepId": 0, "stepName": name, "stepType": "Run", "concurrent": 2, "targetStep": number}) for number, name in ((1, "a"), (2, "b"))]
    arrivals(run.receiver, run.path, 1)
    run.step(*plans)
    arrivals(run.receiver, run.path, 3)
    assert groups(quiet(run))[1:] == [("parallel", [("a", "STEP_PROGRESS"), ("b", "STEP_PROGRESS")])]
    run.step(step(2, "two", concurrent=2, stepName="b"))
    found = quiet(run)
    assert groups(found)[1:] == [("parallel", [("a", "STEP_PROGRESS"), ("b", "STEP_SUCCESS")])]
    assert [(one["stepId"], one.get("out")) for one in found["steps"][1]["steps"]] == [(1, None), (2, '"two"')]
    run.step(step(1, "one", concurrent=2, stepName="a"))
    run.step(step(3, "three"))
    assert groups(quiet(run))[1:] == [("parallel", [("a", "STEP_SUCCESS"), ("b", "STEP_SUCCESS")]), ("sequential", [("s3", "STEP_SUCCESS")])]


def test_a_message_under_way_is_shown_as_next(qstash, receiver, topic):
    receiver.script(f"/{topic}", TAKEN, HANG)
    run = Run(qstash, receiver, f"/{topic}")
    arrivals(receiver, run.path, 1)
    message, = run.step(step(1, 1))
    arrivals(receiver, run.path, 2)
    found = log_of(run)
    assert groups(found)[1] == ("sequential", [("s1", "STEP_SUCCESS")])
    assert found["steps"][-1] == {"type": "next", "steps": [{"messageId": message, "state": "STEP_PROGRESS", "retries": 3}]}


def test_errors_of_retries(qstash, receiver, topic):
    receiver.script(f"/{topic}", Answer(500, body=b"first"), HANG)
    run = Run(qstash, receiver, f"/{topic}", upstash_retries="3", upstash_retry_delay="100")
    arrivals(receiver, run.path, 2)
    last = log_of(run)["steps"][-1]
    one, = last["steps"]
    error, = one.pop("errors")
    assert last["type"] == "next" and one == {"messageId": run.first["messageId"], "state": "STEP_RETRY", "retries": 3, "retryDelay": "100"}
    assert error.pop("time") <= time.time() * 1000 and error == {"error": "", "status": 500, "body": "first", "headers": {}}


def test_a_call_is_shown_with_what_it_sends_and_gets(qstash, receiver, run, topic):
    receiver.script(f"/{topic}/third", HANG)
    url = receiver.url(f"/{topic}/third")
    names = {f"upstash-callback-forward-upstash-workflow-{name}": value for name, value in (("stepname", "ask"), ("steptype", "Call"), ("concurrent", "1"))}
    message = call(run, url, upstash_forward_own="theirs", **{name: value for name, value in names.items()})
    arrivals(receiver, f"/{topic}/third", 1)
    one, = log_of(run)["steps"][-1]["steps"]
    assert (one["stepId"], one["stepName"], one["stepType"], one["callType"], one["messageId"], one["state"]) == \
        (1, "ask", "Call", "toCallback", message, "STEP_PROGRESS")
    facts = {"callUrl": url, "callMethod": "POST", "callBody": '{"ask":1}'}
    assert {name: one[name] for name in facts} == facts and {name.lower(): value for name, value in one["callHeaders"].items()}["own"] == ["theirs"]
    run.step(step(1, {"status": 201, "body": "answer", "header": {"A": ["b"]}}, stepType="Call", stepName="ask"))
    one, = next(group for group in log_of(run)["steps"] if group["steps"][0].get("stepId") == 1)["steps"]
    assert (one["state"], one["callResponseStatus"], one["callResponseBody"], one["callResponseHeaders"]) == ("STEP_SUCCESS", 201, "answer", {"A": ["b"]})
    assert {name: one[name] for name in facts} == facts
    assert [group["type"] for group in log_of(run)["steps"]].count("sequential") == 2


def wait(run, event, timeout="1h"):
    body = {"url": run.url, "timeout": timeout, "timeoutUrl": run.url, "timeoutHeaders": {"Upstash-Workflow-RunId": [run.id], "Upstash-Workflow-Init": ["false"]},
            "step": {"stepId": 1, "stepType": "Wait", "stepName": "for news", "concurrent": 1}}
    run.qstash.call("POST", f"wait/{event}", body, Upstash_Workflow_RunId=run.id, Upstash_Workflow_Init="false", Upstash_Workflow_Url=run.url,
                    Upstash_Workflow_CallType="step").expect(200)


@pytest.mark.parametrize("is_told", [True, False])
def test_waits(qstash, run, topic, is_told):
    arrivals(run.receiver, run.path, 1)
    if is_told:
        wait(run, topic)
        one, = quiet(run)["steps"][-1]["steps"]
        assert (one["stepId"], one["stepName"], one["stepType"], one["state"], one["waitEventId"], one["waitTimeoutDuration"], one["waitTimeout"]) == \
            (1, "for news", "Wait", "STEP_PROGRESS", topic, "1h", False)
        assert abs(one["waitTimeoutDeadline"] / 1000 - time.time() - 3600) < 60
        qstash.call("POST", f"notify/{topic}", b"news").expect(201)
    else:
        wait(run, topic, "1s")
    arrivals(run.receiver, run.path, 2)
    found = quiet(run)
    assert groups(found) == [("sequential", [("init", "STEP_SUCCESS")]), ("sequential", [("for news", "STEP_SUCCESS")])]
    one, = found["steps"][-1]["steps"]
    assert (one.get("out"), one["waitTimeout"], one["waitEventId"]) == ("news" if is_told else None, not is_told, topic)


def test_an_invoked_run_names_its_invoker(qstash, receiver, run, topic):
    receiver.script(f"/{topic}/child", TAKEN)
    url, child = receiver.url(f"/{topic}/child"), f"wfr_child-{topic}"
    invocation = {"body": "to the child", "workflowRunId": run.id, "workflowUrl": run.url, "workflowRunCreatedAt": 1,
                  "headers": {"Upstash-Workflow-RunId": [run.id], "Upstash-Workflow-Init": ["false"]},
                  "step": {"stepId": 1, "stepName": "invokes", "stepType": "Invoke", "concurrent": 1}}
    qstash.call("POST", f"publish/{url}", json.dumps(invocation), Upstash_Workflow_RunId=child, Upstash_Workflow_Init="true",
                Upstash_Workflow_Url=url, Upstash_Workflow_Invoke="true").expect(200)
    one, = log(qstash, f"workflowRunId={child}")["runs"]
    assert one["invoker"] == {"workflowRunId": run.id, "workflowUrl": run.url, "workflowRunCreatedAt": log_of(run)["workflowRunCreatedAt"]}
    assert one["steps"][0]["steps"][0]["out"] == "to the child"
    qstash.call("DELETE", f"workflows/runs/{child}?cancel=false", b'{"six":6}').expect(200)
    one, = next(group for group in log_of(run)["steps"] if group["steps"][0].get("stepName") == "invokes")["steps"]
    assert (one["stepType"], one["invokedWorkflowRunId"], one["state"]) == ("Invoke", child, "STEP_SUCCESS")
    assert json.loads(one["out"])["body"] == '{"six":6}' and one["invokedWorkflowUrl"] == url


# ---- ends ----

def test_a_result(run):
    arrivals(run.receiver, run.path, 1)
    run.end(b'{"sum":1}').expect(200)
    found = log_of(run)
    assert (found["workflowState"], found["workflowRunResponse"]) == ("RUN_SUCCESS", '{"sum":1}')
    assert found["workflowRunCompletedAt"] >= found["workflowRunCreatedAt"] and groups(found) == [("sequential", [("init", "STEP_SUCCESS")])]


def test_a_cancelled_run(qstash, run):
    qstash.call("DELETE", f"workflows/runs/{run.id}?cancel=true").expect(200)
    assert log_of(run)["workflowState"] == "RUN_CANCELED"


@pytest.mark.parametrize("answers, state", [([HANG], "CALLBACK_INPROGRESS"), ([Answer(200, body=b"told")], "CALLBACK_SUCCESS"), ([500, 500], "CALLBACK_FAIL")])
def test_a_failed_run_and_its_failure_callback(qstash, receiver, topic, answers, state):
    receiver.script(f"/{topic}/failed", *answers)
    run = failing(qstash, receiver, topic, FAILS, upstash_failure_callback_retry_delay="10")
    message, = run.step(step(1, 1))
    until(lambda: log_of(run)["workflowState"] == "RUN_FAILED", 10, "the run fails")
    failure = until(lambda: log_of(run)["failureFunction"]["state"] == state and log_of(run)["failureFunction"], 20, lambda: f"{state}: {log_of(run)}")
    found = log_of(run)
    letter, = [one for one in qstash.call("GET", "workflows/dlq").expect(200)["messages"] if one["workflowRunId"] == run.id]
    assert found["dlqId"] == failure["dlqId"] == letter["dlqId"]
    assert groups(found)[:2] == [("sequential", [("init", "STEP_SUCCESS")]), ("sequential", [("s1", "STEP_SUCCESS")])]
    last = found["steps"][-1]
    assert last["type"] == "next" and [(one["messageId"], one["state"], one["stepName"]) for one in last["steps"]] == [(message, "STEP_FAILED", "breaks")]
    assert [(error["status"], error["body"]) for error in last["steps"][0]["errors"]] == [(489, '{"error":"E","message":"broken"}')]
    assert last["steps"][0]["errors"][0]["headers"] == failure["failHeaders"]
    assert (failure["url"], failure["failStatus"], failure["failResponse"], failure["failHeaders"]["Upstash-Nonretryable-Error"]) == \
        (receiver.url(f"/{topic}/failed"), 489, '{"error":"E","message":"broken"}', ["true"])
    assert failure["messageId"].startswith("msg_")
    if state == "CALLBACK_FAIL":
        assert failure["responseStatus"] == 500 and [error["status"] for error in failure["errors"]] == [500, 500] and failure["maxRetries"] == 1


def test_a_binary_answer_that_failed_a_run(qstash, receiver, topic):
    receiver.script(f"/{topic}/failed", 200)
    run = failing(qstash, receiver, topic, Answer(489, body=b"caf\xe9", headers=FAILS.headers))
    run.step(step(1, 1))
    until(lambda: log_of(run)["workflowState"] == "RUN_FAILED", 10, "the run fails")
    found = log_of(run)
    assert base64.b64decode(found["failureFunction"]["failResponseBase64"]) == b"caf\xe9"
    assert found["steps"][-1]["steps"][0]["errors"][0]["body"] == "caf\ufffd"
    letter = qstash.call("GET", f"dlq/{found['dlqId']}").expect(200)
    assert base64.b64decode(letter["responseBodyBase64"]) == b"caf\xe9" and "responseBody" not in letter


def test_a_failed_branch_has_its_errors(qstash, receiver, topic):
    receiver.script(f"/{topic}", TAKEN, FAILS)
    run = Run(qstash, receiver, f"/{topic}")
    arrivals(receiver, run.path, 1)
    run.step(json.dumps({"stepId": 0, "stepName": "a", "stepType": "Run", "concurrent": 2, "targetStep": 1}))
    until(lambda: log_of(run)["workflowState"] == "RUN_FAILED", 10, "the run fails")
    found = log_of(run)
    assert groups(found)[1:] == [("parallel", [("a", "STEP_FAILED")])]
    assert [error["status"] for error in found["steps"][1]["steps"][0]["errors"]] == [489]


# ---- redaction, sizes ----

def test_redacted_parts(qstash, receiver, topic):
    receiver.script(f"/{topic}", TAKEN, TAKEN)
    run = Run(qstash, receiver, f"/{topic}", payload="secret", upstash_forward_key="secret", upstash_redact_fields="body,header[Key]")
    arrivals(receiver, run.path, 1)
    run.step(step(1, "secret"))
    arrivals(receiver, run.path, 2)
    run.end(b'"secret"').expect(200)
    found = log_of(run)
    assert "secret" not in json.dumps(found) and found["workflowRunResponse"].startswith("REDACTED:")
    first, one = (group["steps"][0] for group in found["steps"])
    assert first["out"].startswith("REDACTED:") and one["out"].startswith("REDACTED:") and first["headers"]["Key"][0].startswith("REDACTED:")


def test_bodies_are_cut(run):
    arrivals(run.receiver, run.path, 1)
    run.step(step(1, "ü" * 50))
    outs = [group["steps"][0]["out"] for group in log_of(run, "&trimBody=4")["steps"] if group["type"] == "sequential"]
    assert outs == ["payl", '"\\u0']
    assert log_of(run, "&trimBody=0")["steps"][0]["steps"][0]["out"] == ""


def test_large_runs_are_shown_in_part(qstash, receiver, topic):
    receiver.script(f"/{topic}", *[TAKEN] * 9)
    run = Run(qstash, receiver, f"/{topic}", payload="p" * 600_000)
    arrivals(receiver, run.path, 1)
    assert len(log_of(run)["steps"][0]["steps"][0]["out"]) == 1024
    for number in range(1, 6):
        run.step(step(number, "x" * 700_000))
    found = quiet(run)
    assert len(found["steps"]) == 6 and all("stepName" in group["steps"][0] for group in found["steps"])
    assert len(json.dumps(found)) < 20_000


# ---- lists ----

def test_filters(qstash, receiver, run, topic):
    receiver.script(f"/{topic}-other", HANG)
    other = Run(qstash, receiver, f"/{topic}-other")
    arrivals(receiver, run.path, 1)
    run.end().expect(200)
    found = log_of(run)
    mine = [f"workflowRunId={run.id}", f"workflowUrl={run.url}", f"url={run.url}", "label=l2", f"label=none,l1&path=/{topic}", f"flowControlKey=key.{topic}",
            f"workflowCreatedAt={found['workflowRunCreatedAt']}&workflowRunId={run.id}", f"messageId={run.first['messageId']}",
            f"state=RUN_SUCCESS&path=/{topic}", f"fromDate={found['workflowRunCreatedAt']}&toDate={found['workflowRunCreatedAt']}&path=/{topic}",
            f"callerIp={found['workflowRunCallerIp']}&path=/{topic}"]
    for query in mine:
        ids = [one["workflowRunId"] for one in log(qstash, query)["runs"]]
        assert run.id in ids and other.id not in ids, query
    for query in (f"state=RUN_STARTED&path=/{topic}", f"label=none&path=/{topic}", "workflowRunId=none", f"toDate=1&path=/{topic}",
                  f"workflowRunId={run.id}&workflowCreatedAt=1", f"workflowRunId={run.id}&callerIp=10.9.9.9", "messageId=msg_none"):
        assert log(qstash, query) == {"runs": []}, query


@pytest.mark.parametrize("query, word", [("nonsense=1", "nonsense"), ("state=done", "state"), ("cursor=x", "cursor"), ("count=x", "count"), ("groupBy=url", "groupBy"),
                                         ("trimBody=x", "trimBody"), ("dlqIds=a", "dlqIds"), ("fromDate=x", "fromDate")])
def test_a_wrong_filter_is_400(qstash, query, word):
    assert word in qstash.call("GET", f"workflows/logs?{query}").expect(400)["error"]


def test_events_are_the_same_by_groups_of_runs(qstash, run):
    arrivals(run.receiver, run.path, 1)
    quiet(run)
    query = f"workflowRunId={run.id}"
    assert log(qstash, query, "events?groupBy=workflowRunId&") == log(qstash, query) == log(qstash, f"{query}&groupBy=workflowRunId")
    assert "groupBy" in qstash.call("GET", "workflows/events").expect(400)["error"]


def walk(qstash, query):
    found, cursor = [], ""
    while True:
        page = log(qstash, query + cursor)
        assert len(page["runs"]) <= 10
        found += page["runs"]
        if "cursor" not in page:
            return found
        cursor = f"&cursor={page['cursor']}"


def test_pages_have_the_latest_first(qstash, receiver, topic):
    receiver.script(f"/{topic}", *[HANG] * 13)
    made = [Run(qstash, receiver, f"/{topic}") for _ in range(13)]
    ids = [run.id for run in made][::-1]
    assert [one["workflowRunId"] for one in log(qstash, f"path=/{topic}")["runs"]] == ids[:10]
    for count in ("", "&count=1", "&count=5", "&count=100"):
        assert [one["workflowRunId"] for one in walk(qstash, f"path=/{topic}{count}")] == ids, count


def test_all_runs_of_one_id(qstash, receiver, topic):
    receiver.script(f"/{topic}", *[HANG] * 3)
    made = []
    for number in range(3):
        run = Run(qstash, receiver, f"/{topic}")
        run.id = f"wfr_{topic}"
        run.send(run.item(f"payload {number}", init="true")).expect(200)
        made.append(log(qstash, f"workflowRunId={run.id}&count=1")["runs"][0]["workflowRunCreatedAt"])
        qstash.call("DELETE", f"workflows/runs/{run.id}?cancel=true").expect(200)
    query = f"workflowRunId=wfr_{topic}"
    for count in ("", "&count=1", "&count=2"):
        assert [one["workflowRunCreatedAt"] for one in walk(qstash, query + count)] == made[::-1], count
    one, = log(qstash, f"{query}&workflowCreatedAt={made[1]}")["runs"]
    assert one["steps"][0]["steps"][0]["out"] == "payload 1"
    foreign = log(qstash, f"workflowRunId=wfr_{topic}&count=1")["cursor"]
    assert "cursor" in qstash.call("GET", f"workflows/logs?workflowRunId=wfr_another&cursor={foreign}").expect(400)["error"]


def test_without_redis_it_is_503(redis):
    behind = redis()
    server = QStash(redis=behind)
    try:
        behind.kill()
        until(lambda: server.get("/readyz").status == 503, 30, "Redis is away")
        assert server.call("GET", "workflows/logs").status == server.call("GET", "workflows/logs?workflowRunId=a").status == 503
    finally:
        server.stop()
