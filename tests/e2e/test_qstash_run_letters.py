"""Dead letters of durable runs over raw HTTP: lists, filters, deletion, and runs that are continued."""

import base64
import contextlib
import http.client
import json
import re
from concurrent.futures import ThreadPoolExecutor

import pytest

import scratch
from patience import until
from qstash import QStash, arrivals
from receiver import Answer
from redis_server import RedisServer
from runs import TAKEN, Run, call, decoded, failing, step


@pytest.fixture(scope="module")
def qstash():
    server = QStash()
    yield server
    server.stop()


def letter_of(qstash, run, source="workflows/dlq?"):
    def find():
        return qstash.call("GET", f"{source}workflowRunId={run.id}").expect(200)["messages"]
    return until(find, 15, f"the dead letter of {run.id}")[0]


@pytest.fixture
def failed(qstash, receiver, topic):
    """Creates a run that has failed in its second step. If the run is continued, its attempts succeed."""
    run = failing(qstash, receiver, topic, TAKEN, upstash_retries="0", upstash_label="a,b", upstash_forward_own="7")
    run.step(step(1, "one"))
    arrivals(receiver, run.path, 2)
    receiver.script(run.path, Answer(503, body=b"no", headers=(("Own", "1"),)), TAKEN)
    run.last, = run.step(step(2, "two"))
    arrivals(receiver, f"{run.path}/failed", 1)
    return run


def again(qstash, receiver, run, action, count, **headers):
    """Continues the run by an action on its dead letter. Returns the answer, and the request that the receiver
    got."""
    letter = letter_of(qstash, run)
    one = qstash.call("POST", f"workflows/dlq/{action}/{letter['dlqId']}", b"", **headers).expect(200)
    return one, arrivals(receiver, run.path, count)[-1]


# ---- lists ----

@pytest.mark.parametrize("source", ["workflows/dlq?", "dlq?source=workflow&"])
def test_a_failed_run_has_a_dead_letter(qstash, failed, source):
    letter = letter_of(qstash, failed, source)
    assert letter["dlqId"] == failed.last.replace("msg_", "dlq_") and letter["messageId"] == failed.last
    assert (letter["workflowRunId"], letter["workflowUrl"], letter["url"]) == (failed.id, failed.url, failed.url)
    assert (letter["responseStatus"], letter["responseBody"], letter["maxRetries"], letter["labels"]) == (503, "no", 0, ["a", "b"])
    assert letter["responseHeader"]["Content-Length"] == ["2"]
    assert letter["header"]["Own"] == ["7"] and letter["failureCallback"] == f"{failed.url}/failed"
    assert isinstance(letter["workflowCreatedAt"], int) and letter["workflowCreatedAt"] <= letter["createdAt"]
    info = until(lambda: state_of(qstash, letter["dlqId"], "CALLBACK_SUCCESS"), 15, "the callback is delivered")
    assert qstash.call("GET", f"workflows/dlq/{letter['dlqId']}").expect(200) == {**letter, "failureCallbackInfo": info}


@pytest.mark.parametrize("status", [204, 201])
def test_the_status_of_the_failure_callback_is_its_own(receiver, topic, status):
    server = QStash("--history", f"sqlite:{scratch.file('history.sqlite')}")
    run = failing(server, receiver, topic, Answer(503), upstash_retries="0", upstash_label=topic)
    receiver.script(f"/{topic}/failed", Answer(500, headers=(("Retry-After", "0"),)), Answer(status))
    run.step(step(1, 1))
    letter = letter_of(server, run)
    info = until(lambda: state_of(server, letter["dlqId"], "CALLBACK_SUCCESS"), 15, "the callback is delivered")
    until(lambda: state_of(server, letter["dlqId"], "CALLBACK_SUCCESS").get("responseStatus") == status, 15, lambda: f"{status}, not {info}")
    server.stop()


def state_of(qstash, letter, wanted):
    info = qstash.call("GET", f"workflows/dlq/{letter}").expect(200)["failureCallbackInfo"]
    return info if info["state"] == wanted else None


