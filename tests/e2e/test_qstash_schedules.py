"""Schedules of QStash: POST /v2/schedules/{destination}, GET, DELETE, pause and resume, and the messages that they create.

duepost also takes cron expressions with seconds here. The tests use them to get a message each second."""

import hashlib
import json
import time

import pytest

import scratch
from clock import MANUAL, ManualClock
from patience import until
from qstash import QStash, verified
from receiver import Answer

SECONDLY = "* * * * * *"


@pytest.fixture(scope="module")
def qstash():
    server = QStash()
    yield server
    server.stop()


def start_turned(*options):
    server = QStash(*MANUAL, *options)
    server.clock = ManualClock(server)
    return server


@pytest.fixture(scope="module")
def turned():
    """Another server, whose clock the tests turn."""
    server = start_turned()
    yield server
    server.stop()


def create(qstash, destination, cron="0 4 1 1 *", body=None, **headers):
    reply = qstash.call("POST", f"schedules/{destination}", body, Upstash_Cron=cron, **headers).expect(200)
    assert list(reply) == ["scheduleId"]
    return reply["scheduleId"]


def get(qstash, schedule_id):
    return qstash.call("GET", f"schedules/{schedule_id}").expect(200)


def change(qstash, method, schedule_id, what=""):
    reply = qstash.call(method, f"schedules/{schedule_id}{what}")
    assert (reply.status, reply.body) == (200, b"")


def listed(qstash, schedule_id):
    return [item for item in qstash.call("GET", "schedules").expect(200) if item["scheduleId"] == schedule_id]


def await_arrivals(receiver, target, count):
    until(lambda: receiver.count(target) >= count, 20, f"{count} requests to {target}")
    return receiver.of(target)


# ---- the schedules themselves ----

def test_a_schedule_shows_all_of_its_settings(qstash, topic):
    before = time.time() * 1000
    made = create(qstash, "https://example.com/a%20b?x=1", "  CRON_TZ=Europe/Berlin 30 4 * * *  ", '{"a":1}', Upstash_Schedule_Id=topic,
                  Upstash_Method="PUT", Upstash_Forward_My_Header="v", Content_Type="application/json", Upstash_Retries="5", Upstash_Delay="1m30s",
                  Upstash_Timeout="20s", Upstash_Callback="https://example.com/cb", Upstash_Failure_Callback="https://example.com/fail",
                  Upstash_Queue_Name=f"{topic}.q", Upstash_Label="a, b", Upstash_Retry_Delay="1000 * (1 + retried)", Upstash_Flow_Control_Key=f"{topic}.k",
                  Upstash_Flow_Control_Value="parallelism=2, rate=3, period=1m")
    assert made == topic
    shown = get(qstash, topic)
    assert before - 5000 < shown.pop("createdAt") < time.time() * 1000 + 5000
    next_time = shown.pop("nextScheduleTime")
    assert next_time % 60000 == 0 and 0 < next_time - before < 26 * 3600 * 1000
    assert shown.pop("callerIP")
    assert shown == {
        "scheduleId": topic, "cron": "CRON_TZ=Europe/Berlin 30 4 * * *", "destination": "https://example.com/a%20b?x=1", "method": "PUT",
        "header": {"My-Header": ["v"], "Content-Type": ["application/json"]}, "body": '{"a":1}', "retries": 5, "delay": 90, "timeout": 20,
        "callback": "https://example.com/cb", "failureCallback": "https://example.com/fail", "callbackHeader": {}, "failureCallbackHeader": {},
        "queueName": f"{topic}.q", "label": "a", "labels": ["a", "b"], "flowControlKey": f"{topic}.k", "parallelism": 2, "rate": 3, "period": 60,
        "retryDelayExpression": "1000 * (1 + retried)", "isPaused": False}


def test_a_schedule_without_settings_has_an_id_and_the_defaults(qstash):
    made = create(qstash, "https://example.com/", "*/5 * * * *", b"\xff\x00")
    assert made.startswith("scd_")
    shown = get(qstash, made)
    assert (shown["cron"], shown["method"], shown["retries"], shown["bodyBase64"]) == ("*/5 * * * *", "POST", 3, "/wA=")
    assert shown["nextScheduleTime"] % 300000 == 0 and not {"lastScheduleTime", "lastScheduleStates", "delay", "timeout", "queueName"} & set(shown)
    change(qstash, "DELETE", made)


