"""Durable runs over raw HTTP: each kind of message, its headers and body, the settings that it takes from its run,
and how runs fail."""

import base64
import json
import re
import socket
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import scratch
from patience import SLOW, until
from qstash import QStash, arrivals, verified
from receiver import Answer
from runs import TAKEN, Run, call, decoded, encoded, failing, step
from tokens import TokenFile


@pytest.fixture(scope="module")
def qstash():
    server = QStash()
    yield server
    server.stop()


@pytest.fixture
def run(qstash, receiver, topic):
    receiver.script(f"/{topic}", TAKEN)
    return Run(qstash, receiver, f"/{topic}")


# ---- lists ----

def test_each_step_is_delivered_with_the_list_up_to_itself(qstash, run, receiver):
    trigger, = arrivals(receiver, run.path, 1)
    one, = run.step(step(1, "ü</>"))
    arrivals(receiver, run.path, 2)
    two, = run.step(step(2, 2))
    _, first, second = arrivals(receiver, run.path, 3)
    assert json.loads(trigger.body) == [{"messageId": run.first["messageId"], "body": encoded("payload"), "callType": "step"}]
    assert decoded(first) == ["payload", step(1, "ü</>")] and decoded(second) == ["payload", step(1, "ü</>"), step(2, 2)]
    assert [element["messageId"] for element in json.loads(second.body)] == [run.first["messageId"], one, two]
    assert second.body == json.dumps(json.loads(second.body), separators=(",", ":"), ensure_ascii=False).encode()
    key = qstash.call("GET", "keys").expect(200)["current"]
    for arrival in (trigger, first, second):
        verified(arrival, key, run.url)


def test_a_retry_has_the_list_up_to_itself_although_it_grew(run, receiver):
    arrivals(receiver, run.path, 1)
    receiver.script(run.path, Answer(500, headers=(("Retry-After", "2"),)), TAKEN, TAKEN)
    one, other = (step(0, "", targetStep=number) for number in (1, 2))
    slow, = run.step(one)
    arrivals(receiver, run.path, 2)
    fast, = run.step(other)
    last = arrivals(receiver, run.path, 4)
    bodies = {(arrival.job_id, arrival.attempt): decoded(arrival) for arrival in last[1:]}
    assert bodies == {(slow, 1): ["payload", one], (slow, 2): ["payload", one], (fast, 1): ["payload", one, other]}


def test_a_step_is_appended_once(run, receiver):
    """A client that got no answer publishes its step again. The result of the repeated step may be another one."""
    arrivals(receiver, run.path, 1)
    plans = [step(0, "", targetStep=number, concurrent=2) for number in (1, 2)]
    ids = run.step(*plans)
    assert run.step(*plans) == ids
    first, = run.step(step(1, "kept", concurrent=2))
    assert run.send(run.item(step(1, "late", concurrent=2))).expect(200) == [{"messageId": first, "deduplicated": True}]
    assert run.qstash.call("POST", f"publish/{run.url}", step(1, "later").encode(), Upstash_Workflow_RunId=run.id,
                           Upstash_Workflow_Init="false", Upstash_Workflow_Url=run.url).json["messageId"] == first
    last, = run.step(step(2, 2, concurrent=2))
    got = {arrival.job_id: decoded(arrival) for arrival in arrivals(receiver, run.path, 5)[1:]}
    assert set(got) == {*ids, first, last} and got[last] == ["payload", *plans, step(1, "kept", concurrent=2), step(2, 2, concurrent=2)]


def test_a_call_and_a_wait_of_a_step_are_made_once(qstash, run, receiver, topic):
    arrivals(receiver, run.path, 1)
    run.steps = iter([7, 7, 8, 8])
    assert call(run, receiver.url(f"/{topic}/third")) == call(run, receiver.url(f"/{topic}/third"))
    assert [wait(run, topic).status for _ in range(2)] == [200, 200]
    assert len(qstash.call("GET", f"waiters/{topic}").expect(200)) == 1
    assert len(qstash.call("POST", f"notify/{topic}", b"news").expect(201)) == 1
    assert wait(run, topic, stepId=8).status == 200 and qstash.call("GET", f"waiters/{topic}").expect(200) == []
    arrivals(receiver, f"/{topic}/third", 1)


def test_a_delivery_that_has_done_its_work_is_not_repeated(qstash, run, receiver):
    """The application has published the next step, and then its answer is lost. Another delivery would execute the step
    again, although its result is kept."""
    arrivals(receiver, run.path, 1)
    receiver.script(run.path, Answer(500, headers=(("Retry-After", "1"),)), TAKEN)
    done, = run.step(step(1, 1))
    arrivals(receiver, run.path, 2)
    last, = run.step(step(2, 2))
    until(lambda: qstash.call("GET", f"messages/{done}").status == 404, 15, "the message has ended")
    assert [arrival.job_id for arrival in arrivals(receiver, run.path, 3)[1:]] == [done, last] and run.is_active()


def test_parallel_steps_are_appended_together_in_their_order(run, receiver):
    arrivals(receiver, run.path, 1)
    plans = [step(0, "", targetStep=number) for number in (1, 2, 3)]
    ids = run.step(*plans)
    got = {arrival.job_id: decoded(arrival) for arrival in arrivals(receiver, run.path, 4)[1:]}
    assert got == {one: ["payload", *plans[:number]] for number, one in enumerate(ids, 1)}


def test_a_sleep_is_in_the_list_at_once_and_delivered_later(qstash, run, receiver):
    arrivals(receiver, run.path, 1)
    asleep, = run.step(step(1, ""), upstash_delay="1h")
    run.step(step(2, 2))
    assert decoded(arrivals(receiver, run.path, 2)[1]) == ["payload", step(1, ""), step(2, 2)]
    shown = qstash.call("GET", f"messages/{asleep}").expect(200)
    assert shown["notBefore"] - shown["createdAt"] == 3_600_000
    short, = run.step(step(3, ""), upstash_delay="1s")
    last = arrivals(receiver, run.path, 3)[2]
    assert last.job_id == short and decoded(last) == ["payload", step(1, ""), step(2, 2), step(3, "")]


def test_a_list_over_a_mebibyte_is_left_to_the_client(run, receiver):
    arrivals(receiver, run.path, 1)
    run.step(step(1, "x" * 900_000))
    _, long = arrivals(receiver, run.path, 2)
    assert long.body == b"" and long.headers["content-length"] == "0"


def test_a_payload_may_be_empty(qstash, receiver, topic):
    receiver.script(f"/{topic}", TAKEN)
    run = Run(qstash, receiver, f"/{topic}", payload=None)
    assert decoded(arrivals(receiver, run.path, 1)[0]) == [""]


# ---- headers ----

def test_headers_of_a_trigger_and_of_its_steps(qstash, receiver, topic):
    receiver.script(f"/{topic}", TAKEN)
    run = Run(qstash, receiver, f"/{topic}", content_type="text/plain", upstash_forward_upstash_workflow_sdk_version="1",
              upstash_forward_shop="one", upstash_retries="1", upstash_label="a,b", upstash_delay="1s", upstash_retry_delay="1000")
    trigger, = arrivals(receiver, run.path, 1)
    receiver.script(run.path, Answer(503, headers=(("Retry-After", "9"),)))
    message_id, = run.step(step(1, 1), content_type="application/json", upstash_forward_own="2")
    _, after = arrivals(receiver, run.path, 2)
    for arrival, init in ((trigger, "true"), (after, "false")):
        headers = arrival.headers
        assert (headers["upstash-workflow-runid"], headers["upstash-workflow-url"], headers["upstash-workflow-init"]) == (run.id, run.url, init)
        assert (headers["shop"], headers["content-type"], headers["upstash-workflow-sdk-version"]) == ("one", "text/plain", "1")
        assert "upstash-feature-set" not in headers and headers["upstash-retried"] == "0"
    assert after.headers["own"] == "2"
    made_ms = int(trigger.headers["upstash-workflow-createdat"])
    assert after.headers["upstash-workflow-createdat"] == str(made_ms) and abs(trigger.at_ms - made_ms) < 60_000
    shown = qstash.call("GET", f"messages/{message_id}").expect(200)
    assert (shown["maxRetries"], shown["labels"], shown["retryDelayExpression"]) == (1, ["a", "b"], "1000")


