"""Lists of jobs: each job that does not change is listed exactly once, whatever other jobs do meanwhile, and the list
ends."""

import json
import random
import time

from patience import until
from receiver import HANG
from test_filters import FAR, JSON, count
from timestamp import from_ms


def pages(server, query, between=lambda number: None):
    """Returns a list of the ids of each page."""
    cursor, number = "", 0
    while cursor is not None:
        page = server.get(f"/jobs?{query}{cursor}").expect(200)
        yield [job["jobId"] for job in page["jobs"]]
        cursor = f"&cursor={page['cursor']}" if "cursor" in page else None
        number += 1
        assert number < 1000, "the list does not end"
        between(number)


def test_leased_jobs_are_listed_exactly_once_while_their_leases_are_renewed(start, receiver, topic):
    """Leases change all the time: 160 leases, renewed every 2 s, are listed over more than 5 s."""
    server = start("--max-in-flight", "400", "--max-in-flight-topic", "400")
    for name in (topic, topic + ".other"):
        receiver.script(name, HANG)
    ids = [f"j{i:03}" for i in range(160)]
    server.schedule_many([{"topic": topic, "jobId": job_id, "url": receiver.url(), "timeout": 120} for job_id in ids])
    server.schedule_many([{"topic": topic + ".other", "jobId": f"o{i}", "url": receiver.url(), "timeout": 120} for i in range(20)])
    until(lambda: count(server, "state=leased") == 180, 10, "all leased")

    def wait(number):
        if number % 4 == 0:
            renewed = time.monotonic() + 0.6
            until(lambda: time.monotonic() > renewed, 5, "some leases are renewed")
    seen = [job_id for page in pages(server, f"state=leased&topic={topic}&limit=5", wait) for job_id in page]
    assert sorted(seen) == ids
    seen = [job_id for page in pages(server, "state=leased&limit=50") for job_id in page]
    assert sorted(seen) == sorted(ids + [f"o{i}" for i in range(20)])
    assert count(server, f"state=leased&topic={topic}") == 160
    host = receiver.url().split("/")[2]
    assert count(server, f"state=leased&topic={topic}.other&urlHost={host}") == 20
    assert server.request("DELETE", f"/jobs?state=leased&topic={topic}&limit=1000").expect(200) == {
        "matched": 160, "done": 160, "skipped": 0}


# ---- all topics ----

