"""The member expectBy of schedules: the alert missed begins when no job of a schedule was delivered in time, and ends with a delivery."""

import json

from duepost import run
from patience import until, watch
from pull import end, lease_one, name
from receiver import Receiver
from redis_server import free_port, release_port
from test_alerting import JSON, await_reports, begun, put, reports

HOUR = {"every": "1h", "expectBy": "10m"}
PATCH = {"Content-Type": "application/merge-patch+json"}


def define(server, topic, schedule, receiver, **members):
    return server.request("PUT", f"/schedules/{topic}/{schedule}", json.dumps({**HOUR, "job": {"url": receiver.url()}, **members}), JSON).expect(201)


def shown(server, topic, schedule):
    return server.get(f"/schedules/{topic}/{schedule}").expect(200)


def patch(server, topic, schedule, **members):
    server.request("PATCH", f"/schedules/{topic}/{schedule}", json.dumps(members), PATCH).expect(200)


def prepared(manual, own, *options, **members):
    """Starts a server whose schedule orders/hourly reports to the receiver."""
    server, clock = manual("--breaker", "off", *options)
    put(server, "orders", {"on": "missed", "url": own.url()}).expect(200)
    define(server, "orders", "hourly", own, **members)
    return server, clock


def silent(server, own, seconds=1.5):
    watch(seconds, lambda: reports(own) == [] and begun(server) == [], lambda: reports(own))


def test_a_delivery_in_time(manual, own):
    server, clock = prepared(manual, own)
    first = shown(server, "orders", "hourly")
    assert (first["expectBy"], first["missed"]) == (600, False) and "deliveredAt" not in first
    clock.advance("1h")
    until(lambda: own.count("orders") == 1, 10, "the job")
    until(lambda: "deliveredAt" in shown(server, "orders", "hourly"), 10, "it is delivered")
    later = shown(server, "orders", "hourly")
    assert later["expectedUntil"] > first["expectedUntil"] and later["missed"] is False
    clock.advance("59m")
    silent(server, own)
    listed = server.get("/schedules/orders").expect(200)["schedules"][0]
    assert (listed["missed"], listed["deliveredAt"]) == (False, later["deliveredAt"])


def test_a_late_delivery_ends_the_alert(manual, own):
    server, clock = prepared(manual, own, job={"url": own.url(), "retrySchedule": ["12m", "12m"]})
    own.script("orders", 500)
    clock.advance("1h9m")
    silent(server, own)
    clock.advance("1m")
    fired = await_reports(own, "missed", "fired")
    assert (fired["topic"], fired["scheduleId"]) == ("orders", "hourly") and "receiver" not in fired and "deliveredAt" not in fired
    assert fired["text"].startswith("orders/hourly: no occurrence was delivered by 20"), fired
    assert begun(server) == [{"alert": "missed", "topic": "orders", "scheduleId": "hourly", "since": fired["since"]}]
    now = shown(server, "orders", "hourly")
    assert (now["missed"], now["expectedUntil"]) == (True, fired["expectedUntil"])
    assert "fired, not delivered in time" in run("schedules", "--server", server.url).stdout
    own.script("orders", 200)
    clock.advance("2m")
    ended = await_reports(own, "missed", "resolved")
    assert ended["since"] == fired["since"] and ended["expectedUntil"] > fired["expectedUntil"] and "in time again" in ended["text"]
    assert ended["deliveredAt"] == shown(server, "orders", "hourly")["deliveredAt"] and begun(server) == []


def test_a_dead_job_is_made_up_for_by_a_later_one(manual, own):
    server, clock = prepared(manual, own)
    own.script("orders", 410)
    clock.advance("1h11m")
    await_reports(own, "missed", "fired")
    clock.advance("1h")
    watch(1.5, lambda: len(reports(own)) == 1, "it is the same episode")
    own.script("orders", 200)
    clock.advance("49m")
    await_reports(own, "missed", "resolved")
    own.script("orders", 410)
    clock.advance("1h10m")
    await_reports(own, "missed", "fired", 2)


def test_a_dead_job_that_runs_again_and_a_run_end_it(manual, own):
    server, clock = prepared(manual, own)
    own.script("orders", 410)
    clock.advance("1h11m")
    await_reports(own, "missed", "fired")
    own.script("orders", 200)
    job = server.get("/jobs?state=dead&topic=orders").expect(200)["jobs"][0]["jobId"]
    server.request("POST", f"/jobs/orders/{job}/run").expect(202)
    await_reports(own, "missed", "resolved")
    own.script("orders", 410)
    clock.advance("1h")
    await_reports(own, "missed", "fired", 2)
    own.script("orders", 200)
    server.request("POST", "/schedules/orders/hourly/run").expect(202)
    await_reports(own, "missed", "resolved", 2)


def test_a_paused_schedule_is_not_expected(manual, own):
    server, clock = prepared(manual, own)
    own.script("orders", 410)
    clock.advance("1h11m")
    await_reports(own, "missed", "fired")
    patch(server, "orders", "hourly", paused=True)
    ended = await_reports(own, "missed", "resolved")
    assert "expectedUntil" not in ended and "paused" in ended["text"]
    assert {"missed", "expectedUntil"}.isdisjoint(shown(server, "orders", "hourly"))
    clock.advance("5h")
    watch(1.5, lambda: len(reports(own)) == 2, "nothing is expected")
    patch(server, "orders", "hourly", paused=None)
    assert shown(server, "orders", "hourly")["missed"] is False, "it is expected from its next time on"
    clock.advance("1h11m")
    await_reports(own, "missed", "fired", 2)


