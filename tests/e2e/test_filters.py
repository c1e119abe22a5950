"""Jobs that match a filter: listed, counted, cancelled, run again."""

import json
import time

from patience import SLOW, until, watch
from receiver import Answer
from timestamp import from_ms, to_ms

JSON = {"Content-Type": "application/json"}
FAR = 1_893_456_000_000  # 2030


def schedule(server, topic, receiver, count, **more):
    for i in range(count):
        server.schedule(topic=topic, jobId=f"j{i:03}", **{"url": receiver.url(), "dueAt": from_ms(FAR + i), **more})


def bury(server, receiver, topic, count):
    receiver.script(topic, *[410] * count, 200)
    for i in range(count):
        server.schedule(topic=topic, jobId=f"j{i:03}", url=receiver.url())
    until(lambda: server.get(f"/jobs/count?state=dead&topic={topic}").expect(200)["count"] == count, 10, "all dead")


def found(server, query, path="/jobs"):
    page = server.get(f"{path}?{query}").expect(200)
    ids = [job["jobId"] for job in page["jobs"]]
    while "cursor" in page:
        page = server.get(f"{path}?{query}&cursor={page['cursor']}").expect(200)
        ids += [job["jobId"] for job in page["jobs"]]
    return ids


def count(server, query):
    return server.get(f"/jobs/count?{query}").expect(200)["count"]


def test_jobs_are_found_by_time(server, receiver, topic):
    schedule(server, topic, receiver, 6)
    delayed = f"state=delayed&topic={topic}"
    assert found(server, f"{delayed}&dueAfter={from_ms(FAR + 2)}&dueBefore={from_ms(FAR + 4)}") == ["j002", "j003"]
    assert found(server, f"{delayed}&dueAfter={from_ms(FAR + 2)}&limit=1") == ["j002", "j003", "j004", "j005"]
    assert count(server, f"{delayed}&dueBefore={from_ms(FAR + 4)}") == 4
    assert count(server, f"{delayed}&dueAfter={from_ms(FAR + 6)}") == 0


def test_jobs_are_found_by_host(server, receiver, topic):
    schedule(server, topic, receiver, 3)
    server.schedule(topic=topic, jobId="other", url="https://Hooks.Example:8443/x", delay=60)
    delayed = f"state=delayed&topic={topic}"
    host = receiver.url().split("/")[2]
    assert found(server, f"{delayed}&urlHost={host}&limit=2") == ["j000", "j001", "j002"]
    assert found(server, f"{delayed}&urlHost=HOOKS.example") == ["other"]
    assert found(server, f"{delayed}&urlHost=hooks.example%3A8443") == ["other"]
    assert found(server, f"{delayed}&urlHost=hooks.example:1") == []
    assert count(server, f"{delayed}&urlHost={host}") == 3


def test_the_dead_are_found_by_what_they_died_of(start, receiver, topic):
    """One call redrives the jobs that died with 5xx, and not those that died with 410."""
    server = start("--breaker", "off", "--retry-schedule", "")
    for job_id, answer in (("a-gone", 410), ("a-503", 503), ("b-500", 500), ("b-404", 404), ("b-503", 503)):
        receiver.script(topic, answer, 200, job_id=job_id)
        server.schedule(topic=topic, jobId=job_id, url=receiver.url(), body={"reason": "gone", "lastAttempt": {"status": 410}})
    dead = f"state=dead&topic={topic}"
    until(lambda: count(server, dead) == 5, 10, "all but one dead")
    server.request("PUT", f"/topics/{topic}", json.dumps({"paused": True}), JSON).expect(200)
    server.schedule(topic=topic, jobId="late", url=receiver.url(), headers={"reason": "gone"}, delay=0.001, ttl=0.01)
    time.sleep(0.02)  # the job expires while it cannot be sent
    server.request("PUT", f"/topics/{topic}", json.dumps({"paused": False}), JSON).expect(200)
    until(lambda: count(server, dead) == 6, 10, "all dead")
    assert sorted(found(server, f"{dead}&lastStatus=410&limit=1")) == ["a-gone"]
    assert sorted(found(server, f"{dead}&lastStatus=5xx&limit=2")) == ["a-503", "b-500", "b-503"]
    assert sorted(found(server, f"{dead}&lastStatus=500,404")) == ["b-404", "b-500"]
    assert sorted(found(server, f"{dead}&lastStatus=503&idPrefix=b-")) == ["b-503"]
    assert found(server, f"{dead}&reason=gone") == ["a-gone"]
    assert found(server, f"{dead}&reason=expired,none_such") == ["late"]
    assert count(server, f"{dead}&lastStatus=5xx") == 3 and count(server, f"{dead}&idPrefix=a-") == 2
    page = server.request("POST", f"/jobs/redrive?topic={topic}&lastStatus=5xx&all=true").expect(200)
    assert page == {"matched": 3, "done": 3, "skipped": 0}
    until(lambda: count(server, dead) == 3, 10, "the others stay")
    assert sorted(found(server, dead)) == ["a-gone", "b-404", "late"]
    assert server.request("DELETE", f"/jobs?{dead}&idPrefix=b&lastStatus=4xx&limit=5").expect(200)["done"] == 1


