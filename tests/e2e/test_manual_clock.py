"""--clock manual: GET /clock and POST /clock, their errors and pages; duepost clock."""

import concurrent.futures
import json
import os
import signal
import time

import pytest

from duepost import Duepost, run
from patience import SLOW, until
from receiver import Answer
from timestamp import from_ms, to_ms
from tokens import TokenFile

HOUR = 3600 * 1000


@pytest.fixture
def manual(start):
    """manual(...) starts a server with a manual clock."""
    return lambda *options, **named: start("--clock", "manual", *options, **named)


def turn(server, check=True, **body):
    return server.request("POST", "/clock", json.dumps(body), {"Content-Type": "application/json"}, check)


def shown(server):
    return server.get("/clock").expect(200)


def turn_all(server, **body):
    """Turns the clock until it is there. Returns all entries, and the number of pages."""
    fired, pages = [], 0
    while True:
        page = turn(server, **body).expect(200)
        fired += page["fired"]
        pages += 1
        if page["reached"] and not page["more"]:
            return fired, pages
        body.pop("advance", None)
        if "to" in page:
            body["to"] = page["to"]


def test_without_the_option_the_answer_says_how_to_get_a_clock(server):
    for reply in server.get("/clock"), turn(server, advance="1h"), turn(server, check=False):
        assert "--clock manual" in reply.expect(404)["detail"]
    assert "clock" not in server.get("/overview").expect(200)
    server.request("DELETE", "/clock").expect(405)


def test_the_clock_stands_still_until_it_is_turned(manual, receiver, topic):
    server = manual("--retry-schedule", "1h")
    before = shown(server)
    assert before["clock"] == "manual" and before["inFlight"] == 0 and "next" not in before
    assert abs(to_ms(before["now"]) - time.time() * 1000) < 60000 * SLOW, "a new clock shows the time of the host"
    server.schedule(topic=topic, jobId="a", url=receiver.url(), delay="1h")
    time.sleep(0.1)
    after = shown(server)
    assert after["now"] == before["now"] and to_ms(after["next"]) - to_ms(after["now"]) == HOUR
    receiver.script(topic, 503, 200)
    half = turn(server, advance="30m").expect(200)
    assert half["reached"] and half["fired"] == [] and to_ms(half["now"]) == to_ms(before["now"]) + HOUR // 2 and half["to"] == half["now"]
    assert receiver.count(topic) == 0
    answer = turn(server, advance=3 * 3600).expect(200)
    assert answer["reached"] and not answer["more"] and "next" not in answer
    first, second = answer["fired"]
    assert first == {"at": after["next"], "topic": topic, "jobId": "a", "event": "attempt", "attempt": 1, "status": 503, "outcome": "retry",
                     "nextAt": second["at"]}
    assert second == {"at": second["at"], "topic": topic, "jobId": "a", "event": "attempt", "attempt": 2, "status": 200, "outcome": "delivered"}
    assert to_ms(second["at"]) - to_ms(first["at"]) == HOUR
    assert receiver.count(topic) == 2
    overview = server.get("/overview").expect(200)
    assert overview["clock"] == "manual" and overview["now"] == answer["now"] == shown(server)["now"]
    assert "event=clock_is_manual" in server.log()
    assert server.log().count("event=clock_turned") == 2


def test_an_attempt_without_an_answer_has_its_error(manual, topic):
    server = manual()
    server.schedule(topic=topic, jobId="a", url="http://127.0.0.1:9/", retry=0)
    until(lambda: server.get(f"/jobs/{topic}/a").json.get("state") == "dead", 10, "the job is dead")
    (entry,) = turn(server, advance=0).expect(200)["fired"]
    assert (entry["event"], entry["error"], entry["outcome"]) == ("attempt", "connect", "dead") and "status" not in entry and "nextAt" not in entry