def test_the_flow_control_of_the_trigger_holds_for_steps(qstash, receiver, topic):
    receiver.script(f"/{topic}", TAKEN)
    run = Run(qstash, receiver, f"/{topic}", upstash_flow_control_key=topic, upstash_flow_control_value="parallelism=3")
    arrivals(receiver, run.path, 1)
    message_id, = run.step(step(1, 1), upstash_delay="1h")
    shown = qstash.call("GET", f"messages/{message_id}").expect(200)
    assert (shown["flowControlKey"], shown["parallelism"]) == (topic, 3)


# ---- runs without a client ----

def trigger(qstash, url, body=b"payload", **headers):
    return qstash.call("POST", f"trigger/{url}", body, **headers).expect(200)


def test_a_run_without_a_client_is_begun_anew_by_its_endpoint(qstash, receiver, topic):
    path = f"/{topic}"
    receiver.script(path, Answer(200, delay=2, headers=(("Upstash-Workflow-Sdk-Version", "1"),)), TAKEN)
    made = trigger(qstash, receiver.url(path), Upstash_Retries="1", Upstash_Label="a", Upstash_Forward_Own="1", Content_Type="text/plain")
    asked, = arrivals(receiver, path, 1)
    assert made["workflowRunId"].startswith("wfr_") and sorted(made) == ["workflowCreatedAt", "workflowRunId"]
    headers = asked.headers
    assert (headers["upstash-workflow-unknown-sdk"], headers["upstash-workflow-init"], headers["own"]) == ("true", "true", "1")
    assert (headers["upstash-workflow-runid"], headers["upstash-workflow-url"]) == (made["workflowRunId"], receiver.url(path))
    assert headers["upstash-workflow-createdat"] == str(made["workflowCreatedAt"]) and decoded(asked) == ["payload"]
    run = Run(qstash, receiver, path, payload="anew", id=made["workflowRunId"], upstash_workflow_trigger_by_sdk="true",
              upstash_forward_upstash_workflow_sdk_version="1")
    assert "deduplicated" not in run.first and run.first["messageId"] != asked.job_id
    _, begun = arrivals(receiver, path, 2)
    assert decoded(begun) == ["anew"] and "upstash-workflow-unknown-sdk" not in begun.headers and begun.headers["own"] == "1"
    assert begun.headers["upstash-workflow-createdat"] == str(made["workflowCreatedAt"])
    message_id, = run.step(step(1, 1), upstash_delay="1h")
    shown = qstash.call("GET", f"messages/{message_id}").expect(200)
    assert (shown["maxRetries"], shown["labels"]) == (1, ["a"])
    until(lambda: receiver.of(path)[0].answered_at_ms, 15, "the first delivery is answered")
    time.sleep(0.3)
    assert run.is_active() and run.end().status == 200


@pytest.mark.parametrize("answer, error", [(TAKEN, "trigger rest api is only usable with sdk versions after v1.0.0 major version"),
                                           (200, "detected a non-workflow destination for trigger/invoke.")])
def test_a_run_that_its_endpoint_does_not_begin_fails(qstash, receiver, topic, answer, error):
    receiver.script(f"/{topic}", answer)
    made = trigger(qstash, receiver.url(f"/{topic}"), Upstash_Failure_Callback=receiver.url(f"/{topic}/failed"))
    told, = arrivals(receiver, f"/{topic}/failed", 1)
    assert base64.b64decode(json.loads(told.body)["body"]).decode().startswith(error)
    assert json.loads(told.body)["workflowRunId"] == made["workflowRunId"]
    errors = until(lambda: [event["error"] for event in qstash.call("GET", f"events?messageId={json.loads(told.body)['sourceMessageId']}").expect(200)["events"]
                            if event["state"] == "ERROR"], 15, "the event is shown")
    assert len(errors) == 1 and errors[0].startswith(error)
    log, = qstash.call("GET", f"workflows/logs?workflowRunId={made['workflowRunId']}").expect(200)["runs"]
    assert log["steps"][-1]["steps"][0]["errors"][0]["error"].startswith(error)


def test_a_run_without_a_client_may_have_an_id(qstash, receiver, topic):
    receiver.script(f"/{topic}", Answer(500, headers=(("Retry-After", "60"),)))
    made = trigger(qstash, receiver.url(f"/{topic}"), Upstash_Workflow_RunId=f"mine-{topic}")
    assert made["workflowRunId"] == f"mine-{topic}"
    again = qstash.call("POST", f"trigger/{receiver.url(f'/{topic}')}", b"", Upstash_Workflow_RunId=f"mine-{topic}")
    assert again.status == 202 and again.json == {**made, "deduplicated": True}
    for bad in ({"Upstash_Workflow_RunId": "a/b"}, {"Upstash_Delay": "soon"}, {"Upstash_Retries": "many"}):
        assert qstash.call("POST", f"trigger/{receiver.url(f'/{topic}')}", b"", **bad).status == 400
    assert qstash.call("POST", "trigger/some-group", b"").status == 400


# ---- calls ----

def test_a_call_is_delivered_as_it_is_and_answered_once(qstash, receiver, topic):
    receiver.script(f"/{topic}", TAKEN)
    receiver.script(f"/{topic}/third", Answer(500, headers=(("Retry-After", "0"),)), Answer(201, body=b"answer", headers=(("Theirs", "1"),)))
    run = Run(qstash, receiver, f"/{topic}", upstash_forward_upstash_workflow_sdk_version="1", upstash_forward_shop="one", upstash_retries="2")
    arrivals(receiver, run.path, 1)
    call(run, receiver.url(f"/{topic}/third"), upstash_forward_own="2", upstash_retries="1", content_type="application/json")
    third = arrivals(receiver, f"/{topic}/third", 2)[1]
    assert third.body == b'{"ask":1}' and third.headers["own"] == "2" and "shop" not in third.headers
    assert not [name for name in third.headers if name.startswith("upstash-workflow")]
    _, back = arrivals(receiver, run.path, 2)
    told = json.loads(back.body)
    assert (told["status"], base64.b64decode(told["body"]), told["retried"], told["maxRetries"]) == (201, b"answer", 1, 1)
    assert told["header"]["Theirs"] == ["1"]
    headers = back.headers
    assert (headers["upstash-workflow-runid"], headers["upstash-workflow-init"]) == (run.id, "false")
    assert (headers["upstash-workflow-callback"], headers["upstash-workflow-stepid"], headers["shop"]) == ("true", "1", "one")
    assert "upstash-workflow-sdk-version" not in headers and headers["content-type"] == "application/json"
    run.step(step(1, "done"))
    assert decoded(arrivals(receiver, run.path, 3)[2]) == ["payload", step(1, "done")]


def test_a_failed_call_is_answered_and_the_run_continues(run, receiver):
    arrivals(receiver, run.path, 1)
    receiver.script(f"{run.path}/third", 503)
    call(run, receiver.url(f"{run.path}/third"))
    _, back = arrivals(receiver, run.path, 2)
    assert json.loads(back.body)["status"] == 503 and "dlqId" not in json.loads(back.body)
    assert run.is_active()


# ---- invoked runs ----

def invoke(run, url, child, body):
    headers = {"Upstash-Workflow-RunId": child, "Upstash-Workflow-Init": "true", "Upstash-Workflow-Url": url, "Upstash-Workflow-Invoke": "true",
               "Upstash-Retries": "0", "Content-Type": "application/json"}
    document = {"headers": {"Upstash-Workflow-Init": ["false"], "Upstash-Workflow-RunId": [run.id], "Upstash-Workflow-Url": [run.url],
                            "Upstash-Forward-Back": ["yes"]},
                "workflowRunId": run.id, "workflowUrl": run.url, "workflowRunCreatedAt": 0,
                "step": {"stepId": 1, "stepName": "invoke", "stepType": "Invoke", "concurrent": 1}, **body}
    return run.qstash.call("POST", f"publish/{url}", document, **headers)