def test_the_dead_are_found_by_when_they_died(server, receiver, topic):
    bury(server, receiver, topic, 3)
    dead = f"state=dead&topic={topic}"
    died = sorted(job["deadAt"] for job in server.get(f"/jobs?{dead}").expect(200)["jobs"])
    assert count(server, f"{dead}&diedAfter={died[0]}") == 3
    assert count(server, f"{dead}&diedBefore={died[0]}") == 0
    assert count(server, f"{dead}&diedAfter={died[2]}") == died.count(died[2])
    assert server.request("POST", f"/jobs/redrive?topic={topic}&diedBefore={died[0]}&all=true").expect(200)["matched"] == 0
    for query in (f"{dead}&dueAfter={died[0]}", f"state=leased&dueBefore={died[0]}", f"state=delivered&topic={topic}&dueBefore={died[0]}"):
        assert server.get(f"/jobs?{query}").fields() == [query.split("&")[-1].split("=")[0]]
    assert server.get(f"/jobs?state=delayed&topic={topic}&diedAfter={died[0]}&reason=gone&endedBefore={died[0]}").fields() == [
        "diedAfter", "reason", "endedBefore"]


def test_jobs_are_found_by_the_beginning_of_their_ids(server, receiver, topic):
    for job_id in ("a-1", "a-2", "b-1", "ä 1"):
        server.schedule(topic=topic, jobId=job_id, url=receiver.url(), delay=3600)
    delayed = f"state=delayed&topic={topic}"
    assert sorted(found(server, f"{delayed}&idPrefix=a-&limit=1")) == ["a-1", "a-2"]
    assert found(server, f"{delayed}&idPrefix=%C3%A4%20") == ["ä 1"]
    assert server.request("DELETE", f"/jobs?{delayed}&idPrefix=a-&all=true").expect(200)["done"] == 2
    assert count(server, delayed) == 2
    for wrong in ("idPrefix=", "lastStatus=5", "lastStatus=600", "lastStatus=6xx", "lastStatus=503,", "lastStatus=x", "reason=", "reason=A", "reason=a b"):
        assert server.get(f"/jobs?state=dead&topic={topic}&{wrong.replace(' ', '%20')}").fields() == [wrong.split("=")[0]]


def test_more_jobs_than_one_request_looks_at_are_counted_page_by_page(server, receiver, topic):
    server.schedule_many([{"topic": topic, "url": receiver.url(), "delay": 3600} for _ in range(10_050)])
    host = receiver.url().split("/")[2]
    page = server.get(f"/jobs/count?state=delayed&topic={topic}&urlHost={host}").expect(200)
    rest = server.get(f"/jobs/count?state=delayed&topic={topic}&urlHost={host}&cursor={page['cursor']}").expect(200)
    assert page["count"] == 10_000 and rest == {"count": 50}
    assert server.get(f"/jobs/count?state=delayed&topic={topic}").expect(200) == {"count": 10_050}


def test_jobs_that_a_filter_finds_are_cancelled(server, receiver, topic):
    schedule(server, topic, receiver, 10)
    query = f"state=delayed&topic={topic}&dueBefore={from_ms(FAR + 7)}"
    page = server.request("DELETE", f"/jobs?{query}&all=true&pageLimit=5").expect(200)
    assert (page["matched"], page["done"]) == (5, 5)
    page = server.request("DELETE", f"/jobs?{query}&all=true&cursor={page['cursor']}").expect(200)
    assert page == {"matched": 2, "done": 2, "skipped": 0}
    assert found(server, f"state=delayed&topic={topic}") == ["j007", "j008", "j009"]
    assert server.request("DELETE", f"/jobs?{query}&all=true").expect(200) == {"matched": 0, "done": 0, "skipped": 0}


def test_dead_jobs_that_a_filter_finds_are_run_again(server, receiver, topic):
    bury(server, receiver, topic, 6)
    page = server.request("POST", f"/jobs/redrive?topic={topic}&all=true&pageLimit=4").expect(200)
    assert (page["matched"], page["done"]) == (4, 4)
    until(lambda: receiver.count(topic) == 10, 5, "four deliveries more")
    assert count(server, f"state=dead&topic={topic}") == 2
    server.request("POST", f"/jobs/redrive?topic={topic}&state=dead&all=true&cursor={page['cursor']}").expect(200)
    until(lambda: receiver.count(topic) == 12, 5, "the rest")