def schedule_in_topics(server, receiver, topic, topics, jobs):
    """Schedules jobs of several topics with interleaved due times, some of them equal. Returns the ids in the order
    of their due times."""
    made = [(FAR + (7 * i + 3 * t) // 2, f"{topic}.{t:02}", f"j{i:02}") for t in range(topics) for i in range(jobs)]
    server.schedule_many([{"topic": name, "jobId": job_id, "url": receiver.url(), "dueAt": from_ms(at)} for at, name, job_id in made])
    return [f"{name}/{job_id}" for at, name, job_id in sorted(made, key=lambda job: (job[0], f"{job[1]}/{job[2]}"))]


def names(page):
    return [f"{job['topic']}/{job['jobId']}" for job in page["jobs"]]


def walk(server, query):
    cursor, found = "", []
    while cursor is not None:
        page = server.get(f"/jobs?{query}{cursor}").expect(200)
        found += names(page)
        assert "partial" not in page
        cursor = f"&cursor={page['cursor']}" if "cursor" in page else None
    return found


def test_delayed_jobs_of_all_topics_are_listed_by_their_due_times(start, receiver, topic):
    server = start()
    expected = schedule_in_topics(server, receiver, topic, 9, 12)
    for limit in (1, 7, 50, 1000):
        assert walk(server, f"state=delayed&limit={limit}") == expected
        assert walk(server, f"state=delayed&limit={limit}&order=newest") == expected[::-1]
    assert walk(server, f"state=delayed&limit=10&dueAfter={from_ms(FAR + 5)}&dueBefore={from_ms(FAR + 30)}") == [
        name for name in expected if 5 <= (7 * int(name[-2:]) + 3 * int(name.split("/")[0][-2:])) // 2 < 30]
    assert walk(server, "state=delayed&limit=5&idPrefix=j03") == [name for name in expected if name.endswith("j03")]
    assert count(server, "state=delayed") == len(expected)
    assert count(server, f"state=delayed&dueBefore={from_ms(FAR + 30)}") == len(
        walk(server, f"state=delayed&dueBefore={from_ms(FAR + 30)}&limit=1000"))
    assert walk(server, f"state=delayed&topic={topic}.03&order=newest&limit=5") == [
        name for name in expected[::-1] if name.startswith(f"{topic}.03/")]
    page = server.request("DELETE", f"/jobs?state=delayed&idPrefix=j0&limit=1000").expect(200)
    assert page == {"matched": 90, "done": 90, "skipped": 0}
    assert walk(server, "state=delayed&limit=7") == [name for name in expected if "/j0" not in name]


def test_jobs_of_one_time_are_listed_by_arrival_in_their_topic_then_by_name(start, receiver):
    """The order is that of the texts topic/id, slash included: a-b/1 is before a/1, and a0/1 is after both."""
    server = start()
    topics = ("b", "a0", "a", "a.c", "a-b")
    for i in range(4):
        for name in topics:
            server.schedule(topic=name, jobId=f"j{i}", url=receiver.url(), dueAt=from_ms(FAR))
    expected = [name for i in range(4) for name in sorted(f"{topic}/j{i}" for topic in topics)]
    for limit in (1, 3, 7):
        assert walk(server, f"state=delayed&limit={limit}") == expected
        assert walk(server, f"state=delayed&limit={limit}&order=newest") == expected[::-1]


def test_a_list_without_a_state_has_all_jobs(start, receiver, topic):
    server = start("--breaker", "off", "--max-in-flight-topic", "3")
    server.request("PUT", f"/topics/{topic}.paused", json.dumps({"paused": True}), JSON).expect(200)
    receiver.script(topic + ".busy", HANG)
    receiver.script(topic + ".dead", 410)
    for i in range(5):
        server.schedule(topic=topic + ".paused", jobId=f"p{i}", url=receiver.url())
        server.schedule(topic=topic + ".paused", jobId=f"l{i}", url=receiver.url(), delay=3600)
        server.schedule(topic=topic + ".busy", jobId=f"b{i}", url=receiver.url())
        server.schedule(topic=topic + ".dead", jobId=f"d{i}", url=receiver.url())
    until(lambda: (count(server, "state=dead"), count(server, "state=leased")) == (5, 3), 10, "5 dead, 3 leased")
    for query in ("limit=3", "limit=100", "limit=4&order=newest"):
        found = walk(server, query)
        assert len(found) == len(set(found)) == 20
    states, cursor = [], ""
    while cursor is not None:
        page = server.get(f"/jobs?limit=3{cursor}").expect(200)
        states += [job["state"] for job in page["jobs"]]
        cursor = f"&cursor={page['cursor']}" if "cursor" in page else None
    assert states == ["leased"] * 3 + ["ready"] * 7 + ["delayed"] * 5 + ["dead"] * 5
    assert count(server, "") == 20 and count(server, f"topic={topic}.paused") == 10 and count(server, "idPrefix=d") == 5
    assert sorted(walk(server, f"topic={topic}.paused&limit=4")) == sorted(f"{topic}.paused/{kind}{i}" for kind in "pl" for i in range(5))
    assert len(walk(server, "diedAfter=2001-01-01T00:00:00Z")) == 5  # diedAfter finds the dead jobs only
    assert len(walk(server, "dueAfter=2001-01-01T00:00:00Z")) == 12
    cursor = server.get("/jobs?limit=3").expect(200)["cursor"]
    assert server.get(f"/jobs?state=dead&cursor={cursor}").fields() == ["cursor"]
    assert server.get("/jobs?order=up").fields() == ["order"]


def test_the_dead_are_listed_newest_first(start, receiver, topic):
    server = start("--breaker", "off")
    receiver.script(topic, 410)
    for i in range(5):
        server.schedule(topic=topic, jobId=f"d{i}", url=receiver.url())
        server.wait_for_state(topic, f"d{i}", "dead")
    for query in (f"state=dead&topic={topic}", "state=dead"):
        for limit in (1, 2, 100):
            assert walk(server, f"{query}&order=newest&limit={limit}") == [f"{topic}/d{i}" for i in reversed(range(5))]
            assert walk(server, f"{query}&limit={limit}") == [f"{topic}/d{i}" for i in range(5)]


def test_jobs_that_stay_are_seen_once_while_others_come_and_go(start, receiver, topic):
    server = start()
    expected = schedule_in_topics(server, receiver, topic, 6, 20)
    stay = [name for i, name in enumerate(expected) if i % 3]
    chance, cursor, found = random.Random(1), "", []
    for i in range(200):
        page = server.get(f"/jobs?state=delayed&limit=9{cursor}").expect(200)
        found += names(page)
        if "cursor" not in page:
            break
        cursor = f"&cursor={page['cursor']}"
        for name in chance.sample(expected[::3], 3):
            server.request("DELETE", f"/jobs/{name}")
        server.schedule(topic=f"{topic}.{chance.randrange(9):02}", jobId=f"new{i}", url=receiver.url(), dueAt=from_ms(FAR + chance.randrange(80)))
    assert [name for name in found if name in stay] == stay
    assert len(set(found)) == len(found)


def test_beyond_10000_topics_a_list_of_all_says_that_it_is_partial(start, receiver, topic):
    server = start()
    jobs = [{"topic": f"{topic[:20]}.{i:05}", "jobId": "a", "url": receiver.url(), "dueAt": from_ms(FAR + i)} for i in range(10_100)]
    for part in (jobs[:5050], jobs[5050:]):
        server.request("POST", "/jobs", json.dumps(part), JSON, check=False).expect(207)
    page = server.get("/jobs?state=delayed&limit=3").expect(200)
    assert names(page) == [f"{topic[:20]}.{i:05}/a" for i in range(3)] and page["partial"] is True
    counted = server.get("/jobs/count?state=delayed").expect(200)
    assert counted == {"count": 10_000, "partial": True}


def test_a_cursor_that_was_cut_is_refused(server, topic):
    for number in range(4):
        server.schedule(topic=topic, jobId=f"j{number}", delay=3600, url="http://127.0.0.1:9/")
        server.request("PUT", f"/schedules/{topic}/s{number}", '{"every": 86400, "job": {"url": "http://127.0.0.1:9/"}}',
                       {"Content-Type": "application/json"}).expect(201)
        server.schedule(topic=f"{topic}-{number}", jobId="j", delay=3600, url="http://127.0.0.1:9/")
    for target in f"/jobs?topic={topic}&limit=2", f"/schedules/{topic}?limit=2", "/topics?limit=2":
        cursor = server.get(target).expect(200)["cursor"]
        server.get(f"{target}&cursor={cursor}").expect(200)
        for size in range(1, len(cursor)):
            assert server.get(f"{target}&cursor={cursor[:size]}").fields() == ["cursor"], (target, size)