@pytest.mark.parametrize("body, field, detail", [
    ({}, "advance", "is required, unless"), ({"untilIdle": False}, "advance", "is required, unless"),
    ({"advance": "1h", "to": "2040-01-01T00:00:00Z"}, "to", "cannot be combined with advance"),
    ({"advance": -1}, "advance", "must be 0 to 315360000 seconds"), ({"advance": "4000d"}, "advance", "must be 0 to 315360000 seconds"),
    ({"advance": "soon"}, "advance", "a duration such as"), ({"to": "tomorrow"}, "to", "RFC 3339"), ({"to": 5}, "to", "must be a string"),
    ({"to": "2020-01-01T00:00:00Z"}, "to", "is 2020-01-01T00:00:00.000Z, but the clock shows "),
    ({"to": "2999-01-01T00:00:00Z"}, "to", "by at most 10 years"), ({"untilIdle": "yes"}, "untilIdle", "must be true or false"),
    ({"advance": 1, "limit": 0}, "limit", "must be an integer from 1 to 1000"), ({"advance": 1, "limit": 1001}, "limit", "1 to 1000"),
    ({"advanse": "1h"}, "advanse", "did you mean advance?"),
])
def test_errors_name_the_field(manual_server, body, field, detail):
    before = shown(manual_server)
    errors = turn(manual_server, **body).expect(400)["errors"]
    assert errors[0]["field"] == field or field in [error["field"] for error in errors]
    assert detail in next(error["detail"] for error in errors if error["field"] == field)
    assert shown(manual_server) == before


@pytest.fixture(scope="module")
def manual_server():
    started = Duepost("--clock", "manual")
    yield started
    started.stop()


def test_other_errors_of_the_request(manual_server):
    manual_server.request("POST", "/clock", "{", {"Content-Type": "application/json"}).expect(400)
    manual_server.request("POST", "/clock", '{"advance":1}', {"Content-Type": "text/plain"}).expect(415)
    manual_server.request("POST", "/clock", b" " * (1 << 20) + b"{}", {"Content-Type": "application/json"}).expect(413)
    assert manual_server.get("/clock?x=1").fields() == ["x"]


def test_what_fired_comes_in_pages(manual, receiver, topic):
    server = manual()
    for number in range(25):
        server.schedule(topic=topic, jobId=f"{number:02}", url=receiver.url(), delay=60 * (number + 1))
    fired, pages = turn_all(server, advance="1h", limit=10)
    assert [entry["jobId"] for entry in fired] == [f"{number:02}" for number in range(25)] and pages == 3
    assert receiver.count(topic) == 25


def test_entries_that_wait_come_first(manual, receiver, topic):
    server = manual()
    for number in range(3):
        server.schedule(topic=topic, jobId=f"now-{number}", url=receiver.url())
    until(lambda: server.get(f"/jobs/count?topic={topic}&state=ready").json["count"] == 0 and shown(server)["inFlight"] == 0, 10, "all are over")
    server.schedule(topic=topic, jobId="later", url=receiver.url(), delay=60)
    before = shown(server)
    page = turn(server, advance="2m", limit=3).expect(200)
    assert {entry["jobId"] for entry in page["fired"]} == {"now-0", "now-1", "now-2"}
    assert not page["reached"] and not page["more"] and page["now"] == before["now"], "the clock was not moved"
    page = turn(server, to=page["to"], limit=3).expect(200)
    assert [entry["jobId"] for entry in page["fired"]] == ["later"] and page["reached"]