def test_the_invoker_of_a_failed_run_gets_the_failure_and_continues(run, receiver):
    arrivals(receiver, run.path, 1)
    receiver.script(f"{run.path}/child", Answer(489, headers=(("Upstash-NonRetryable-Error", "true"),)))
    child = f"{run.id}-child"
    invoke(run, receiver.url(f"{run.path}/child"), child, {"body": "for the child"}).expect(200)
    assert decoded(arrivals(receiver, f"{run.path}/child", 1)[0]) == ["for the child"]
    _, told = arrivals(receiver, run.path, 2)
    out = json.loads(json.loads(decoded(told)[1])["out"])
    assert out == {"workflowRunId": child, "isCanceled": False, "isFailed": True} and told.headers["back"] == "yes"
    assert run.is_active()


def test_a_run_that_is_over_invokes_nothing(run, receiver):
    assert run.end().status == 200
    assert invoke(run, receiver.url(f"{run.path}/child"), f"{run.id}-child", {}).status == 400
    assert invoke(run, receiver.url(f"{run.path}/child"), f"{run.id}-child", {"step": 1}).status == 400


def test_invokers_that_are_refused(run, receiver):
    arrivals(receiver, run.path, 1)
    for bad in ({"step": 1}, {"workflowUrl": ""}, {"workflowUrl": "nowhere"}, {"workflowRunId": "unknown"}):
        assert invoke(run, receiver.url(f"{run.path}/child"), f"{run.id}-child", bad).status == 400
    assert receiver.count(f"{run.path}/child") == 0


def test_an_invoked_run_that_ends_tells_its_invoker_the_result(run, receiver):
    arrivals(receiver, run.path, 1)
    receiver.script(f"{run.path}/child", TAKEN)
    child = f"{run.id}-child"
    invoke(run, receiver.url(f"{run.path}/child"), child, {}).expect(200)
    arrivals(receiver, f"{run.path}/child", 1)
    run.qstash.call("DELETE", f"workflows/runs/{child}?cancel=false", b'{"of":"the child"}').expect(200)
    _, told = arrivals(receiver, run.path, 2)
    read = json.loads(decoded(told)[1])
    assert (read["stepId"], read["stepType"]) == (1, "Invoke")
    assert json.loads(read["out"]) == {"workflowRunId": child, "body": '{"of":"the child"}', "isCanceled": False, "isFailed": False}


def test_a_cancelled_invoked_run_tells_its_invoker(run, receiver):
    arrivals(receiver, run.path, 1)
    receiver.script(f"{run.path}/child", TAKEN)
    child = f"{run.id}-child"
    invoke(run, receiver.url(f"{run.path}/child"), child, {}).expect(200)
    arrivals(receiver, f"{run.path}/child", 1)
    assert run.qstash.call("DELETE", f"workflows/runs?workflowRunIds={child}").expect(200) == {"cancelled": 1}
    _, told = arrivals(receiver, run.path, 2)
    assert json.loads(json.loads(decoded(told)[1])["out"]) == {"workflowRunId": child, "isCanceled": True, "isFailed": False}


# ---- ends ----

def test_a_run_ends_with_a_result(run, receiver):
    arrivals(receiver, run.path, 1)
    run.step(step(1, 1), upstash_delay="1h")
    assert run.end(b'{"all":"done"}').status == 200
    assert run.end().status == 404 and not run.is_active()
    assert run.send(run.item(step(2, 2))).status == 400
    listed = run.qstash.get("/jobs?state=delayed&topic=qstash~messages").expect(200)["jobs"]
    assert not [job for job in listed if job.get("workflow") == run.id]


def test_a_cancelled_run_has_no_messages_any_more(run, receiver):
    arrivals(receiver, run.path, 1)
    receiver.script(run.path, Answer(500, headers=(("Retry-After", "3600"),)))
    retried, = run.step(step(1, 1))
    arrivals(receiver, run.path, 2)
    called = call(run, receiver.url(f"{run.path}/third"), upstash_delay="1h")
    assert run.qstash.call("DELETE", f"workflows/runs/{run.id}?cancel=true").status == 200
    assert run.qstash.call("DELETE", f"workflows/runs/{run.id}?cancel=true").status == 404
    assert run.send(run.item(step(2, 2))).status == 400
    assert [run.qstash.call("GET", f"messages/{message_id}").status for message_id in (retried, called)] == [404, 404]


def test_a_cancel_of_several_messages_of_a_run_counts_each(qstash, run, receiver):
    arrivals(receiver, run.path, 1)
    messages = run.step(step(1, 1), step(2, 2), step(3, 3), upstash_delay="1h")
    ids = "&".join(f"messageIds={message}" for message in messages)
    assert qstash.call("DELETE", f"messages?{ids}").expect(200) == {"cancelled": 3}
    assert qstash.call("DELETE", f"messages?{ids}").expect(200) == {"cancelled": 0} and not run.is_active()


@pytest.mark.parametrize("target", ["/v2/messages/{}", "/v2/messages?messageIds={}", "/jobs/qstash~messages/{}",
                                    "/jobs?topic=qstash~messages&idPrefix={}&state=delayed&all=true"])
def test_a_run_is_cancelled_with_one_of_its_messages(run, receiver, target):
    """Without the cancelled message, nothing would continue the run, so the whole run is cancelled. The run's other
    messages are dropped. Its parent run, which waits for it, continues."""
    arrivals(receiver, run.path, 1)
    receiver.script(f"{run.path}/child", TAKEN)
    child, url = f"{run.id}-child", receiver.url(f"{run.path}/child")
    invoke(run, url, child, {}).expect(200)
    arrivals(receiver, f"{run.path}/child", 1)
    headers = {"upstash-workflow-runid": child, "upstash-workflow-init": "false", "upstash-workflow-url": url, "upstash-delay": "1h"}
    steps = [{"destination": url, "body": step(number, 1), "headers": headers} for number in (1, 2)]
    first, second = [sent["messageId"] for sent in run.send(*steps).expect(200)]
    assert run.qstash.request("DELETE", target.format(first), check=not target.startswith("/v2")).status < 300
    assert run.qstash.get(f"/workflows/qstash/{child}").expect(200)["state"] == "cancelled"
    assert [run.qstash.call("GET", f"messages/{message_id}").status for message_id in (first, second)] == [404, 404]
    _, told = arrivals(receiver, run.path, 2)
    assert json.loads(json.loads(decoded(told)[1])["out"]) == {"workflowRunId": child, "isCanceled": True, "isFailed": False}
    assert run.is_active()


def test_the_last_delivery_of_a_run_that_succeeds_was_delivered(receiver, topic):
    """The client ends the run while it handles a delivery, before it answers. Other messages of the run are
    cancelled."""
    qstash = QStash("--history", f"sqlite:{scratch.file('history.sqlite')}")
    receiver.script(f"/{topic}", TAKEN)
    run = Run(qstash, receiver, f"/{topic}")
    arrivals(receiver, run.path, 1)
    later, = run.step(step(1, 1), upstash_delay="1h")
    receiver.script(run.path, Answer(200, delay=1))
    last, = run.step(step(2, 2))
    arrivals(receiver, run.path, 2)
    run.end(b"1")

    def states(message_id):
        found = qstash.call("GET", f"events?messageId={message_id}").expect(200)["events"]
        return [event["state"] for event in reversed(found)]
    for message_id, wanted in (last, ["CREATED", "ACTIVE", "DELIVERED"]), (later, ["CREATED", "CANCELED"]):
        until(lambda: states(message_id) == wanted, 15, lambda: f"{wanted}, there are {states(message_id)}")
    assert qstash.get(f"/jobs/qstash~messages/{last}").expect(200)["state"] == "delivered"
    qstash.stop()


def test_a_step_that_kills_its_consumers_fails_its_run(redis, receiver, topic):
    behind = redis()
    qstash = QStash(redis=behind.address)
    run = failing(qstash, receiver, topic, Answer(200, delay=60 * SLOW))
    message_id, = run.step(step(1, 1), upstash_timeout="1h")
    arrivals(receiver, run.path, 2)
    behind.command("HSET", "duepost:{0}:crashes", f"qstash~messages/{message_id}", "4 gone")
    qstash.kill()
    qstash = QStash(redis=behind.address)
    told, = arrivals(receiver, f"/{topic}/failed", 1, 30)
    document = json.loads(told.body)
    assert (document["status"], document["sourceMessageId"], document["workflowRunId"]) == (0, message_id, run.id)
    assert base64.b64decode(document["sourceBody"]) == b"payload"
    qstash.stop()