def test_the_same_id_replaces_everything_but_the_time_of_creation(qstash, topic):
    create(qstash, "https://example.com/1", "0 4 1 1 *", "body", Upstash_Schedule_Id=topic, Upstash_Label="a", Upstash_Delay="5s")
    created = get(qstash, topic)["createdAt"]
    change(qstash, "PATCH", topic, "/pause")
    create(qstash, "https://example.com/2", "0 5 1 1 *", Upstash_Schedule_Id=topic)
    shown = get(qstash, topic)
    assert (shown["destination"], shown["cron"], shown["createdAt"], shown["isPaused"]) == ("https://example.com/2", "0 5 1 1 *", created, False)
    assert not {"body", "label", "delay"} & set(shown) and len(listed(qstash, topic)) == 1


def test_pause_and_resume_change_nothing_else(qstash, topic):
    create(qstash, "https://example.com/", "*/5 * * * *", "hello", Upstash_Schedule_Id=topic, Upstash_Forward_X="v", Upstash_Delay="5s")
    whole = get(qstash, topic)
    for method in ("PATCH", "POST"):
        change(qstash, method, topic, "/pause")
        shown = get(qstash, topic)
        assert shown["isPaused"] and "nextScheduleTime" not in shown
        change(qstash, method, topic, "/resume")
        shown = get(qstash, topic)
        assert {**shown, "nextScheduleTime": 0} == {**whole, "nextScheduleTime": 0} and shown["nextScheduleTime"] % 300000 == 0


def test_a_removed_schedule_is_unknown(qstash, topic):
    create(qstash, "https://example.com/", Upstash_Schedule_Id=topic)
    change(qstash, "DELETE", topic)
    for method, path in (("GET", topic), ("DELETE", topic), ("PATCH", f"{topic}/pause"), ("PATCH", f"{topic}/resume"), ("GET", "a%20b")):
        assert qstash.call(method, f"schedules/{path}").status == 404
    assert listed(qstash, topic) == []


def test_a_list_has_all_schedules(qstash, topic):
    wanted = [f"{topic}.{number:03}" for number in range(230)]
    for name in wanted:
        create(qstash, "https://example.com/", Upstash_Schedule_Id=name)
    shown = qstash.call("GET", "schedules").expect(200)
    assert sorted(item["scheduleId"] for item in shown if item["scheduleId"].startswith(topic)) == wanted
    assert {"cron", "createdAt", "destination", "retries", "isPaused", "nextScheduleTime"} <= set(shown[0])


def test_the_paths_of_the_client_for_go(qstash, topic):
    reply = qstash.call("POST", "Schedules/https://example.com/", Upstash_Cron="0 4 * * *", Upstash_Schedule_Id=topic).expect(200)
    assert reply == {"scheduleId": topic} == {"scheduleId": qstash.call("GET", f"Schedules/{topic}").expect(200)["scheduleId"]}


def test_redacted_parts_are_not_shown(qstash, topic):
    create(qstash, "https://example.com/", body="secret", Upstash_Schedule_Id=topic, Upstash_Redact_Fields="body,header[X]", Upstash_Forward_X="hidden", Upstash_Forward_Y="v")
    shown = get(qstash, topic)
    assert shown["body"] == "REDACTED:" + hashlib.sha256(b"secret").hexdigest()
    assert shown["header"] == {"X": ["REDACTED:" + hashlib.sha256(b"hidden").hexdigest()], "Y": ["v"]}


def test_the_native_api_shows_a_schedule_without_its_body_and_cannot_change_it(qstash, topic):
    create(qstash, "https://example.com/", body='{"a":1}', Upstash_Schedule_Id=topic)
    path = f"/schedules/qstash~schedules/{topic}"
    shown = qstash.request("GET", path).expect(200)
    assert shown["job"]["url"] == "https://example.com/" and "body" not in shown["job"]
    for method, body in (("PUT", {"cron": "* * * * *", "job": {"url": "https://example.com/"}}), ("PATCH", {"paused": True})):
        assert qstash.request(method, path, json.dumps(body), {"Content-Type": "application/json"}, check=False).status == 403


