"""--clock manual: what a move of the clock waits for, and what it does not wait for."""

import concurrent.futures
import json
import time

import pytest

from patience import SLOW, until
from timestamp import from_ms, to_ms

JSON = {"Content-Type": "application/json"}


@pytest.fixture
def manual(start):
    """manual(...) starts a server with a manual clock."""
    return lambda *options, **named: start("--clock", "manual", *options, **named)


def turn(server, **body):
    """Turns the clock until it is there. Returns the last answer, with the entries of all answers."""
    fired, end = [], time.monotonic() + 60 * SLOW
    while True:
        page = server.request("POST", "/clock", json.dumps(body), JSON).expect(200)
        fired += page["fired"]
        if page["reached"] and not page["more"]:
            return {**page, "fired": fired}
        assert time.monotonic() < end, page
        body.pop("advance", None)
        if "to" in page:
            body["to"] = page["to"]


def put(server, path, body):
    assert server.request("PUT", path, json.dumps(body), JSON).status in (200, 201)


def now_ms(server):
    return to_ms(server.get("/clock").expect(200)["now"])


def test_a_schedule_without_room_in_the_pool_does_not_stop_the_clock(manual, receiver, topic):
    """The pool is full with a job that waits for the clock. The schedule fires when this job has ended, as it would in production."""
    server = manual("--max-jobs", "1")
    server.schedule(topic=topic, jobId="first", url=receiver.url(), delay=3600)
    put(server, f"/schedules/{topic}/s", {"every": 1500, "overlap": "skip", "job": {"url": receiver.url()}})
    begin = now_ms(server)
    answer = turn(server, advance=4600)
    attempts = [(entry["jobId"].split("~")[0], (to_ms(entry["at"]) - begin) // 1000) for entry in answer["fired"] if entry["event"] == "attempt"]
    assert attempts[0] == ("first", 3600) and attempts[1] == ("s", 3600), attempts
    assert to_ms(answer["now"]) - begin == 4600 * 1000 and receiver.count(topic) == len(attempts)


def test_all_lanes_of_a_topic_are_offered_at_their_time(manual, receiver, topic):
    """Lanes are offered in steps. The first steps find only lanes that are paused."""
    server, lanes, free = manual(), 200, 5
    put(server, f"/topics/{topic}", {"perKey": {"maxInFlight": 1}})
    for number in range(lanes - free):
        put(server, f"/topics/{topic}/keys/{number:03}", {"paused": True})
    due = from_ms(now_ms(server) + 3600000)
    server.schedule_many([{"topic": topic, "jobId": f"{number:03}", "key": f"{number:03}", "url": receiver.url(), "dueAt": due} for number in range(lanes)])
    answer = turn(server, to=due)
    assert sorted(entry["jobId"] for entry in answer["fired"]) == [f"{number:03}" for number in range(lanes - free, lanes)]
    assert answer["now"] == due and {entry["at"] for entry in answer["fired"]} == {due}


def test_a_delay_is_over_when_the_clock_was_moved_by_it(manual, receiver, topic):
    server = manual("--retry-schedule", "1h")
    server.schedule(topic=topic, jobId="a", url=receiver.url(), delay=3600)
    receiver.script(topic, 503, 200)
    assert [entry["outcome"] for entry in turn(server, advance=3600)["fired"]] == ["retry"]
    assert [entry["outcome"] for entry in turn(server, advance=3600)["fired"]] == ["delivered"]


def test_ten_years_ahead_count_from_what_the_clock_shows(manual, receiver, topic):
    server, year = manual(), 365 * 86400
    turn(server, advance=9 * year)
    server.schedule(topic=topic, jobId="a", url=receiver.url(), delay=60)

    def reschedule(years):
        due = from_ms(now_ms(server) + years * year * 1000)
        return due, server.request("POST", f"/jobs/reschedule?state=delayed&topic={topic}&all=true&dueAt={due}", check=years < 10)
    due, reply = reschedule(9)
    assert reply.expect(200)["done"] == 1 and server.job(topic, "a")["dueAt"] == due
    assert "within 10 years" in reschedule(11)[1].expect(400)["errors"][0]["detail"]


@pytest.mark.parametrize("rate", [{"jobs": 997, "per": 7.3, "burst": 2}, {"jobs": 1000, "per": 0.7}, {"jobs": 7, "per": 0.7, "window": True}], ids=str)
def test_a_rate_of_fractions_does_not_stop_the_clock(manual, receiver, topic, rate):
    """The next attempt may begin a fraction of a microsecond after the time that the clock shows."""
    server = manual()
    put(server, f"/topics/{topic}", {"rate": rate, "order": "fifo"})
    begin = now_ms(server)
    server.schedule_many([{"topic": topic, "url": receiver.url(), "delay": 1} for _ in range(50)])
    answer = turn(server, untilIdle=True)
    assert len(answer["fired"]) == receiver.count(topic) == 50
    last, least = to_ms(answer["fired"][-1]["at"]) - begin, 1000 + (50 - rate.get("burst", 1)) * 1000 * rate["per"] / rate["jobs"]
    assert "window" in rate or least - 105 <= last <= least + 55, (last, least)


def test_a_worker_that_waits_gets_the_job_when_the_clock_shows_its_time(manual, topic):
    server = manual()
    put(server, f"/topics/{topic}", {"delivery": "pull"})
    server.schedule(topic=topic, jobId="a", delay=3600)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        leased = pool.submit(lambda: server.request("POST", f"/topics/{topic}/lease", '{"wait": 8}', JSON).expect(200)["jobs"])
        until(lambda: "duepost_waiting_leases 1" in server.get("/metrics").body.decode(), 10, "the worker waits")
        turn(server, advance=3600)
        assert [job["jobId"] for job in leased.result(2 * SLOW)] == ["a"]