def counter(server, name):
    return int(re.search(rf"^{re.escape(name)} (\d+)$", server.get("/metrics").body.decode(), re.M)[1])


def test_a_history_gets_at_most_4_mib_of_dropped_messages_and_counts_the_others(receiver, topic):
    receiver.script(f"/{topic}", TAKEN)
    qstash = QStash("--history", f"sqlite:{scratch.file('history.sqlite')}")
    run = Run(qstash, receiver, f"/{topic}")
    arrivals(receiver, run.path, 1)
    run.step(*[step(number, number) for number in range(20)], upstash_delay="1h")
    calls = [call(run, receiver.url(f"{run.path}/third"), body=json.dumps("x" * 900_000), upstash_delay="1h") for _ in range(7)]
    before = counter(qstash, "duepost_outbox_dropped_total")
    assert qstash.call("DELETE", f"workflows/runs/{run.id}?cancel=true").status == 200
    assert {qstash.call("GET", f"messages/{message_id}").status for message_id in calls} == {404}
    dropped = until(lambda: counter(qstash, "duepost_outbox_dropped_total") - before, 15, "some are counted")

    def kept():
        return qstash.get("/jobs/count?state=cancelled&topic=qstash~messages&source=history").expect(200)["count"]
    until(lambda: kept() + dropped == 27, 15, lambda: f"the history has the others: {kept()} beside {dropped}")
    assert 3 <= dropped <= 23
    qstash.stop()


def test_many_runs_are_cancelled_at_once(qstash, receiver, topic):
    receiver.script(f"/{topic}", TAKEN)
    runs = [Run(qstash, receiver, f"/{topic}") for _ in range(5)]
    ids = [run.id for run in runs]
    assert qstash.call("DELETE", f"workflows/runs?workflowRunIds={ids[0]}&workflowRunIds={ids[1]},unknown").expect(200) == {"cancelled": 2}
    assert qstash.call("DELETE", "workflows/runs", {"workflowRunIds": ids[:4]}).expect(200) == {"cancelled": 2}
    assert [run.is_active() for run in runs] == [False] * 4 + [True]
    for refused in ("?unknown=x", "?workflowRunIds=", "", "?workflowRunIds=%", "?state=x", "?workflowUrl=x&workflowUrlExactMatch=1", "?count=x"):
        assert qstash.call("DELETE", f"workflows/runs{refused}").status == 400
    for refused in ("[]", "{", '{"other":1}'):
        assert qstash.call("DELETE", "workflows/runs", refused).status == 400
    assert runs[4].is_active()


def test_an_empty_object_cancels_all_runs(receiver, topic):
    """The client for Go sends an empty object for CancelAll. Here there are more runs than fit into a page."""
    receiver.script(f"/{topic}", TAKEN)
    qstash = QStash()
    runs = [Run(qstash, receiver, f"/{topic}") for _ in range(102)]
    assert qstash.call("DELETE", "workflows/runs").status == 400 and runs[0].is_active()
    assert qstash.call("DELETE", "workflows/runs", "{ }").expect(200) == {"cancelled": 102}
    assert not any(run.is_active() for run in runs)
    assert qstash.call("DELETE", "workflows/runs", "{}").expect(200) == {"cancelled": 0}
    qstash.stop()


def test_runs_are_cancelled_by_filters(qstash, receiver, topic):
    receiver.script(f"/{topic}", TAKEN)
    receiver.script(f"/{topic}/more", TAKEN)
    path = f"/{topic}"
    first = Run(qstash, receiver, path, upstash_label="a,b")
    arrivals(receiver, path, 1)
    time.sleep(0.01)
    made = int(time.time() * 1000)
    time.sleep(0.01)
    runs = [first, Run(qstash, receiver, f"{path}/more", upstash_label="b"), Run(qstash, receiver, path, upstash_flow_control_key=topic,
                                                                                upstash_flow_control_value="parallelism=5"),
            Run(qstash, receiver, path, upstash_forward_large="x" * 8100, upstash_label="large")]

    def cancelled(query, *expected, body=None):
        before = {run.id for run in runs if run.is_active()}
        answer = qstash.call("DELETE", f"workflows/runs{query}", body).expect(200)
        gone = before - {run.id for run in runs if run.is_active()}
        assert answer == {"cancelled": len(expected)} and gone == {runs[number].id for number in expected}, query
    url = receiver.url(path)
    cancelled("?label=none")
    cancelled(f"?workflowUrl={url}&callerIp=10.0.0.1")
    cancelled(f"?workflowUrl={url}&host=other.example")
    cancelled(f"?workflowUrl={url}&path=/other")
    cancelled(f"?workflowUrl={url}/mor&workflowUrlExactMatch=true")
    cancelled(f"?workflowUrl={url}&label=large&count=5", 3)
    cancelled(f"?flowControlKey={topic}&host=127.0.0.1", 2)
    cancelled(f"?workflowUrl={url}&toDate={made}&callerIp=127.0.0.1", 0)
    cancelled("", 1, body={"workflowUrl": f"{url}/m"})
    runs[:] = [Run(qstash, receiver, path, upstash_label=topic) for _ in range(4)]
    assert qstash.call("DELETE", f"workflows/runs?label={topic}&count=3").expect(200) == {"cancelled": 3}
    cancelled(f"?workflowUrl={url}&workflowUrlExactMatch=true&count=100", 0)


def test_the_whole_list_has_calls_too(run, receiver):
    arrivals(receiver, run.path, 1)
    call(run, receiver.url(f"{run.path}/third"), upstash_delay="1h")
    run.step(step(1, 1))
    _, after = arrivals(receiver, run.path, 2)
    whole = run.qstash.call("GET", f"workflows/runs/{run.id}").expect(200)
    assert [element["callType"] for element in whole] == ["step", "toCallback", "step"]
    assert json.loads(after.body) == [whole[0], whole[2]]
    assert run.qstash.call("GET", "workflows/runs/unknown").status == 404


# ---- refusals ----

def test_a_run_that_is_active_is_triggered_once(run):
    again = run.send(run.item("other", init="true")).expect(200)
    assert again == [{"messageId": run.first["messageId"], "deduplicated": True}]
    published = run.qstash.call("POST", f"publish/{run.url}", "other", **run.item("", init="true")["headers"])
    assert published.status == 202 and published.json == again[0]


def test_messages_of_a_run_that_is_not_active_are_refused(run, receiver):
    for body in (step(1, 1), ""):
        item = run.item(body)
        item["headers"]["upstash-workflow-runid"] = "wfr_unknown"
        reply = run.send(item)
        assert reply.status == 400 and "wfr_unknown is not active" in reply.json["error"]
    assert run.qstash.call("POST", f"publish/{run.url}", "x", **item["headers"]).status == 400


def test_all_parallel_steps_or_none_are_accepted(run, receiver):
    arrivals(receiver, run.path, 1)
    bad = run.item(step(0, ""), upstash_delay="soon")
    reply = run.send(run.item(step(0, "")), bad, run.item(step(0, "")))
    assert reply.status == 400
    run.step(step(1, 1))
    assert decoded(arrivals(receiver, run.path, 2)[1]) == ["payload", step(1, 1)]


@pytest.mark.parametrize("name, value", [("runid", "a/b"), ("runid", ""), ("runid", "x" * 201), ("calltype", "fromCallback")])
def test_headers_that_are_refused(run, name, value):
    item = run.item("")
    item["headers"][f"upstash-workflow-{name}"] = value
    assert run.send(item).status == 400


def test_a_run_is_not_sent_to_a_group(run):
    reply = run.send({**run.item(""), "destination": "some-group"})
    assert reply.status == 400


# ---- failures ----