@pytest.mark.parametrize("destination, headers, word", [
    ("https://example.com/", {}, "Upstash-Cron"), ("https://example.com/", {"Upstash-Cron": " "}, "Upstash-Cron"),
    ("https://example.com/", {"Upstash-Cron": "61 * * * *"}, "cron"), ("https://example.com/", {"Upstash-Cron": "hello"}, "cron"),
    ("https://example.com/", {"Upstash-Cron": "CRON_TZ=Nowhere/At-All 0 4 * * *"}, "timezone"), ("", {"Upstash-Cron": "* * * * *"}, "non-empty"),
    ("ftp://example.com/", {"Upstash-Cron": "* * * * *"}, "destination"),
    ("https://example.com/", {"Upstash-Cron": "* * * * *", "Upstash-Schedule-Id": "a/b"}, "Upstash-Schedule-Id"),
    ("https://example.com/", {"Upstash-Cron": "* * * * *", "Upstash-Schedule-Id": "a" * 300}, "Upstash-Schedule-Id"),
    ("https://example.com/", {"Upstash-Cron": "* * * * *", "Upstash-Delay": "soon"}, "Upstash-Delay"),
    ("https://example.com/", {"Upstash-Cron": "* * * * *", "Upstash-Queue-Name": "a/b"}, "queueName"),
    ("http://169.254.169.254/", {"Upstash-Cron": "* * * * *"}, "url")])
def test_an_invalid_schedule_has_its_error(qstash, destination, headers, word):
    before = len(qstash.call("GET", "schedules").expect(200))
    reply = qstash.call("POST", f"schedules/{destination}", **headers)
    assert reply.status == 400 and word in reply.json["error"], reply.body
    assert len(qstash.call("GET", "schedules").expect(200)) == before


# ---- schedules of URL groups ----

def put_group(qstash, receiver, name, *endpoints):
    """endpoints: names of endpoints. The url of each is /<group>-<endpoint> at the receiver."""
    qstash.call("POST", f"topics/{name}/endpoints", {"endpoints": [{"name": each, "url": receiver.url(f"/{name}-{each}")} for each in endpoints]}).expect(200)


def test_a_schedule_of_a_group_is_shown_and_listed_with_its_name(qstash, receiver, topic):
    put_group(qstash, receiver, topic, "a", "b")
    create(qstash, topic, body="text", Upstash_Schedule_Id=topic, Upstash_Label="l", Upstash_Delay="5s", Upstash_Retries="1", Upstash_Forward_X="v")
    shown = get(qstash, topic)
    assert (shown["destination"], shown["body"], shown["labels"], shown["delay"], shown["retries"], shown["header"]) == (topic, "text", ["l"], 5, 1, {"X": ["v"]})
    assert [item["destination"] for item in listed(qstash, topic)] == [topic]
    change(qstash, "PATCH", topic, "/pause")
    change(qstash, "PATCH", topic, "/resume")
    assert {**get(qstash, topic), "nextScheduleTime": 0} == {**shown, "nextScheduleTime": 0}
    create(qstash, "https://example.com/", Upstash_Schedule_Id=topic)
    assert get(qstash, topic)["destination"] == "https://example.com/"
    change(qstash, "DELETE", topic)
    assert listed(qstash, topic) == []


def test_an_unknown_group_makes_no_schedule(qstash, topic):
    for name in (topic, "a" * 125):
        reply = qstash.call("POST", f"schedules/{name}", Upstash_Cron="* * * * *", Upstash_Schedule_Id=topic)
        assert (reply.status, reply.json["error"]) == (404, f"topic {name} not found")
    assert listed(qstash, topic) == []