def test_messages_of_runs_are_not_among_the_other_dead_letters(qstash, failed, receiver, topic):
    receiver.script(f"/{topic}/plain", 500)
    plain = qstash.publish(receiver.url(f"/{topic}/plain"), b"x", Upstash_Retries="0")
    qstash.await_end(plain)
    dead = until(lambda: [one["messageId"] for one in qstash.call("GET", "dlq").expect(200)["messages"]], 15, "a dead letter")
    assert plain in dead and failed.last not in dead
    listed = [one["messageId"] for one in qstash.call("GET", "workflows/dlq?count=1000").expect(200)["messages"]]
    assert failed.last in listed and plain not in listed
    letter = plain.replace("msg_", "dlq_")
    assert qstash.call("GET", f"workflows/dlq/{letter}").status == qstash.call("DELETE", f"workflows/dlq/{letter}").status == 404
    assert qstash.call("POST", f"workflows/dlq/resume/{letter}", b"").status == 404
    assert qstash.call("POST", f"workflows/dlq/restart?dlqIds={letter}", b"").expect(200)["workflowRuns"] == []
    assert qstash.call("POST", f"dlq/retry/{failed.last.replace('msg_', 'dlq_')}", b"").status == 404
    assert letter_of(qstash, failed)["messageId"] == failed.last


def test_filters_of_lists(qstash, failed, receiver, topic):
    other = failing(qstash, receiver, f"{topic}-other", Answer(500), upstash_retries="0", upstash_label=topic, upstash_flow_control_key=topic,
                    upstash_flow_control_value="parallelism=9")
    other.step(step(1, 1))
    letter = letter_of(qstash, other)
    made = letter["workflowCreatedAt"]

    def found(query):
        listed = qstash.call("GET", f"workflows/dlq?{query}&count=1000").expect(200)["messages"]
        return [name for name, run in (("failed", failed), ("other", other)) if run.id in [one["workflowRunId"] for one in listed]]
    for query in (f"workflowUrl={other.url}", f"label={topic}", f"flowControlKey={topic}", "responseStatus=500",
                  f"workflowRunId={other.id}&workflowCreatedAt={made}", f"dlqIds={letter['dlqId']}", f"messageId={letter['messageId']}"):
        assert found(query) == ["other"], query
    for query in ("label=none", f"workflowRunId={other.id}&workflowCreatedAt={made - 1}", "failureFunctionState=CALLBACK_CANCELED", "toDate=1",
                  "callerIp=10.9.8.7", f"workflowUrl={other.url}x"):
        assert found(query) == [], query
    assert found("callerIp=127.0.0.1") == ["failed", "other"]
    until(lambda: found("failureFunctionState=CALLBACK_SUCCESS") == ["failed", "other"], 15, "both callbacks are delivered")
    for query in ("unknown=1", "host=127.0.0.1", "workflowUrlStartingWith=x", "count=x"):
        assert qstash.call("GET", f"workflows/dlq?{query}").status == 400
    assert qstash.call("GET", f"dlq?workflowRunId={other.id}").status == qstash.call("GET", "dlq?source=other").status == 400
    assert qstash.call("DELETE", "workflows/dlq?url=x").status == qstash.call("POST", "workflows/dlq/resume?state=x", b"").status == 400


def test_lists_have_pages(qstash, receiver, topic):
    runs = [failing(qstash, receiver, f"{topic}-{number}", Answer(500), upstash_retries="0", upstash_label=topic) for number in range(5)]
    for run in runs:
        run.step(step(1, 1))
        letter_of(qstash, run)
    pages, cursor = [], ""
    while cursor is not None:
        page = qstash.call("GET", f"workflows/dlq?label={topic}&count=2{cursor}").expect(200)
        pages += [one["workflowRunId"] for one in page["messages"]]
        cursor = f"&cursor={page['cursor']}" if "cursor" in page else None
    assert pages == [run.id for run in reversed(runs)]