def test_a_step_out_of_retries_fails_its_run_and_tells_it(qstash, receiver, topic):
    answer = Answer(500, headers=(("Retry-After", "0"), ("Upstash-Error-Step-Name", "s1")), body=b'{"error":"Error","message":"no"}')
    run = failing(qstash, receiver, topic, answer, upstash_retries="1")
    run.step(step(1, 1), upstash_delay="1h")
    message_id, = run.step(step(2, 2))
    arrivals(receiver, run.path, 3)
    told, = arrivals(receiver, f"/{topic}/failed", 1)
    document = json.loads(told.body)
    assert (document["status"], document["url"], document["retried"], document["maxRetries"]) == (500, run.url, 1, 1)
    assert base64.b64decode(document["body"]) == answer.body and base64.b64decode(document["sourceBody"]) == b"payload"
    assert (document["workflowRunId"], document["workflowUrl"]) == (run.id, run.url)
    assert str(document["workflowCreatedAt"]) == receiver.of(run.path)[0].headers["upstash-workflow-createdat"]
    assert document["sourceMessageId"] == message_id and document["dlqId"] == message_id.replace("msg_", "dlq_")
    headers = told.headers
    assert (headers["upstash-workflow-runid"], headers["shop"], headers["upstash-workflow-is-failure"]) == (run.id, "one", "true")
    assert not run.is_active()
    assert qstash.call("GET", f"dlq/{document['dlqId']}").status == 200
    listed = qstash.get("/jobs?state=delayed&topic=qstash~messages").expect(200)["jobs"]
    assert not [job for job in listed if job.get("workflow") == run.id]
    again = Run.send(run, run.item("again", init="true")).expect(200)
    assert "deduplicated" not in again[0]


def test_an_error_that_is_final_fails_the_run_at_once(qstash, receiver, topic):
    run = failing(qstash, receiver, topic, Answer(489, headers=(("Upstash-NonRetryable-Error", "true"),), body=b"final"))
    run.step(step(1, 1))
    told, = arrivals(receiver, f"/{topic}/failed", 1)
    assert json.loads(told.body)["status"] == 489 and receiver.count(run.path) == 2 and not run.is_active()


def test_a_trigger_of_something_else_fails_the_run_at_once(qstash, receiver, topic):
    receiver.script(f"/{topic}", 200)
    run = Run(qstash, receiver, f"/{topic}", upstash_failure_callback=receiver.url(f"/{topic}/failed"))
    told, = arrivals(receiver, f"/{topic}/failed", 1)
    document = json.loads(told.body)
    assert base64.b64decode(document["body"]).startswith(b"detected a non-workflow destination for trigger/invoke.")
    assert document["status"] == 200 and receiver.count(run.path) == 1 and not run.is_active()
    dead = qstash.get("/jobs?state=dead&topic=qstash~messages&reason=not_a_workflow").expect(200)["jobs"]
    assert [job["workflow"] for job in dead if job.get("workflow") == run.id] == [run.id]


def test_an_answer_that_is_out_of_retries_fails_the_run(qstash, receiver, topic):
    run = failing(qstash, receiver, topic, Answer(500), upstash_retries="0")
    call(run, receiver.url(f"/{topic}/third"))
    told, = arrivals(receiver, f"/{topic}/failed", 1)
    assert base64.b64decode(json.loads(told.body)["sourceBody"]) == b"payload" and not run.is_active()
    assert json.loads(receiver.of(run.path)[1].body)["status"] == 200


def test_a_failed_failure_callback_changes_nothing(qstash, receiver, topic):
    run = failing(qstash, receiver, topic, Answer(500), upstash_retries="0")
    receiver.script(f"/{topic}/failed", Answer(500, headers=(("Retry-After", "0"),)))
    run.step(step(1, 1))
    arrivals(receiver, f"/{topic}/failed", 2)
    assert not run.is_active()


# ---- waits ----

def wait(run, event, timeout="1h", **step_more):
    headers = {"Upstash-Workflow-Init": ["false"], "Upstash-Workflow-RunId": [run.id], "Upstash-Workflow-Url": [run.url], "Upstash-Forward-Own": ["2"]}
    body = {"url": run.url, "timeout": timeout, "timeoutUrl": run.url, "timeoutHeaders": headers,
            "step": {"stepId": step_more.get("stepId") or next(run.steps), "stepType": "Wait", "stepName": "for it", "concurrent": 1, **step_more}}
    return run.qstash.call("POST", f"wait/{event}", body, Upstash_Workflow_RunId=run.id, Upstash_Workflow_CallType="step")


def woken(arrival):
    """Returns the step that says how a wait ended: the last step in the delivery."""
    return json.loads(decoded(arrival)[-1])


def test_a_wait_ends_with_an_event(qstash, run, receiver, topic):
    arrivals(receiver, run.path, 1)
    assert wait(run, topic).status == 200
    waiter, = qstash.call("GET", f"waiters/{topic}").expect(200)
    assert waiter["url"] == waiter["timeoutUrl"] == run.url and waiter["headers"]["Upstash-Workflow-RunId"] == [run.id]
    told, = qstash.call("POST", f"notify/{topic}", b'{"news":"\xc3\xbc"}').expect(201)
    assert (told["waiter"], told["error"], told["workflowRunId"]) == (waiter, None, run.id)
    _, arrival = arrivals(receiver, run.path, 2)
    ended = woken(arrival)
    assert base64.b64decode(ended.pop("out")) == '{"news":"ü"}'.encode()
    assert ended == {"stepId": 1, "stepType": "Wait", "stepName": "for it", "concurrent": 1, "waitEventId": topic, "timeout": "1h", "waitTimeout": False}
    assert arrival.job_id == told["messageId"] and arrival.headers["own"] == "2" and len(decoded(arrival)) == 2
    assert told["workflowCreatedAt"] == int(arrival.headers["upstash-workflow-createdat"])
    assert qstash.call("GET", f"waiters/{topic}").expect(200) == []
    assert qstash.call("POST", f"notify/{topic}", b"late").expect(201) == []


def test_a_wait_ends_at_its_deadline(qstash, run, receiver, topic):
    arrivals(receiver, run.path, 1)
    assert wait(run, topic, timeout="1s").status == 200
    ended = woken(arrivals(receiver, run.path, 2)[1])
    assert ended["waitTimeout"] is True and "out" not in ended and ended["timeout"] == "1s"
    assert qstash.call("GET", f"waiters/{topic}").expect(200) == []
    assert qstash.call("POST", f"notify/{topic}", b"late").expect(201) == []


def test_a_wait_is_in_the_list_when_it_has_ended(qstash, run, receiver, topic):
    arrivals(receiver, run.path, 1)
    assert wait(run, topic).status == 200
    other = step(0, "of another branch")
    run.step(other)
    assert decoded(arrivals(receiver, run.path, 2)[1]) == ["payload", other]
    qstash.call("POST", f"notify/{topic}", b"news").expect(201)
    last = arrivals(receiver, run.path, 3)[2]
    assert decoded(last)[:2] == ["payload", other] and woken(last)["waitTimeout"] is False


def test_an_event_ends_the_waits_of_all_runs(qstash, receiver, topic):
    receiver.script(f"/{topic}", TAKEN)
    runs = [Run(qstash, receiver, f"/{topic}") for _ in range(3)]
    arrivals(receiver, f"/{topic}", 3)
    assert [wait(run, topic).status for run in runs] == [200] * 3
    told = qstash.call("POST", f"notify/{topic}", b"").expect(201)
    assert sorted(one["workflowRunId"] for one in told) == sorted(run.id for run in runs)
    assert [woken(arrival)["out"] for arrival in arrivals(receiver, f"/{topic}", 6)[3:]] == [""] * 3


def test_events_of_one_run_are_kept_for_its_next_waits(qstash, run, receiver, topic):
    arrivals(receiver, run.path, 1)
    for data in (b"", b"one", b"two"):
        assert qstash.call("POST", f"notify/{run.id}/{topic}", data).expect(201) == []
    for number, data in enumerate((b"", b"one", b"two")):
        assert wait(run, topic).status == 200
        assert base64.b64decode(woken(arrivals(receiver, run.path, number + 2)[-1])["out"]) == data
    assert wait(run, topic).status == 200
    told, = qstash.call("POST", f"notify/{run.id}/{topic}", b"three").expect(201)
    assert told["workflowRunId"] == run.id
    assert base64.b64decode(woken(arrivals(receiver, run.path, 5)[-1])["out"]) == b"three"