def test_each_time_makes_a_message_for_each_endpoint(qstash, receiver, topic):
    names = ["a", "Zweiter, ä"]
    qstash.call("POST", f"topics/{topic}/endpoints", {"endpoints": [{"name": name, "url": receiver.url(f"/{topic}-{at}")} for at, name in enumerate(names)]}).expect(200)
    create(qstash, topic, SECONDLY, '{"a":1}', Upstash_Schedule_Id=topic, Upstash_Forward_X="v", Content_Type="application/json", Upstash_Callback=receiver.url(f"/{topic}-cb"))
    found = [await_arrivals(receiver, f"/{topic}-{at}", 2) for at in range(2)]
    reports = await_arrivals(receiver, f"/{topic}-cb", 4)
    change(qstash, "DELETE", topic)
    key = qstash.call("GET", "keys").expect(200)["current"]
    for at in range(2):
        for arrival in found[at]:
            assert (arrival.body, arrival.headers["x"], arrival.headers["upstash-schedule-id"], arrival.headers["upstash-topic-name"]) == (b'{"a":1}', "v", topic, topic)
            assert arrival.headers["upstash-message-id"].endswith(f"Z~{at + 1}") and arrival.headers["content-type"] == "application/json"
            verified(arrival, key, receiver.url(f"/{topic}-{at}"))
    ids = [{arrival.headers["upstash-message-id"].rpartition("~")[0] for arrival in arrivals[:2]} for arrivals in found]
    assert ids[0] == ids[1] and len(ids[0]) == 2
    documents = [json.loads(report.body) for report in reports]
    assert {(each["topicName"], each["endpointName"], each["scheduleId"]) for each in documents} == {(topic, name, topic) for name in names}


def test_the_endpoints_are_those_of_each_time_and_the_settings_those_of_the_start(turned, receiver, topic):
    put_group(turned, receiver, topic, "a")
    headers = {"Upstash-Forward-Set": "first", "Upstash-Retries": ["7"], "Upstash-Label": "of-group", "Upstash-Schedule-Id": "other"}
    turned.call("PATCH", f"topics/{topic}", {"headers": headers}).expect(200)
    create(turned, topic, SECONDLY, Upstash_Schedule_Id=topic, Upstash_Label="own")
    assert (get(turned, topic)["retries"], get(turned, topic)["labels"]) == (7, ["own"])
    turned.clock.advance(1)
    put_group(turned, receiver, topic, "b")
    turned.call("DELETE", f"topics/{topic}/endpoints", {"endpoints": [{"name": "a"}]}).expect(200)
    turned.call("PATCH", f"topics/{topic}", {"headers": {"Upstash-Forward-Set": "second"}}).expect(200)
    turned.clock.advance(3)
    change(turned, "DELETE", topic)
    assert [arrival.headers["set"] for arrival in receiver.of(f"/{topic}-b")] == ["first"] * 3
    assert receiver.count(f"/{topic}-a") == 1


def test_a_removed_group_gets_nothing_until_it_is_there_again(turned, receiver, topic):
    put_group(turned, receiver, topic, "a")
    create(turned, topic, SECONDLY, Upstash_Schedule_Id=topic)
    turned.clock.advance(1)
    turned.call("DELETE", f"topics/{topic}").expect(200)
    turned.clock.advance(2)
    shown = turned.request("GET", f"/schedules/qstash~schedules/{topic}").expect(200)
    assert (shown["last"]["outcome"], shown["job"]["group"]) == ("noGroup", f"qstash~group.{topic}")
    run = turned.request("POST", f"/schedules/qstash~schedules/{topic}/run", check=False)
    assert run.status == 400 and "does not exist" in json.dumps(run.json), run.body
    put_group(turned, receiver, topic, "a")
    turned.clock.advance(1)
    assert receiver.count(f"/{topic}-a") == 2
    change(turned, "PATCH", topic, "/pause")
    made = turned.request("POST", f"/schedules/qstash~schedules/{topic}/run").expect(202)["jobId"]
    turned.clock.settle()
    assert [arrival.headers["upstash-message-id"] for arrival in receiver.of(f"/{topic}-a")][2:] == [f"{made}~1"]


def test_the_states_of_a_group_are_those_of_all_endpoints(receiver, topic):
    for history in (True, False):
        name = f"{topic}-{history}"
        server = start_turned(*(("--history", f"sqlite:{scratch.file('history.sqlite')}") if history else ("--history", "off")))
        try:
            receiver.script(f"/{name}-bad", 500)
            put_group(server, receiver, name, "good", "bad")
            create(server, name, SECONDLY, Upstash_Schedule_Id=name, Upstash_Retries="0")
            server.clock.advance(2)
            assert receiver.count(f"/{name}-bad") == receiver.count(f"/{name}-good") == 2
            wanted = {arrival.headers["upstash-message-id"]: word for path, word in (("good", "SUCCESS"), ("bad", "FAIL")) for arrival in receiver.of(f"/{name}-{path}")}
            last = max(wanted).rpartition("~")[0]
            of_last = {message_id: word for message_id, word in wanted.items() if message_id.startswith(last)}
            until(lambda: get(server, name)["lastScheduleStates"] == (wanted if history else of_last), 20, lambda: f"{wanted}, there are {get(server, name)['lastScheduleStates']}")
        finally:
            server.stop()