def test_until_idle_ends_without_jobs_that_wait(manual, receiver, topic):
    server = manual("--retry-schedule", "1h 1d")
    server.request("PUT", f"/schedules/{topic}/s", json.dumps({"every": "6h", "job": {"url": receiver.url()}}),
                   {"Content-Type": "application/json"}).expect(201)
    begin = to_ms(shown(server)["now"])
    page = turn(server, untilIdle=True).expect(200)
    assert page["reached"] and "to" not in page and to_ms(page["now"]) == begin, "schedules alone do not move the clock"
    receiver.script(topic, 500, 500, 200, job_id="a")
    server.schedule(topic=topic, jobId="a", url=receiver.url(), delay=60)
    page = turn(server, untilIdle=True, advance="1h").expect(200)
    assert page["reached"] and to_ms(page["to"]) == begin + HOUR and [entry["outcome"] for entry in page["fired"]] == ["retry"]
    fired, _ = turn_all(server, untilIdle=True)
    assert [entry["outcome"] for entry in fired if entry["jobId"] == "a"] == ["retry", "delivered"]
    created = [entry for entry in fired if entry["event"] == "scheduled"]
    assert len(created) == 4 and {entry["schedule"] for entry in created} == {"s"}
    assert to_ms(shown(server)["now"]) < begin + 27 * HOUR


def test_only_one_request_turns_the_clock(manual, receiver, topic):
    server = manual()
    receiver.script(topic, Answer(delay=1.5 * SLOW))
    server.schedule(topic=topic, jobId="a", url=receiver.url(), delay=60)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        first = pool.submit(turn, server, advance="1h")
        until(lambda: receiver.count(topic) == 1, 10, "the attempt is in flight")
        assert "Another request turns the clock" in turn(server, advance="1h").expect(409)["detail"]
        assert shown(server)["inFlight"] == 1
        assert first.result().expect(200)["reached"]
    assert turn(server, advance="1h").expect(200)["reached"]