def test_the_state_of_the_failure_callback(qstash, receiver, topic):
    run = failing(qstash, receiver, topic, Answer(500), upstash_retries="0")
    receiver.script(f"{run.path}/failed", Answer(500, headers=(("Retry-After", "2"),)), Answer(500, body=b"neither"))
    run.step(step(1, 1))
    letter = letter_of(qstash, run)["dlqId"]
    arrivals(receiver, f"{run.path}/failed", 1)
    assert state_of(qstash, letter, "CALLBACK_INPROGRESS")
    info = until(lambda: state_of(qstash, letter, "CALLBACK_FAIL"), 15, "the callback has failed")
    assert (info["responseStatus"], info["responseBody"]) == (500, "neither") and "Content-Length" in info["responseHeaders"]
    told = receiver.of(f"{run.path}/failed")[0].job_id
    assert told not in [one["messageId"] for one in qstash.call("GET", "dlq?count=1000").expect(200)["messages"]]
    assert letter_of(qstash, run, "dlq?source=workflow&failureFunctionState=CALLBACK_FAIL&")["dlqId"] == letter


def test_a_failure_callback_that_failed_is_sent_again(qstash, receiver, topic):
    run = failing(qstash, receiver, topic, Answer(500), upstash_retries="0")
    receiver.script(f"{run.path}/failed", *[Answer(500, headers=(("Retry-After", "0"),))] * 2, Answer(500, headers=(("Retry-After", "1"),)), 200)
    run.step(step(1, 1))
    letter = letter_of(qstash, run)
    again = f"workflows/dlq/callback/{letter['dlqId']}"
    until(lambda: state_of(qstash, letter["dlqId"], "CALLBACK_FAIL"), 15, "the callback has failed")
    assert qstash.call("POST", again, b"").expect(200) == {name: letter[name] for name in ("workflowRunId", "workflowCreatedAt")}
    arrivals(receiver, f"{run.path}/failed", 3)
    refused = qstash.call("POST", again, b"")
    assert refused.status == 400 and "CALLBACK_INPROGRESS" in refused.json["error"]
    until(lambda: state_of(qstash, letter["dlqId"], "CALLBACK_SUCCESS"), 15, "the callback is delivered")
    assert qstash.call("POST", again, b"").status == 400
    bodies = [arrival.body for arrival in arrivals(receiver, f"{run.path}/failed", 4)]
    assert bodies == bodies[:1] * 4
    assert qstash.call("POST", "workflows/dlq/callback/dlq_unknown", b"").status == 404


def test_a_run_without_a_failure_callback_has_no_state(qstash, receiver, topic):
    receiver.script(f"/{topic}", Answer(489, headers=(("Upstash-NonRetryable-Error", "true"),)))
    letter = letter_of(qstash, Run(qstash, receiver, f"/{topic}"))
    assert "failureCallbackInfo" not in letter and qstash.call("POST", f"workflows/dlq/callback/{letter['dlqId']}", b"").status == 400


# ---- deletion ----

def test_dead_letters_of_runs_are_deleted(qstash, receiver, topic):
    runs = [failing(qstash, receiver, f"{topic}-{number}", Answer(500), upstash_retries="0", upstash_label=topic) for number in range(4)]
    letters = []
    for run in runs:
        run.step(step(1, 1))
        letters.append(letter_of(qstash, run)["dlqId"])
    assert qstash.call("DELETE", f"workflows/dlq/{letters[0]}").expect(200) == {"deleted": 1}
    assert qstash.call("DELETE", f"workflows/dlq/{letters[0]}").status == qstash.call("GET", f"workflows/dlq/{letters[0]}").status == 404
    assert qstash.call("DELETE", f"workflows/dlq?dlqIds={letters[0]},{letters[1]}&dlqIds=unknown").expect(200) == {"deleted": 1}
    page = qstash.call("DELETE", f"workflows/dlq?label={topic}&count=1").expect(200)
    assert page["deleted"] == 1
    assert qstash.call("DELETE", f"workflows/dlq?label={topic}").expect(200) == {"deleted": 1}
    assert qstash.call("GET", f"workflows/dlq?label={topic}").expect(200) == {"messages": []}
    assert qstash.call("POST", f"workflows/dlq/resume/{letters[1]}", b"").status == 404


# ---- resume and restart ----