def test_dead_jobs_of_all_topics_are_run_again_only_with_state_dead(start, receiver, topic):
    server = start()
    for name in (topic + ".a", topic + ".b"):
        bury(server, receiver, name, 2)
    assert server.request("POST", "/jobs/redrive?all=true").fields() == ["topic"]
    assert server.request("POST", "/jobs/redrive?state=ready&topic=a&limit=1").fields() == ["state"]
    assert server.request("POST", "/jobs/redrive?state=dead&all=true").expect(200) == {"matched": 4, "done": 4, "skipped": 0}
    until(lambda: receiver.count(topic + ".a") + receiver.count(topic + ".b") == 8, 5, "all deliveries")


def test_a_topics_rate_limits_jobs_that_are_run_again(server, receiver, topic):
    bury(server, receiver, topic, 20)
    server.request("PUT", f"/topics/{topic}", json.dumps({"rate": {"jobs": 10, "per": 1}}), JSON).expect(200)
    server.request("POST", f"/jobs/redrive?topic={topic}&all=true").expect(200)
    watch(0.8, lambda: receiver.count(topic) <= 30, "more than the rate allows")
    until(lambda: receiver.count(topic) == 40, 10, "all deliveries")


def test_jobs_that_are_run_again_are_spread_over_time(server, receiver, topic):
    bury(server, receiver, topic, 9)
    path, begin_ms, cursor = f"/jobs/redrive?topic={topic}&perSecond=0.5&all=true&pageLimit=4", time.time() * 1000, ""
    for done in (4, 4, 1):
        page = server.request("POST", path + cursor).expect(200)
        assert (page["matched"], page["done"]) == (done, done)
        cursor = f"&cursor={page.get('cursor')}"
    waits = sorted((to_ms(job["dueAt"]) - begin_ms) / 1000 for job in
                   server.get(f"/jobs?state=delayed&topic={topic}").expect(200)["jobs"])
    assert len(waits) >= 8  # the first of the 9 jobs is due at once, so it may no longer be delayed
    assert all(1.99 < after - before < 2.01 + 2 * SLOW for before, after in zip(waits, waits[1:]))
    assert 15.99 < waits[-1] < 16.5 + 8 * SLOW
    for wrong in ("0", "-1", "x", "1000001", "0.0001"):
        assert server.request("POST", f"/jobs/redrive?topic={topic}&all=true&perSecond={wrong}").fields() == ["perSecond"]
    assert server.request("POST", f"/jobs/redrive?topic={topic}&all=true&cursor=x!").fields() == ["cursor"]
    assert server.get(f"/jobs?state=dead&perSecond=1").fields() == ["perSecond"]


def test_leased_jobs_are_cancelled_too(server, receiver, topic):
    receiver.script(topic, Answer(500, delay=0.7))
    server.schedule(topic=topic, jobId="a", url=receiver.url(), retrySchedule=[0.1])
    server.wait_for_state(topic, "a", "leased")
    assert server.request("DELETE", f"/jobs?state=leased&topic={topic}&all=true").expect(200) == {"matched": 1, "done": 1, "skipped": 0}
    watch(1.2, lambda: receiver.count(topic) <= 1, "an attempt after the cancel")


def test_a_filter_that_cannot_be_is_refused(server, start, topic):
    bad = "topic=a&diedAfter=soon&diedBefore=1960-01-01&urlHost=a/b&urlHost=b&x=1&state=dead"
    for method, path in (("GET", "/jobs"), ("GET", "/jobs/count"), ("DELETE", "/jobs"), ("POST", "/jobs/redrive")):
        bound = "" if method == "GET" else "&limit=1"
        assert server.request(method, f"{path}?{bad}{bound}").fields() == ["diedAfter", "diedBefore", "urlHost", "urlHost", "x"]
    assert server.request("DELETE", "/jobs").fields() == ["state", "limit"]
    assert server.request("DELETE", f"/jobs?topic={topic}&all=true").fields() == ["state"]
    server.request("POST", "/jobs/count").expect(405)
    server.get("/jobs/redrive").expect(405)
    away = start("--redis", "redis://127.0.0.1:1", ready=False)
    away.get("/jobs/count?state=dead").expect(503)
    away.request("DELETE", "/jobs?state=dead&all=true").expect(503)
    away.request("POST", "/jobs/redrive?state=dead&all=true").expect(503)