def test_a_message_of_a_group_is_read_and_cancelled_as_any(qstash, receiver, topic):
    put_group(qstash, receiver, topic, "a", "b")
    create(qstash, topic, SECONDLY, Upstash_Schedule_Id=topic, Upstash_Delay="1h", Upstash_Queue_Name=topic)
    until(lambda: "lastScheduleStates" in get(qstash, topic), 20, "the first messages")
    change(qstash, "DELETE", topic)
    lag = qstash.call("GET", f"queues/{topic}").expect(200)["lag"]
    assert lag > 0 and lag % 2 == 0
    assert qstash.call("DELETE", f"messages?scheduleId={topic}&topicName={topic}&count=1").expect(200)["cancelled"] == 1
    assert qstash.call("DELETE", f"messages?topicName={topic}").expect(200) == {"cancelled": lag - 1}
    assert receiver.count(f"/{topic}-a") == receiver.count(f"/{topic}-b") == 0


# ---- their messages ----

def test_each_time_makes_a_signed_message(qstash, receiver, topic):
    url = receiver.url(f"/{topic}")
    create(qstash, url, SECONDLY, '{"a":1}', Upstash_Schedule_Id=topic, Upstash_Forward_X="v", Content_Type="application/json")
    found = await_arrivals(receiver, f"/{topic}", 3)
    change(qstash, "DELETE", topic)
    key = qstash.call("GET", "keys").expect(200)["current"]
    ids = [arrival.headers["upstash-message-id"] for arrival in found]
    assert len(set(ids)) == len(ids) and all(message_id.startswith("msg_") and message_id.endswith("Z") for message_id in ids)
    for arrival in found:
        assert (arrival.body, arrival.headers["x"], arrival.headers["upstash-schedule-id"]) == (b'{"a":1}', "v", topic)
        assert arrival.headers["upstash-retried"] == "0" and arrival.headers["content-type"] == "application/json"
    verified(found[-1], key, url)


def test_a_message_of_a_schedule_is_read_and_cancelled_as_any(qstash, receiver, topic):
    create(qstash, receiver.url(f"/{topic}"), SECONDLY, Upstash_Schedule_Id=topic, Upstash_Delay="1h")
    until(lambda: "lastScheduleStates" in get(qstash, topic), 20, "the first message")
    change(qstash, "PATCH", topic, "/pause")
    shown = get(qstash, topic)
    assert shown["lastScheduleTime"] % 1000 == 0
    [(message_id, state)] = shown["lastScheduleStates"].items()
    assert state == "IN_PROGRESS"
    message = qstash.call("GET", f"messages/{message_id}").expect(200)
    assert (message["scheduleId"], message["maxRetries"]) == (topic, 3)
    assert abs(message["notBefore"] - shown["lastScheduleTime"] - 3600000) < 60000
    assert qstash.call("DELETE", f"messages/{message_id}").expect(200) == {"cancelled": 1}
    assert receiver.count(f"/{topic}") == 0


def test_the_state_of_the_last_message_is_shown(turned, receiver, topic):
    for name, status, word in (("good", 200, "SUCCESS"), ("bad", 500, "FAIL")):
        schedule_id = f"{topic}.{name}"
        receiver.script(f"/{schedule_id}", status)
        create(turned, receiver.url(f"/{schedule_id}"), SECONDLY, Upstash_Schedule_Id=schedule_id, Upstash_Retries="0")
        turned.clock.advance(1)
        change(turned, "PATCH", schedule_id, "/pause")
        assert list(get(turned, schedule_id)["lastScheduleStates"].values()) == [word]