def test_a_run_is_resumed_at_the_message_that_failed(qstash, failed, receiver):
    made, arrival = again(qstash, receiver, failed, "resume", 4)
    assert made["workflowRunId"].startswith("wfr_") and made["workflowRunId"] != failed.id
    assert decoded(arrival) == ["payload", step(1, "one"), step(2, "two")]
    assert json.loads(arrival.body)[-1]["messageId"] == arrival.job_id != failed.last
    headers = arrival.headers
    assert (headers["upstash-workflow-runid"], headers["upstash-workflow-init"], headers["own"]) == (made["workflowRunId"], "false", "7")
    assert headers["upstash-workflow-createdat"] == str(made["workflowCreatedAt"])
    failed.id = made["workflowRunId"]
    failed.step(step(3, "three"))
    assert decoded(arrivals(receiver, failed.path, 5)[-1]) == ["payload", step(1, "one"), step(2, "two"), step(3, "three")]
    assert failed.end().status == 200


def test_a_run_is_restarted_with_its_payload(qstash, failed, receiver):
    made, arrival = again(qstash, receiver, failed, "restart", 4)
    assert decoded(arrival) == ["payload"] and arrival.headers["upstash-workflow-init"] == "true"
    assert (arrival.headers["upstash-workflow-runid"], arrival.headers["own"]) == (made["workflowRunId"], "7")
    whole = qstash.call("GET", f"workflows/runs/{made['workflowRunId']}").expect(200)
    assert [element["messageId"] for element in whole] == [arrival.job_id]


@pytest.mark.parametrize("action", ["resume", "restart"])
def test_a_run_is_continued_once(qstash, failed, receiver, action):
    letter = letter_of(qstash, failed)["dlqId"]
    made, = qstash.call("POST", f"workflows/dlq/{action}?dlqIds={letter}&dlqIds={letter}&dlqIds=dlq_unknown", b"").expect(200)["workflowRuns"]
    assert qstash.call("POST", f"workflows/dlq/{action}/{letter}", b"").status == 404
    assert qstash.call("GET", f"workflows/dlq/{letter}").status == 404
    assert qstash.call("GET", f"workflows/runs/{made['workflowRunId']}").status == 200
    arrivals(receiver, failed.path, 4)


def test_settings_of_the_request_replace_those_of_the_run(qstash, failed, receiver, topic):
    receiver.script(failed.path, Answer(503, headers=(("Retry-After", "0"),)), Answer(503))
    made, arrival = again(qstash, receiver, failed, "resume", 5, Upstash_Retries="1", Upstash_Label="c", Upstash_Flow_Control_Key=topic,
                          Upstash_Flow_Control_Value="parallelism=2", Upstash_Failure_Callback=f"{failed.url}/other")
    told, = arrivals(receiver, f"{failed.path}/other", 1)
    document = json.loads(told.body)
    assert (document["workflowRunId"], document["maxRetries"]) == (made["workflowRunId"], 1)
    assert base64.b64decode(document["sourceBody"]) == b"payload" and told.headers["shop"] == "one"
    failed.id = made["workflowRunId"]
    letter = letter_of(qstash, failed)
    assert (letter["labels"], letter["flowControlKey"], letter["maxRetries"]) == (["c"], topic, 1)
    refused = qstash.call("POST", f"workflows/dlq/resume/{letter['dlqId']}", b"", Upstash_Retries="many")
    assert refused.status == 400 and letter_of(qstash, failed) == letter


def test_many_runs_are_continued_in_the_order_of_the_request(qstash, receiver, topic):
    runs = [failing(qstash, receiver, f"{topic}-{number}", Answer(500), upstash_retries="0", upstash_label=topic) for number in range(4)]
    letters = []
    for run in runs:
        receiver.script(run.path, Answer(500), TAKEN)
        run.step(step(1, 1))
        letters.append(letter_of(qstash, run)["dlqId"])
    wanted = [letters[2], letters[0], letters[3]]
    made = qstash.call("POST", "workflows/dlq/restart?dlqIds=" + "&dlqIds=".join(wanted), b"").expect(200)["workflowRuns"]
    for run, one in zip((runs[2], runs[0], runs[3]), made):
        assert arrivals(receiver, run.path, 3)[-1].headers["upstash-workflow-runid"] == one["workflowRunId"]
    answer = qstash.call("POST", f"workflows/dlq/resume?label={topic}&count=5", b"").expect(200)
    assert len(answer["workflowRuns"]) == 1 and decoded(arrivals(receiver, runs[1].path, 3)[-1]) == ["payload", step(1, 1)]