def test_an_event_of_one_run_leaves_the_others_waiting(qstash, receiver, topic):
    receiver.script(f"/{topic}", TAKEN)
    one, other = (Run(qstash, receiver, f"/{topic}") for _ in range(2))
    arrivals(receiver, f"/{topic}", 2)
    assert wait(one, topic).status == wait(other, topic).status == 200
    told, = qstash.call("POST", f"notify/{other.id}/{topic}", b"x").expect(201)
    assert told["workflowRunId"] == other.id and len(qstash.call("GET", f"waiters/{topic}").expect(200)) == 1


def test_the_end_of_a_run_ends_its_waits(qstash, run, receiver, topic):
    arrivals(receiver, run.path, 1)
    assert wait(run, topic).status == 200
    assert qstash.call("POST", f"notify/{run.id}/other", b"kept").expect(201) == []
    assert run.end().status == 200
    assert qstash.call("GET", f"waiters/{topic}").expect(200) == []
    assert qstash.call("POST", f"notify/{topic}", b"x").expect(201) == []
    assert qstash.call("POST", f"notify/{run.id}/{topic}", b"x").expect(201) == []  # no run waits, so the event is lost
    assert wait(run, topic).status == 400


def test_the_id_of_a_run_is_a_part_of_a_path(qstash, receiver, topic):
    item = {"destination": receiver.url(f"/{topic}"), "body": "", "headers": {"upstash-workflow-init": "true", "upstash-workflow-url": receiver.url(f"/{topic}")}}
    for run_id in ".", "..":
        answer = qstash.call("POST", "batch", [{**item, "headers": {**item["headers"], "upstash-workflow-runid": run_id}}])
        assert answer.status == 400 or "error" in answer.json[0]
    assert receiver.count(f"/{topic}") == 0


def test_waits_that_are_refused(qstash, run):
    good = {"url": run.url, "timeout": "1h", "step": {"stepId": 1}}
    for bad in ({"url": 1}, {"step": []}, {"timeout": "soon"}, {"url": ""}, {"step": None}, {"url": "nowhere"}, {"timeoutUrl": "ftp://a.test/"}):
        assert qstash.call("POST", "wait/e", {**good, **bad}, Upstash_Workflow_RunId=run.id).status == 400
    assert qstash.call("POST", "wait/e", good).status == 400
    assert qstash.call("POST", "wait/e", good, Upstash_Workflow_RunId="unknown").status == 400
    assert qstash.call("POST", "wait/e", b"{", Upstash_Workflow_RunId=run.id).status == 400
    assert qstash.call("GET", "waiters/e").expect(200) == []


# ---- webhooks ----

def create_webhook(run, event):
    """Sends the step that the client's createWebhook sends."""
    out = {"webhookUrl": f"{run.qstash.url}/v2/workflows/hooks/somebody/{run.id}/{event}", "eventId": event}
    run.step(step(next(run.steps), out, stepType="CreateWebhook"))


def call_webhook(server, run, event, body=b"x"):
    return server.request("POST", f"/v2/workflows/hooks/somebody/{run.id}/{event}", body, check=False)


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE"])
def test_a_request_to_a_webhook_ends_the_wait(qstash, run, receiver, topic, method):
    arrivals(receiver, run.path, 1)
    assert wait(run, topic, stepType="WaitForWebhook").status == 200
    assert [one["url"] for one in qstash.call("GET", f"waiters/{topic}").expect(200)] == [run.url]
    address = f"/v2/workflows/hooks/somebody/{run.id}/{topic}?a=%20b&a=c"
    reply = qstash.request(method, address, None if method == "GET" else b"\x00\xff", {"X-Own": "1"}, check=False)
    assert reply.status == 200 and reply.body == b""  # the caller has no token, so it learns nothing about the run
    data = json.loads(base64.b64decode(woken(arrivals(receiver, run.path, 2)[1])["out"]))
    assert (data["method"], data["proto"], data["url"]) == (method, "http", address)
    assert data["host"] == f"{qstash.host}:{qstash.port}" and data["header"]["X-Own"] == ["1"]
    assert base64.b64decode(data["body"]) == (b"" if method == "GET" else b"\x00\xff")


def test_a_webhook_that_is_called_early_ends_the_next_wait_for_it(qstash, run, receiver, topic):
    arrivals(receiver, run.path, 1)
    create_webhook(run, topic)
    assert call_webhook(qstash, run, topic, b"early").status == 200
    assert wait(run, topic, stepType="WaitForWebhook").status == 200
    data = json.loads(base64.b64decode(woken(arrivals(receiver, run.path, 3)[2])["out"]))
    assert base64.b64decode(data["body"]) == b"early"


def test_a_request_without_a_token_ends_only_waits_for_webhooks(receiver, topic):
    """A client can guess the names of other events, and run ids that another client has chosen. So other waits end
    only by a request with a token."""
    tokens = TokenFile()
    server = QStash("--tokens", str(tokens.path), token=tokens.add("root"))
    try:
        receiver.script(f"/{topic}", TAKEN)
        run = Run(server, receiver, f"/{topic}")
        arrivals(receiver, run.path, 1)
        stranger = server.with_token(None)
        assert call_webhook(stranger, run, "approved").status == 404
        assert wait(run, "approved").status == 200
        assert call_webhook(stranger, run, "approved").status == 404 and len(server.call("GET", "waiters/approved").expect(200)) == 1
        assert stranger.request("POST", f"/v2/notify/{run.id}/approved", b"x", check=False).status == 401
        assert len(server.call("POST", f"notify/{run.id}/approved", b"by the owner").expect(201)) == 1
        assert base64.b64decode(woken(arrivals(receiver, run.path, 2)[1])["out"]) == b"by the owner"
    finally:
        server.stop()


def test_a_webhook_of_an_earlier_version_ends_its_wait(redis, receiver, topic):
    """Versions before 0.3 gave waits for webhooks the name of a usual event."""
    behind = redis()
    server = QStash(redis=behind)
    try:
        receiver.script(f"/{topic}", TAKEN)
        run = Run(server, receiver, f"/{topic}")
        arrivals(receiver, run.path, 1)
        assert wait(run, "old", stepType="WaitForWebhook").status == 200
        def ask(*words):
            return behind.command(*words).split(b"\r\n")[2::2]
        for key in ask("KEYS", "*:waiters:*"):
            assert behind.command("RENAME", key, key.replace(b"webhook\n", b"")) == b"+OK\r\n"
        job, text = ask("HGETALL", "duepost:{0}:waits")
        behind.command("HSET", "duepost:{0}:waits", job, text.replace(b"11 ", b"3 ", 1).replace(b"webhook\n", b"", 1))
        assert call_webhook(server, run, "old").status == 200
        assert woken(arrivals(receiver, run.path, 2)[1])["waitTimeout"] is False
        # these versions did not note the webhooks of a run, so a request to any webhook of such a run is taken
        assert call_webhook(server, run, "unknown").status == 404
        place = ask("ZRANGE", "duepost:{0}:workflow_times", "0", "-1")[0].decode()
        settings, = ask("HMGET", f"duepost:{{0}}:workflow:{place}", "settings")
        behind.command("HSET", f"duepost:{{0}}:workflow:{place}", "settings", settings.replace(b'"knowsHooks":true,', b""))
        assert call_webhook(server, run, "unknown").status == 200
    finally:
        server.stop()


def test_a_continued_run_has_its_webhooks(qstash, receiver, topic):
    run = failing(qstash, receiver, topic, TAKEN)
    create_webhook(run, topic)
    arrivals(receiver, run.path, 2)
    receiver.script(run.path, Answer(489, headers=(("Upstash-NonRetryable-Error", "true"),)), TAKEN)
    run.step(step(2, 2))
    until(lambda: not run.is_active(), 10, "the run has failed")
    assert call_webhook(qstash, run, topic).status == 404
    letter, = qstash.call("GET", f"workflows/dlq?workflowRunId={run.id}").expect(200)["messages"]
    again = qstash.call("POST", f"workflows/dlq/resume/{letter['dlqId']}").expect(200)
    run.id = again["workflowRunId"]
    assert call_webhook(qstash, run, topic).status == 200