def test_the_states_of_the_last_messages_are_those_of_the_history(receiver, topic):
    server = start_turned("--history", f"sqlite:{scratch.file('history.sqlite')}")
    try:
        receiver.script(f"/{topic}", Answer(500), Answer(200), Answer(500), Answer(200))
        create(server, receiver.url(f"/{topic}"), SECONDLY, Upstash_Schedule_Id=topic, Upstash_Retries="0")
        server.clock.advance(4)
        change(server, "PATCH", topic, "/pause")
        sent = [arrival.headers["upstash-message-id"] for arrival in receiver.of(f"/{topic}")]
        wanted = dict(zip(sent, ("FAIL", "SUCCESS", "FAIL", "SUCCESS"), strict=True))
        until(lambda: get(server, topic)["lastScheduleStates"] == wanted, 20, lambda: f"{wanted}, there are {get(server, topic)['lastScheduleStates']}")
        assert sorted(get(server, topic)["lastScheduleStates"], reverse=True) == list(get(server, topic)["lastScheduleStates"])
        create(server, "https://example.com/", SECONDLY, Upstash_Schedule_Id=f"{topic}.waits", Upstash_Delay="1h")
        server.clock.advance(1)
        change(server, "PATCH", f"{topic}.waits", "/pause")
        [(message_id, state)] = get(server, f"{topic}.waits")["lastScheduleStates"].items()
        assert state == "IN_PROGRESS"
        server.call("DELETE", f"messages/{message_id}").expect(200)
        assert get(server, f"{topic}.waits")["lastScheduleStates"][message_id] == "FAIL"
    finally:
        server.stop()


def test_at_most_ten_states_are_shown(receiver, topic):
    server = start_turned("--history", f"sqlite:{scratch.file('history.sqlite')}")
    try:
        create(server, receiver.url(f"/{topic}"), SECONDLY, Upstash_Schedule_Id=topic)
        server.clock.advance(12)
        sent = [arrival.headers["upstash-message-id"] for arrival in receiver.of(f"/{topic}")]
        assert len(sent) == 12
        until(lambda: set(get(server, topic)["lastScheduleStates"]) == set(sent[-10:]), 20, "the last ten")
    finally:
        server.stop()


def test_a_schedule_sends_through_its_queue(turned, receiver, topic):
    turned.call("POST", "queues", {"queueName": topic, "parallelism": 1, "paused": True}).expect(200)
    create(turned, receiver.url(f"/{topic}"), SECONDLY, Upstash_Schedule_Id=topic, Upstash_Queue_Name=topic)
    turned.clock.advance(2)
    change(turned, "DELETE", topic)
    assert turned.call("GET", f"queues/{topic}").expect(200)["lag"] == 2 and receiver.count(f"/{topic}") == 0
    turned.call("POST", f"queues/{topic}/resume").expect(200)
    found = await_arrivals(receiver, f"/{topic}", 2)
    assert all(arrival.headers["upstash-message-id"].startswith(f"msg_queue.{topic}.") for arrival in found)


def test_a_paused_schedule_makes_nothing(turned, receiver, topic):
    create(turned, receiver.url(f"/{topic}"), SECONDLY, Upstash_Schedule_Id=topic)
    turned.clock.advance(1)
    change(turned, "PATCH", topic, "/pause")
    last = get(turned, topic)["lastScheduleTime"]
    turned.clock.advance("1h")
    assert get(turned, topic)["lastScheduleTime"] == last and receiver.count(f"/{topic}") == 1
    change(turned, "PATCH", topic, "/resume")
    turned.clock.advance(1)
    assert get(turned, topic)["lastScheduleTime"] == last + 3601_000 and receiver.count(f"/{topic}") == 2
    change(turned, "DELETE", topic)


def test_a_failed_message_of_a_schedule_is_retried_from_the_dead_letters(qstash, receiver, topic):
    receiver.script(f"/{topic}", 500)
    create(qstash, receiver.url(f"/{topic}"), SECONDLY, "hello", Upstash_Schedule_Id=topic, Upstash_Retries="0")
    await_arrivals(receiver, f"/{topic}", 1)
    change(qstash, "DELETE", topic)
    found = until(lambda: qstash.call("GET", f"dlq?scheduleId={topic}").expect(200)["messages"], 20, "a dead letter")
    assert (found[0]["scheduleId"], found[0]["responseStatus"], found[0]["body"]) == (topic, 500, "hello")
    receiver.script(f"/{topic}", 200)
    again = qstash.call("POST", f"dlq/retry/{found[0]['dlqId']}").expect(201)
    assert again["messageId"] != found[0]["messageId"]
    until(lambda: again["messageId"] in [arrival.headers["upstash-message-id"] for arrival in receiver.of(f"/{topic}")], 20, "the new message")