def test_a_run_of_many_bytes_is_restarted_and_not_resumed(qstash, receiver, topic):
    """The steps of the run have more than 64 MiB in total, which is too much for resume."""
    run = Run(qstash, receiver, f"/{topic}", "payload", upstash_retries="0", upstash_label=topic)
    receiver.script(run.path, TAKEN)
    arrivals(receiver, run.path, 1)
    for number in range(1, 56):
        run.step(step(number, "x" * 950_000))
        arrivals(receiver, run.path, number + 1, 20)  # a kept next step would make this delivery needless
    receiver.script(run.path, Answer(503), TAKEN)
    run.step(step(56, "last"))
    letter = letter_of(qstash, run)["dlqId"]
    small = failing(qstash, receiver, f"{topic}-small", Answer(500), upstash_retries="0", upstash_label=topic)
    receiver.script(small.path, Answer(500), TAKEN)
    small.step(step(1, 1))
    letter_of(qstash, small)
    answer = qstash.call("POST", f"workflows/dlq/resume/{letter}", b"")
    size, = re.findall(r"have (\d+) bytes together", answer.json["error"])
    assert answer.status == 413 and 64 * 2**20 < int(size) < 80 * 2**20
    assert "at most 67108864 bytes" in answer.json["error"] and "restart" in answer.json["error"]
    for made in 1, 0:  # the other runs are resumed, and this dead letter stays
        several = qstash.call("POST", f"workflows/dlq/resume?label={topic}", b"").expect(200)
        assert len(several["workflowRuns"]) == made
    assert letter_of(qstash, run)["dlqId"] == letter
    new = qstash.call("POST", f"workflows/dlq/restart/{letter}", b"").expect(200)
    arrival = arrivals(receiver, run.path, 58)[-1]
    assert arrival.headers["upstash-workflow-runid"] == new["workflowRunId"] and decoded(arrival) == ["payload"]


def test_parallel_steps_begin_again_unless_all_have_ended(qstash, receiver, topic):
    run = failing(qstash, receiver, topic, TAKEN, upstash_retries="0")
    run.step(step(1, "one"))
    arrivals(receiver, run.path, 2)
    plans = [step(0, "", targetStep=number, concurrent=2) for number in (2, 3)]
    run.step(*plans)
    arrivals(receiver, run.path, 4)
    receiver.script(run.path, Answer(503), TAKEN)
    run.step(step(2, "two", concurrent=2))
    made, arrival = again(qstash, receiver, run, "resume", 6)
    assert decoded(arrival) == ["payload", step(1, "one")]
    run.id = made["workflowRunId"]
    run.step(*plans)
    arrivals(receiver, run.path, 8)
    run.step(step(3, "three", concurrent=2))
    arrivals(receiver, run.path, 9)
    receiver.script(run.path, Answer(503), TAKEN)
    run.step(step(2, "two", concurrent=2))
    _, arrival = again(qstash, receiver, run, "resume", 11)
    assert decoded(arrival) == ["payload", step(1, "one"), *plans, step(3, "three", concurrent=2), step(2, "two", concurrent=2)]


def test_the_answer_to_a_call_is_delivered_again(qstash, receiver, topic):
    run = failing(qstash, receiver, topic, TAKEN, upstash_retries="0")
    receiver.script(f"{run.path}/third", Answer(201, body=b"answer"))
    receiver.script(run.path, Answer(503), TAKEN)
    call(run, receiver.url(f"{run.path}/third"))
    first = arrivals(receiver, run.path, 2)[1]
    made, arrival = again(qstash, receiver, run, "resume", 3)
    assert json.loads(arrival.body) == json.loads(first.body) and receiver.count(f"{run.path}/third") == 1
    kept = {name: value for name, value in first.headers.items() if name.startswith("upstash-workflow-")}
    assert arrival.headers["upstash-workflow-runid"] == made["workflowRunId"]
    assert {**kept, "upstash-workflow-runid": made["workflowRunId"], "upstash-workflow-createdat": str(made["workflowCreatedAt"])} == \
        {name: value for name, value in arrival.headers.items() if name.startswith("upstash-workflow-")}
    whole = qstash.call("GET", f"workflows/runs/{made['workflowRunId']}").expect(200)
    assert [element["callType"] for element in whole] == ["step", "toCallback"]