def test_requests_to_webhooks_take_only_their_share_of_a_run(qstash, run, receiver, topic):
    arrivals(receiver, run.path, 1)
    create_webhook(run, topic)
    statuses = [call_webhook(qstash, run, topic, b"x" * 300_000).status for _ in range(8)]
    assert sorted(set(statuses)) == [200, 507] and 3 <= statuses.count(200) <= 5
    for number in range(2):
        assert qstash.call("POST", f"notify/{run.id}/e{number}", b"x" * 1_000_000).expect(201) == []


def test_requests_to_webhooks_take_only_their_share_of_the_memory(receiver, topic):
    server = QStash("--max-bodies", "8MiB", "--reactors", "1")
    links = []
    try:
        receiver.script(f"/{topic}", TAKEN)
        run = Run(server, receiver, f"/{topic}")
        create_webhook(run, topic)
        head = (f"POST /v2/workflows/hooks/u/{run.id}/{topic} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900000\r\n\r\n").encode()
        for _ in range(20):
            links.append(socket.create_connection((server.host, server.port), timeout=15 * SLOW))
            links[-1].sendall(head + b"x" * 899_999)
        for _ in range(3):
            server.publish(receiver.url("/other"), b"x" * 1_000_000, Upstash_Delay="1h")
        statuses = []
        for link in links:
            link.sendall(b"x")
            statuses.append(int(link.recv(100).split(b" ")[1]))
        assert statuses.count(200) <= 1 and statuses.count(503) >= 19
    finally:
        for link in links:
            link.close()
        server.stop()


def test_the_body_for_an_unknown_webhook_is_not_read(qstash, run, topic):
    for run_id in run.id, "wfr_unknown":
        with socket.create_connection((qstash.host, qstash.port), timeout=15 * SLOW) as link:
            link.sendall(f"POST /v2/workflows/hooks/u/{run_id}/{topic} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n".encode())
            assert link.recv(1000).startswith(b"HTTP/1.1 404 ")


def test_the_body_for_a_webhook_may_be_late_or_chunked(qstash, run, receiver, topic):
    arrivals(receiver, run.path, 1)
    create_webhook(run, topic)
    with socket.create_connection((qstash.host, qstash.port), timeout=15 * SLOW) as link:
        head = f"POST /v2/workflows/hooks/u/{run.id}/{topic} HTTP/1.1\r\nHost: localhost\r\n"
        link.sendall(f"{head}Content-Length: 3\r\nExpect: 100-continue\r\n\r\n".encode())
        assert link.recv(1000) == b"HTTP/1.1 100 Continue\r\n\r\n"
        link.sendall(b"abc")
        assert link.recv(1000).startswith(b"HTTP/1.1 200 ")
        link.sendall(f"{head}Content-Length: 0\r\n\r\n".encode())
        assert link.recv(1000).startswith(b"HTTP/1.1 200 ")
        link.sendall(f"{head}Transfer-Encoding: chunked\r\n\r\n2\r\nde\r\n0\r\n\r\n".encode())
        assert link.recv(1000).startswith(b"HTTP/1.1 200 ")
    bodies = []
    for number in range(3):
        assert wait(run, topic, stepType="WaitForWebhook").status == 200
        data = json.loads(base64.b64decode(woken(arrivals(receiver, run.path, 3 + number)[-1])["out"]))
        bodies.append(base64.b64decode(data["body"]))
    assert bodies == [b"abc", b"", b"de"]


def test_webhooks_without_tokens_are_not_called_by_web_pages(qstash, run, topic):
    create_webhook(run, topic)
    path = f"/v2/workflows/hooks/somebody/{run.id}/{topic}"
    for headers in {"Origin": "https://evil.example"}, {"Host": "evil.example"}:
        assert qstash.request("POST", path, b"x", headers, check=False).status == 403
        assert qstash.request("GET", path, None, headers, check=False).status == 403


def test_webhooks_need_a_run_and_an_event(qstash):
    for path in "hooks", "hooks/somebody", "hooks/somebody/wfr_1":
        assert qstash.call("POST", f"workflows/{path}", b"").status == 404
    assert qstash.call("POST", "workflows/hooks/somebody/wfr_unknown/event", b"").status == 404
    assert qstash.call("POST", f"workflows/hooks/somebody/{'x' * 600}/event", b"").status == 400


def test_answers_to_events_are_complete_during_other_requests(qstash, run, receiver, topic):
    """duepost puts each answer together from the replies to several calls to Redis."""
    arrivals(receiver, run.path, 1)
    for number in range(20):
        assert wait(run, f"{topic}-{number}").status == 200
    with ThreadPoolExecutor(8) as pool:
        others = [pool.submit(lambda: qstash.call("GET", "queues").expect(200)) for _ in range(200)]
        told = [pool.submit(lambda event=number: qstash.call("POST", f"notify/{topic}-{event}", b"x").expect(201)) for number in range(20)]
        assert all(isinstance(one.result(), list) for one in others)
        assert [[one["workflowRunId"] for one in each.result()] for each in told] == [[run.id]] * 20


# ---- many waits ----

KEYS = "duepost:{0}:"


@pytest.fixture
def behind(redis):
    return redis()


@pytest.fixture
def own(behind):
    """A server whose Redis the test can change."""
    server = QStash(redis=behind)
    yield server
    server.stop()


def wait_often(run, event, count):
    """Lets a run wait for an event with many jobs, which are stored in the order of these waits."""
    for _ in range(count):
        wait(run, event).expect(200)


def waiting_jobs(behind, event):
    return behind.command("ZRANGE", f"{KEYS}waiters:qstash/{event}", "0", "-1").split(b"\r\n")[2::2]


@pytest.mark.parametrize("damage", [("HSET", b"0 1 {"), ("HSET", b"x"), ("HDEL",)])
def test_waits_that_cannot_be_read_hide_no_later_ones(own, behind, receiver, topic, damage):
    receiver.script(f"/{topic}", TAKEN)
    first, last = (Run(own, receiver, f"/{topic}") for _ in range(2))
    wait_often(first, topic, 101)
    for job in waiting_jobs(behind, topic):
        assert behind.command(damage[0], f"{KEYS}waits", job, *damage[1:])[:1] == b":"
    wait(last, topic).expect(200)
    assert [one["headers"]["Upstash-Workflow-RunId"] for one in own.call("GET", f"waiters/{topic}").expect(200)] == [[last.id]]
    told, = own.call("POST", f"notify/{topic}", b"news").expect(201)
    assert told["workflowRunId"] == last.id and own.call("GET", f"waiters/{topic}").expect(200) == []
    assert own.call("POST", f"notify/{first.id}/{topic}", b"news").status == 503
    wait(first, topic).expect(200)
    assert [one["workflowRunId"] for one in own.call("POST", f"notify/{first.id}/{topic}", b"news").expect(201)] == [first.id]


def test_an_event_that_has_ended_a_page_of_waits_is_not_kept(own, receiver, topic):
    receiver.script(f"/{topic}", TAKEN)
    run = Run(own, receiver, f"/{topic}")
    wait_often(run, topic, 100)
    assert len(own.call("POST", f"notify/{run.id}/{topic}", b"news").expect(201)) == 100
    wait(run, topic).expect(200)
    assert len(own.call("GET", f"waiters/{topic}").expect(200)) == 1


def test_waits_are_shown_and_notified_over_several_pages(own, receiver, topic):
    receiver.script(f"/{topic}", TAKEN)
    run, other = (Run(own, receiver, f"/{topic}") for _ in range(2))
    wait_often(run, topic, 230)
    wait(other, topic).expect(200)
    assert len(own.call("GET", f"waiters/{topic}").expect(200)) == 100
    told = own.call("POST", f"notify/{topic}", b"news").expect(201)
    assert sorted(one["workflowRunId"] for one in told) == sorted([run.id] * 230 + [other.id])
    assert own.call("GET", f"waiters/{topic}").expect(200) == []