def test_jobs_that_are_held_are_missed(manual, own):
    server, clock = prepared(manual, own)
    server.request("PATCH", "/topics/orders", '{"paused": true}', PATCH).expect(200)
    clock.advance("1h11m")
    await_reports(own, "missed", "fired")
    server.request("PATCH", "/topics/orders", '{"paused": false}', PATCH).expect(200)
    await_reports(own, "missed", "resolved")


def test_a_group_is_delivered_when_all_its_jobs_are(manual, own):
    server, clock = prepared(manual, own, job={"group": "branches"})
    clock.advance("1h11m")
    await_reports(own, "missed", "fired")  # there is no such group
    south = Receiver()
    south.script("orders", 410)
    try:
        endpoints = {"north": {"url": own.url()}, "south": {"url": south.url()}}
        server.request("PUT", "/groups/branches", json.dumps({"endpoints": endpoints}), JSON).expect(201)
        clock.advance("50m")
        until(lambda: own.count("orders") == south.count("orders") == 1, 10, "the jobs of the group")
        watch(1.5, lambda: len(reports(own)) == 1, "one of the jobs of the group is not delivered")
        south.script("orders", 200)
        clock.advance("1h")
        await_reports(own, "missed", "resolved")
    finally:
        south.stop()


def test_overlap_skips_what_is_not_expected(manual, own):
    server, clock = prepared(manual, own, overlap="skip", expectBy="90m", job={"url": own.url(), "retrySchedule": ["80m"]})
    own.script("orders", 500)
    clock.advance("2h10m")  # the second time is skipped, because the first job waits for its retry
    own.script("orders", 200)
    clock.advance("40m")
    silent(server, own)
    assert shown(server, "orders", "hourly")["missed"] is False
    clock.advance("3h")
    silent(server, own)


def test_changes_of_expect_by(manual, own):
    server, clock = prepared(manual, own)
    own.script("orders", 410)
    clock.advance("1h5m")
    patch(server, "orders", "hourly", expectBy="2m")
    await_reports(own, "missed", "fired")
    patch(server, "orders", "hourly", expectBy="50m")
    await_reports(own, "missed", "resolved")
    patch(server, "orders", "hourly", expectBy="1m")
    await_reports(own, "missed", "fired", 2)
    patch(server, "orders", "hourly", expectBy=None)
    await_reports(own, "missed", "resolved", 2)
    assert {"missed", "expectBy", "expectedUntil"}.isdisjoint(shown(server, "orders", "hourly"))
    patch(server, "orders", "hourly", expectBy="1m")
    assert shown(server, "orders", "hourly")["missed"] is False, "only times that come from now on are expected"


def test_a_deleted_schedule_ends_its_alert(manual, own):
    server, clock = prepared(manual, own)
    own.script("orders", 410)
    clock.advance("1h11m")
    await_reports(own, "missed", "fired")
    server.request("DELETE", "/schedules/orders/hourly").expect(200)
    assert "deleted" in await_reports(own, "missed", "resolved")["text"]


def test_a_worker_that_completes_delivers(manual, own):
    server, clock = manual()
    put(server, "orders", {"on": "missed", "url": own.url()}, delivery="pull").expect(200)
    define(server, "orders", "hourly", own, job={"body": 1})
    clock.advance("1h11m")
    await_reports(own, "missed", "fired")
    end(server, "complete", "orders", name(lease_one(server, "orders"))).expect(200)
    await_reports(own, "missed", "resolved")


def test_it_survives_deaths_of_processes(redis, start, own):
    behind = redis()
    first = start("--breaker", "off", redis=behind)
    put(first, "*", {"on": "missed", "url": own.url()}).expect(200)
    own.script("orders", 410)
    define(first, "orders", "often", own, every="2s", expectBy="4s")
    second = start("--breaker", "off", redis=behind)
    first.kill()
    fired = await_reports(own, "missed", "fired", seconds=60)
    third = start("--breaker", "off", redis=behind)
    second.kill()
    until(lambda: "carry_lock_taken" in third.log(), 30, "the third process has the lock")
    watch(7, lambda: len(reports(own)) == 1, "the alert is not reported again")
    own.script("orders", 200)
    assert await_reports(own, "missed", "resolved", seconds=60)["since"] == fired["since"]
    third.kill()


def test_no_process_was_there(redis, start, own):
    behind = redis()
    first = start(redis=behind)
    put(first, "*", {"on": "missed", "url": own.url()}).expect(200)
    port = free_port()
    define(first, "orders", "often", own, every="1s", expectBy="1s", misfire="skip", job={"url": f"http://127.0.0.1:{port}/"})
    first.kill()
    release_port(port)
    start(redis=behind)
    await_reports(own, "missed", "fired", seconds=60)


def test_wrong_members_are_refused(server, topic):
    for value in 0, "0s", -1, "1x", [], "11y", 315360001:
        reply = server.request("PUT", f"/schedules/{topic}/s", json.dumps({**HOUR, "expectBy": value, "job": {"url": "http://127.0.0.1/"}}), JSON, check=False)
        assert [error["field"] for error in reply.expect(400)["errors"]] == ["expectBy"], value