def test_a_dead_letter_that_was_run_like_a_job_is_resumed(qstash, failed, receiver):
    """The run of the message has ended, so duepost cannot deliver the message. It stays a dead letter of the run."""
    letter_of(qstash, failed)
    qstash.run("qstash~messages", failed.last).expect(202)
    assert qstash.wait_for_state("qstash~messages", failed.last, "dead")["reason"] == "workflow_ended"
    _, arrival = again(qstash, receiver, failed, "resume", 4)
    assert decoded(arrival) == ["payload", step(1, "one"), step(2, "two")]


def test_a_run_whose_trigger_failed_is_continued(qstash, receiver, topic):
    receiver.script(f"/{topic}", Answer(489, headers=(("Upstash-NonRetryable-Error", "true"),)), TAKEN)
    run = Run(qstash, receiver, f"/{topic}")
    _, arrival = again(qstash, receiver, run, "resume", 2)
    assert decoded(arrival) == ["payload"] and arrival.headers["upstash-workflow-init"] == "true"


def test_a_failed_call_is_not_a_dead_letter(qstash, receiver, topic):
    receiver.script(f"/{topic}", TAKEN)
    run = Run(qstash, receiver, f"/{topic}")
    arrivals(receiver, run.path, 1)
    receiver.script(f"{run.path}/third", 503)
    message_id = call(run, receiver.url(f"{run.path}/third"))
    arrivals(receiver, run.path, 2)
    for source in ("dlq?count=1000", "workflows/dlq?count=1000"):
        assert message_id not in [one["messageId"] for one in qstash.call("GET", source).expect(200)["messages"]]


def test_each_run_is_continued_once_although_duepost_is_killed(receiver, topic):
    """After the kills, each run either still has its dead letter, or was continued once."""
    redis = RedisServer()
    qstash = QStash(redis=redis)
    receiver.script(f"/{topic}", Answer(489, headers=(("Upstash-NonRetryable-Error", "true"),)))
    runs = [Run(qstash, receiver, f"/{topic}", upstash_label=topic) for _ in range(60)]
    url = f"workflows/dlq?label={topic}&count=1000"
    until(lambda: len(qstash.call("GET", url).expect(200)["messages"]) == len(runs), 20, "all have failed")
    receiver.script(f"/{topic}", TAKEN)
    for round in range(1, 4):
        with ThreadPoolExecutor(4) as pool:
            asked = [pool.submit(ask_to_go_on, qstash, action, topic) for action in ("resume", "restart", "resume", "restart")]
            until(lambda: len(gone_on(receiver, topic, len(runs))) >= 10 * round, 15, "some go on")
            qstash.kill()
            [one.result() for one in asked]
        qstash = QStash(redis=redis)
    left = [one["workflowRunId"] for one in qstash.call("GET", url).expect(200)["messages"]]
    active, cursor = [], ""
    while cursor is not None:
        page = qstash.get(f"/workflows?state=active&limit=100{cursor}").expect(200)
        active += page["workflows"]
        cursor = f"&cursor={page['cursor']}" if page.get("cursor") else None
    assert len(left) + len(active) == len(runs) and len(set(left)) == len(left) and active
    until(lambda: {run_of(arrival) for arrival in gone_on(receiver, topic, len(runs))} == {one["workflowId"] for one in active}, 20, "all are delivered")
    qstash.stop()
    redis.stop()


def ask_to_go_on(qstash, action, label):
    with contextlib.suppress(OSError, http.client.HTTPException):
        qstash.call("POST", f"workflows/dlq/{action}?label={label}&count=60", b"")


def gone_on(receiver, topic, before):
    return receiver.of(f"/{topic}")[before:]


def run_of(arrival):
    return arrival.headers["upstash-workflow-runid"]