def test_the_answer_of_very_long_waits_is_cut(own, receiver, topic):
    """Each waiter has its headers twice in the answer."""
    receiver.script(f"/{topic}", TAKEN)
    run = Run(own, receiver, f"/{topic}")
    body = {"url": run.url, "timeoutHeaders": {"Unused": ["x" * 31_000]}, "step": {}}
    for number in range(1, 281):
        body["step"]["stepId"] = number
        own.call("POST", f"wait/{topic}", body, Upstash_Workflow_RunId=run.id).expect(200)
    assert 200 < len(own.call("POST", f"notify/{topic}", b"").expect(201)) < 280
    assert own.call("GET", f"waiters/{topic}").expect(200) == []


@pytest.mark.parametrize("damage", [("HSET", b"x"), ("HDEL",)])
def test_a_run_whose_wait_cannot_be_read_fails_at_the_deadline(own, behind, receiver, topic, damage):
    receiver.script(f"/{topic}", TAKEN)
    run, other = (Run(own, receiver, f"/{topic}") for _ in range(2))
    arrivals(receiver, run.path, 2)
    wait(run, topic, timeout="2s").expect(200)
    job, = waiting_jobs(behind, topic)
    assert behind.command(damage[0], f"{KEYS}waits", job, *damage[1:])[:1] == b":"
    wait(other, topic, timeout="2s").expect(200)
    assert woken(arrivals(receiver, run.path, 3)[2])["waitTimeout"] is True
    until(lambda: not run.is_active(), 15, "the run has failed")
    assert own.call("GET", f"workflows/logs?workflowRunId={run.id}").expect(200)["runs"][0]["workflowState"] == "RUN_FAILED"
    assert other.is_active() and f"job={job.decode()}" in own.log()


# ---- the url of the run ----

@pytest.mark.parametrize("url", ["nowhere", "ftp://a.test/", "http://", "https://a.test/\r\nEvil: 1", "https://a.test/ü"])
def test_the_url_of_a_run_must_be_a_url(qstash, receiver, topic, url):
    """Each delivery has the run's url in a header."""
    receiver.script(f"/{topic}", TAKEN)
    run = Run(qstash, receiver, f"/{topic}")
    arrivals(receiver, run.path, 1)

    def refused(reply, name="Upstash-Workflow-Url"):
        assert reply.status == 400
        assert reply.json["error"] == f'invalid {name}: "{url}" must be a url that begins with http:// or https://'

    def items(init, run_id, **headers):
        item = run.item("body", init)
        item["headers"].update({"upstash-workflow-runid": run_id, **headers})
        return run.send(item)

    refused(items("true", f"{run.id}-other", **{"upstash-workflow-url": url}))
    refused(items("false", run.id, **{"upstash-workflow-url": url}))
    refused(items("true", f"{run.id}-other", **{"upstash-failure-callback": run.url, "upstash-failure-callback-workflow-url": url}),
            "Upstash-Failure-Callback-Workflow-Url")
    refused(items("false", run.id, **{"upstash-workflow-calltype": "toCallback", "upstash-callback": run.url, "upstash-callback-workflow-url": url}),
            "Upstash-Callback-Workflow-Url")
    assert qstash.call("GET", f"workflows/runs/{run.id}-other").status == 404
    assert len(qstash.call("GET", f"workflows/runs/{run.id}").expect(200)) == 1
    assert receiver.count(run.path) == 1


def test_a_run_without_a_url_has_the_url_of_its_first_message(qstash, receiver, topic):
    receiver.script(f"/{topic}", TAKEN)
    run = Run(qstash, receiver, f"/{topic}", upstash_workflow_url="")
    assert arrivals(receiver, run.path, 1)[0].headers["upstash-workflow-url"] == run.url


def test_a_call_may_have_a_step_name_that_no_header_can_have(run, receiver):
    """A client takes an answer of 400 for the end of its run. So this call must be accepted."""
    arrivals(receiver, run.path, 1)
    call(run, receiver.url(f"{run.path}/third"), **{"upstash-callback-forward-upstash-workflow-stepname": "größe"})
    back = arrivals(receiver, run.path, 2)[1].headers
    assert back["upstash-workflow-callback"] == "true" and "upstash-workflow-stepname" not in back


# ---- many messages are cancelled ----

@pytest.mark.parametrize("how", ["filter", "ids", "jobs"])
def test_a_cancel_counts_all_messages_of_a_run(own, receiver, topic, how):
    """The cancel of the first message cancels the run with all its messages. A call to Redis cancels at most 256
    messages, and a page at most 500."""
    receiver.script(f"/{topic}", TAKEN)
    runs = [Run(own, receiver, f"/{topic}", upstash_label="many") for _ in range(2)]
    arrivals(receiver, f"/{topic}", 2)
    ids = []
    for number in range(0, 350, 70):
        for run in runs:
            ids += run.step(*[step(number + one, 1) for one in range(70)], upstash_delay="1h")
    if how == "filter":
        assert own.call("DELETE", "messages?label=many&count=1000").expect(200)["cancelled"] == 700
    elif how == "ids":
        assert own.call("DELETE", "messages", {"messageIds": ids + ids[:3] + ["msg_unknown"]}).expect(200)["cancelled"] == 700
    else:
        reply = own.request("DELETE", "/jobs?state=delayed&label=many&limit=500").expect(200)
        assert (reply["matched"], reply["done"], reply["skipped"]) == (500, 500, 0)
    assert not any(run.is_active() for run in runs)
    assert own.call("DELETE", "messages?label=many").expect(200) == {"cancelled": 0}


# ---- the size of all kept events ----

def test_the_size_of_all_events_is_zero_when_no_run_is_active(own, behind, receiver, topic):
    """A process of a version that does not know this size does not subtract the events of a run that ends. So the
    size can be too large. When no run is active, it must be 0."""
    def size():
        return int(behind.command("HGET", f"{KEYS}numbers", "event_bytes").split(b"\r\n")[1:2][0] or 0)
    receiver.script(f"/{topic}", TAKEN)
    one, other = (Run(own, receiver, f"/{topic}") for _ in range(2))
    arrivals(receiver, f"/{topic}", 2)
    for run in (one, other):
        own.call("POST", f"notify/{run.id}/{topic}", b"kept").expect(201)
    each = size() // 2
    assert behind.command("HINCRBY", f"{KEYS}numbers", "event_bytes", "268435456")[:1] == b":"
    assert own.call("POST", f"notify/{one.id}/{topic}", b"kept").status == 507
    assert one.end().status == 200 and size() == each + 268435456
    assert other.end().status == 200
    assert behind.command("HEXISTS", f"{KEYS}numbers", "event_bytes") == b":0\r\n"


def test_the_mark_of_a_run_without_a_client_is_not_forwarded(qstash, receiver, topic):
    """A client that passes the headers of its request on would begin the run anew at each delivery, for ever."""
    path = f"/{topic}"
    receiver.script(path, TAKEN)
    run = Run(qstash, receiver, path, upstash_forward_upstash_workflow_unknown_sdk="true", upstash_forward_own="1")
    arrivals(receiver, path, 1)
    run.step(step(1, 1), upstash_forward_Upstash_Workflow_Unknown_SDK="true")
    qstash.publish(receiver.url(path), b"x", Upstash_Forward_Upstash_Workflow_Unknown_Sdk="true",
                   Upstash_Callback=receiver.url(path), Upstash_Callback_Forward_Upstash_Workflow_Unknown_Sdk="true")
    found = arrivals(receiver, path, 4)
    assert not any("upstash-workflow-unknown-sdk" in arrival.headers for arrival in found)
    assert found[0].headers["own"] == "1" and run.end().status == 200


def test_a_run_cannot_be_begun_anew_for_ever(qstash, receiver, topic):
    path = f"/{topic}"
    receiver.script(path, TAKEN)
    run = Run(qstash, receiver, path, upstash_delay="1h")
    anew = run.item("anew", init="true", upstash_workflow_trigger_by_sdk="true", upstash_delay="1h")
    for _ in range(100):
        assert "deduplicated" not in run.send(anew).expect(200)[0]
    refused = run.send(anew)
    assert refused.status == 412 and "100 times" in refused.json["error"]
    assert run.is_active() and run.end().status == 200