def test_a_client_that_leaves_stops_the_clock(manual, receiver, topic):
    server = manual()
    receiver.script(topic, Answer(delay=1 * SLOW), job_id="0")
    for number in range(2):
        server.schedule(topic=topic, jobId=str(number), url=receiver.url(), delay=60 * (number + 1))
    link = server.connect()
    body = b'{"advance":"1h"}'
    link.sendall(b"POST /clock HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
    until(lambda: receiver.count(topic) == 1, 10, "the first attempt")
    link.close()
    until(lambda: shown(server)["inFlight"] == 0, 10, "the end of the attempt")
    time.sleep(0.2)
    assert receiver.count(topic) == 1, "the clock was moved to the second job"
    fired, _ = turn_all(server, advance="1h")
    assert [entry["jobId"] for entry in fired] == ["0", "1"], "the entry of the first job was not lost"


def test_a_stop_ends_the_request(manual, receiver, topic):
    server = manual()
    receiver.script(topic, Answer(delay=1 * SLOW))
    server.schedule(topic=topic, jobId="a", url=receiver.url(), delay=60)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        answer = pool.submit(turn, server, advance="1h")
        until(lambda: receiver.count(topic) == 1, 10, "the attempt is in flight")
        assert server.terminate() == 0
        page = answer.result().expect(200)
    assert not page["reached"] and page["inFlight"] == 1


def test_redis_that_does_not_answer(manual):
    server = manual()
    (pid,) = server.redis_pids()
    os.kill(pid, signal.SIGSTOP)
    try:
        server.get("/clock").expect(503)
        assert turn(server, advance="1h").expect(503)["detail"]
    finally:
        os.kill(pid, signal.SIGCONT)
    until(lambda: turn(server, advance="1h").status == 200, 20, "Redis answers again")


def test_a_token_needs_its_scope_and_all_topics(manual, topic):
    tokens = TokenFile()
    ops, view, shop = tokens.add("ops", ["admin"]), tokens.add("view", ["read"]), tokens.add("shop", ["admin", "read"], topics=topic)
    server = manual("--tokens", str(tokens.path), ready=False)
    turn(server.with_token(ops), advance=1).expect(200)
    server.with_token(ops).get("/clock").expect(403)
    server.with_token(view).get("/clock").expect(200)
    turn(server.with_token(view), advance=1).expect(403)
    turn(server.with_token(shop), advance=1).expect(403)
    server.with_token(shop).get("/clock").expect(403)
    turn(server, advance=1).expect(401)


def test_the_clock_stands_where_it_stood_after_a_restart(manual, data):
    server = manual(data=data)
    later = turn(server, advance="30d").expect(200)["now"]
    server.stop()
    server = manual(data=data)
    assert shown(server)["now"] == later
    server.stop()
    result = run("--listen", "127.0.0.1:0", "--data", str(data))
    assert result.returncode == 1 and "the data follows a manual clock; start duepost with --clock manual" in result.stderr


def test_data_with_the_clock_of_redis_does_not_get_a_manual_one(start, data):
    start(data=data).stop()
    result = run("--clock", "manual", "--listen", "127.0.0.1:0", "--data", str(data))
    assert result.returncode == 1 and "the data follows the clock of Redis" in result.stderr


# ---- duepost clock ----

def command(server, *words, status=0):
    result = run("clock", *words, "--server", server.url)
    assert result.returncode == status, (result.returncode, result.stdout, result.stderr)
    return result.stdout if status == 0 else result.stderr


def test_the_command_shows_and_turns_the_clock(manual, receiver, topic):
    server = manual("--retry-schedule", "1h")
    now = shown(server)["now"]
    assert command(server).splitlines() == [f"now        {now}", "next       no event comes", "in flight  0"]
    receiver.script(topic, 503, 200)
    server.schedule(topic=topic, jobId="a", url=receiver.url(), dueAt=from_ms(to_ms(now) + HOUR))
    assert f"next       {from_ms(to_ms(now) + HOUR)}, in 1h" in command(server)
    titles, row, *rest = command(server, "advance", "90m").splitlines()
    assert titles.split() == ["AT", "TOPIC", "JOB", "EVENT", "ATTEMPT", "RESULT", "OUTCOME", "NEXT"]
    assert row.split() == [from_ms(to_ms(now) + HOUR), topic, "a", "attempt", "1", "503", "retry", from_ms(to_ms(now) + 2 * HOUR)]
    assert rest[0] == f"now        {from_ms(to_ms(now) + HOUR * 3 // 2)}"
    answer = json.loads(command(server, "to", from_ms(to_ms(now) + 3 * HOUR), "--json"))
    assert answer["reached"] and answer["now"] == answer["to"] == from_ms(to_ms(now) + 3 * HOUR) and answer["inFlight"] == 0
    assert [entry["outcome"] for entry in answer["fired"]] == ["delivered"]
    assert json.loads(command(server, "--json")) == {"clock": "manual", "now": answer["now"], "inFlight": 0}


def test_the_command_repeats_until_the_clock_is_there(manual, receiver, topic):
    server = manual()
    jobs = [{"topic": topic, "jobId": f"{number:04}", "url": receiver.url(), "delay": 2 * (number // 100) + 1} for number in range(2400)]
    server.request("POST", "/jobs", json.dumps(jobs), {"Content-Type": "application/json"}).expect(207)
    answer = json.loads(command(server, "until-idle", "--most", "24s", "--json"))
    assert sorted(entry["jobId"] for entry in answer["fired"]) == [f"{number:04}" for number in range(1200)]
    rows = command(server, "until-idle").splitlines()
    assert len(rows) == 1 + 1200 + 3 and rows[-2] == "next       no event comes"
    assert receiver.count(topic) == 2400


@pytest.mark.parametrize("words, reason", [
    (["advance"], "expected advance and a duration"), (["advance", "soon"], "expected advance and a duration"), (["to", "+1h"], "a time as RFC 3339"),
    (["until-idle", "1h"], "or until-idle"), (["backwards"], "or until-idle"), (["advance", "1h", "--most", "2h"], "--most"),
])
def test_a_wrong_command_line_sends_nothing(manual_server, words, reason):
    before = shown(manual_server)
    assert reason in command(manual_server, *words, status=2)
    assert shown(manual_server) == before


def test_the_command_says_that_a_server_has_no_manual_clock(server):
    assert "duepost --clock manual" in command(server, "advance", "1h", status=1)
    assert "duepost --clock manual" in command(server, status=1)
