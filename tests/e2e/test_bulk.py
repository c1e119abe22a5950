"""Bulk actions: jobs that a filter finds are cancelled or run again, unless they have changed meanwhile."""

import concurrent.futures
import json
import time

import pytest

from patience import until
from redis_gate import RedisGate
from test_filters import FAR, JSON, bury, count, found, schedule
from timestamp import from_ms, to_ms


@pytest.fixture
def gated(start, redis):
    """Yields a duepost whose commands to Redis pass a gate (RedisGate), which can hold them back; the gate; and
    another duepost on the same Redis, without a gate."""
    shared = redis()
    gate = RedisGate(shared)
    yield start("--breaker", "off", redis=gate.address), gate, start("--breaker", "off", redis=shared)
    gate.stop()


def with_change_between(gate, held, method, path, change):
    """Returns the answer to a bulk request that finds one job. The gate holds back the command that acts on the job
    until change() is confirmed."""
    server, key = held
    gate.hold(key)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        answer = pool.submit(server.request, method, path)
        gate.wait()
        change()
        gate.release()
        return answer.result().expect(200)


SKIPPED = {"matched": 1, "done": 0, "skipped": 1}


@pytest.mark.parametrize("method, path, done", [("DELETE", "/jobs?all=true&state=dead&topic=", 1), ("POST", "/jobs/redrive?all=true&topic=", 0)])
def test_a_job_that_was_put_under_the_id_of_a_dead_one_is_left_alone(gated, receiver, topic, method, path, done):
    """While another job has the id of a dead job, the dead job can be cancelled, but cannot be run again."""
    server, gate, other = gated
    bury(server, receiver, topic, 1)
    job = {"url": receiver.url(), "dueAt": from_ms(FAR)}

    def put():
        reply = other.request("PUT", f"/jobs/{topic}/j000", json.dumps(job), JSON)
        assert reply.status in (200, 201)
    answer = with_change_between(gate, (server, f"{topic}/j000"), method, path + topic, put)
    job = other.job(topic, "j000")
    assert job and job["state"] == "delayed" and job["dueAt"] == from_ms(FAR)
    assert answer == {"matched": 1, "done": done, "skipped": 1 - done}


def test_a_job_that_was_posted_under_the_id_of_a_dead_one_is_not_cancelled(gated, receiver, topic):
    server, gate, other = gated
    other.request("PUT", f"/topics/{topic}", json.dumps({"retention": 600}), JSON).expect(200)
    bury(server, receiver, topic, 1)
    job = {"topic": topic, "jobId": "j000", "url": receiver.url(), "dueAt": from_ms(FAR)}
    answer = with_change_between(gate, (server, f"{topic}/j000"), "DELETE", f"/jobs?state=dead&topic={topic}&all=true",
                                 lambda: other.post(job).expect(201))
    assert other.job(topic, "j000")["state"] == "delayed"
    assert answer["matched"] == 1 and answer["done"] + answer["skipped"] == 1


@pytest.mark.parametrize("method, path", [("DELETE", "/jobs?"), ("POST", "/jobs/run?"), ("POST", "/jobs/reschedule?delay=60&")])
def test_a_delayed_job_that_was_changed_meanwhile_is_left_alone(gated, receiver, topic, method, path):
    server, gate, other = gated
    schedule(server, topic, receiver, 1)
    patch = json.dumps({"body": {"amount": 2}})
    answer = with_change_between(
        gate, (server, f"{topic}/j000"), method, f"{path}state=delayed&topic={topic}&all=true",
        lambda: other.request("PATCH", f"/jobs/{topic}/j000", patch, {"Content-Type": "application/merge-patch+json"}).expect(200))
    job = other.job(topic, "j000")
    assert job["body"] == {"amount": 2} and job["dueAt"] == from_ms(FAR)
    assert answer == SKIPPED


def test_changes_during_a_bulk_action_are_confirmed_and_stay(start, redis, receiver, topic):
    """Clients replace jobs at random moments of a bulk action. Here no gate holds the action back."""
    server = start("--breaker", "off", redis=redis())
    total = 600
    server.schedule_many([{"topic": topic, "jobId": f"j{i}", "url": receiver.url(), "dueAt": from_ms(FAR)} for i in range(total)])

    def put(i):
        server.request("PUT", f"/jobs/{topic}/j{i}", json.dumps({"url": receiver.url(), "dueAt": from_ms(FAR + 1 + i)}), JSON)
        return i

    def cancel():
        cursor, skipped = "", 0
        while cursor is not None:
            page = server.request("DELETE", f"/jobs?state=delayed&topic={topic}&dueBefore={from_ms(FAR + 1)}&all=true{cursor}").expect(200)
            skipped += page["skipped"]
            cursor = f"&cursor={page['cursor']}" if "cursor" in page else None
        return skipped
    with concurrent.futures.ThreadPoolExecutor(9) as pool:
        puts = [pool.submit(put, i) for i in range(total)]
        cancels = [pool.submit(cancel) for _ in range(3)]
        for each in puts + cancels:
            each.result()
    assert count(server, f"state=delayed&topic={topic}") == total
    assert len(found(server, f"state=delayed&topic={topic}&limit=1000")) == total


# ---- a bulk action ends: it handles each job once ----

def test_a_job_that_dies_again_is_not_run_again_by_the_same_bulk_action(start, receiver, topic):
    """A job that dies again moves to a place behind the cursor of the list. A later page finds it there, and must
    skip it."""
    server = start("--breaker", "off")
    receiver.script(topic, *[410] * 200)
    server.schedule_many([{"topic": topic, "jobId": f"j{i:03}", "url": receiver.url()} for i in range(20)])
    until(lambda: count(server, f"state=dead&topic={topic}") == 20, 10, "all dead")
    cursor, done = "", 0
    for page_number in range(1, 41):
        page = server.request("POST", f"/jobs/redrive?topic={topic}&all=true&pageLimit=2{cursor}").expect(200)
        done += page["done"]
        if "cursor" not in page:
            break
        cursor = f"&cursor={page['cursor']}"
        until(lambda: receiver.count(topic) == 20 + done, 10, "the page's jobs have been POSTed")
        until(lambda: count(server, f"state=dead&topic={topic}") == 20, 10, "and are dead again")
    assert (page_number, done) == (11, 20) or (page_number, done) == (10, 20)
    until(lambda: receiver.count(topic) == 40, 10, "each was POSTed twice")


def test_a_bulk_action_finds_only_jobs_that_existed_at_its_first_page(server, receiver, topic):
    schedule(server, topic, receiver, 4)
    query = f"state=delayed&topic={topic}&limit=2"
    page = server.get(f"/jobs?{query}").expect(200)
    began = time.monotonic()
    until(lambda: time.monotonic() > began + 0.003, 5, "a later millisecond")
    for i in (4, 5):
        server.schedule(topic=topic, jobId=f"j{i:03}", url=receiver.url(), dueAt=from_ms(FAR + i))
    ids = [job["jobId"] for job in page["jobs"]]
    while "cursor" in page:
        page = server.get(f"/jobs?{query}&cursor={page['cursor']}").expect(200)
        ids += [job["jobId"] for job in page["jobs"]]
    assert ids == ["j000", "j001", "j002", "j003"]
    query = query.replace("limit", "all=true&pageLimit")
    page = server.request("DELETE", f"/jobs?{query}").expect(200)
    began = time.monotonic()
    until(lambda: time.monotonic() > began + 0.003, 5, "a later millisecond")
    server.schedule(topic=topic, jobId="new", url=receiver.url(), dueAt=from_ms(FAR + 9))
    done = page["done"]
    while "cursor" in page:
        page = server.request("DELETE", f"/jobs?{query}&cursor={page['cursor']}").expect(200)
        done += page["done"]
    assert done == 6 and found(server, f"state=delayed&topic={topic}") == ["new"]


def test_a_dry_run_changes_nothing(server, receiver, topic):
    bury(server, receiver, topic, 3)
    redrive = f"/jobs/redrive?topic={topic}&all=true&dryRun=true"
    assert server.request("POST", redrive).expect(200) == {"matched": 3, "done": 0, "skipped": 0}
    page = server.request("POST", redrive + "&pageLimit=2").expect(200)
    assert page["matched"] == 2
    assert server.request("POST", f"{redrive}&pageLimit=2&cursor={page['cursor']}").expect(200)["matched"] == 1
    assert server.request("DELETE", f"/jobs?state=dead&topic={topic}&limit=9&dryRun=true").expect(200)["matched"] == 3
    assert count(server, f"state=dead&topic={topic}") == 3
    assert server.request("POST", f"/jobs/redrive?topic={topic}&all=true&dryRun=yes").fields() == ["dryRun"]
    assert server.request("POST", f"/jobs/redrive?topic={topic}&all=true&dryRun=false").expect(200)["done"] == 3


def test_a_late_page_causes_no_burst(start, receiver, topic):
    """The jobs of the next page are spread over time. The first of them is due when this page is requested, or
    later."""
    server = start("--breaker", "off")
    bury(server, receiver, topic, 12)
    path = f"/jobs/redrive?topic={topic}&perSecond=4&all=true&pageLimit=6"
    page = server.request("POST", path).expect(200)
    until(lambda: receiver.count(topic) == 12 + 6, 10, "the first page's jobs have been POSTed")
    server.request("PUT", f"/topics/{topic}", json.dumps({"paused": True}), JSON).expect(200)
    late = time.monotonic() + 1.5
    until(lambda: time.monotonic() > late, 5, "the second page is late")
    asked_ms = time.time() * 1000
    server.request("POST", f"{path}&cursor={page['cursor']}").expect(200)
    jobs = [job for state in ("ready", "delayed")
            for job in server.get(f"/jobs?state={state}&topic={topic}").expect(200)["jobs"]]
    dues = sorted(to_ms(job["dueAt"]) for job in jobs)
    assert len(dues) == 6 and dues[0] >= asked_ms - 1
    assert dues[5] >= asked_ms + 1249 and dues[5] - dues[4] == 250


# ---- a bulk action needs a limit ----

ACTIONS = [("DELETE", "/jobs?"), ("POST", "/jobs/redrive?"), ("POST", "/jobs/run?"), ("POST", "/jobs/reschedule?delay=60&")]


@pytest.mark.parametrize("method, path", ACTIONS)
def test_a_bulk_action_needs_an_upper_bound(server, topic, method, path):
    target = f"{path}state=dead&topic={topic}"
    for more in ("", "&all=false", "&dryRun=true", "&pageLimit=10"):
        error, = server.request(method, target + more).expect(400)["errors"]
        assert error["field"] == "limit" and "limit=N" in error["detail"] and "all=true" in error["detail"]
    assert server.request(method, target + "&all=true&limit=1").fields() == ["all"]
    for wrong in ("limit=0", "limit=1000000001", "limit=x", "all=yes&limit=1", "pageLimit=1001&limit=1"):
        assert server.request(method, f"{target}&{wrong}").fields() == [wrong.split("=")[0]]
    for bound in ("all=true", "limit=1", "limit=1000000000"):
        assert server.request(method, f"{target}&{bound}").expect(200) == {"matched": 0, "done": 0, "skipped": 0}


def all_pages(server, method, path):
    """Returns the sums of the counts of all pages."""
    sums, cursor = {"matched": 0, "done": 0, "skipped": 0}, ""
    for _ in range(5000):  # a page without a topic looks into few topics, and other tests have left many
        page = server.request(method, path + cursor).expect(200)
        sums = {name: sums[name] + page[name] for name in sums}
        if "cursor" not in page:
            return sums
        cursor = f"&cursor={page['cursor']}"
    raise AssertionError(f"the walk does not end: {sums}, {page}")


def test_a_limit_counts_over_all_pages(server, receiver, topic):
    schedule(server, topic, receiver, 10)
    assert all_pages(server, "DELETE", f"/jobs?state=delayed&topic={topic}&limit=7&pageLimit=3") == {"matched": 7, "done": 7, "skipped": 0}
    assert found(server, f"state=delayed&topic={topic}") == ["j007", "j008", "j009"]


# ---- run ----

def test_waiting_jobs_are_run_now(server, receiver, topic):
    schedule(server, topic, receiver, 5)
    assert all_pages(server, "POST", f"/jobs/run?state=delayed&topic={topic}&limit=3") == {"matched": 3, "done": 3, "skipped": 0}
    until(lambda: receiver.count(topic) == 3, 20, "three deliveries")
    assert sorted(request.job_id for request in receiver.of(topic)) == ["j000", "j001", "j002"]
    assert all_pages(server, "POST", f"/jobs/run?state=delayed&topic={topic}&idPrefix=j004&all=true")["done"] == 1
    until(lambda: receiver.count(topic) == 4, 20, "one delivery more")
    for wrong, field in (("topic=a&all=true", "state"), ("state=leased&all=true", "state"), ("state=delivered&topic=a&all=true", "state"),
                         ("state=delayed&all=true&perSecond=1", "perSecond"), ("state=delayed&all=true&delay=1", "delay")):
        assert server.request("POST", f"/jobs/run?{wrong}").fields() == [field]


def test_a_job_that_waits_for_a_retry_is_not_run_again_by_the_same_bulk_action(start, receiver, topic):
    """A job whose attempt failed becomes due again later than the job at which the page ended. So a later page finds
    the failed job again, and must skip it."""
    server = start("--breaker", "off", "--retry-schedule", "2h")
    receiver.script(topic, *[500] * 100)
    for i in range(5):
        server.schedule(topic=topic, jobId=f"j{i}", url=receiver.url(), delay=3000 + i)
    path, cursor, done = f"/jobs/run?state=delayed&topic={topic}&all=true&pageLimit=2", "", 0
    for _ in range(20):
        page = server.request("POST", path + cursor).expect(200)
        done += page["done"]
        until(lambda: receiver.count(topic) == done and count(server, f"state=delayed&topic={topic}") == 5, 20, "the jobs wait again")
        if "cursor" not in page:
            break
        cursor = f"&cursor={page['cursor']}"
    assert done == 5 and receiver.count(topic) == 5
    assert all_pages(server, "POST", path)["done"] == 5  # a new bulk action, from its first page, runs the jobs again


def test_held_jobs_are_not_run_again_by_the_same_bulk_action(start, receiver, topic):
    """The receiver's breaker is open. So the jobs that the action has run are not attempted, but held: they wait
    again, and a later page finds them."""
    server = start("--breaker-wait", "600")
    receiver.script(topic, *[503] * 1000)
    for i in range(30):
        server.schedule(topic=topic, jobId=f"b{i}", url=receiver.url(), retrySchedule=[3600])
    until(lambda: any(each["state"] == "open" for each in server.get("/receivers").expect(200)["receivers"]), 30, "the breaker is open")
    until(lambda: count(server, f"state=ready&topic={topic}") + count(server, f"state=leased&topic={topic}") == 0, 30, "all wait")
    for i in range(6):
        server.schedule(topic=topic, jobId=f"j{i}", url=receiver.url(), dueAt=from_ms(FAR + i))
    path, cursor, done = f"/jobs/run?state=delayed&topic={topic}&idPrefix=j&order=newest&all=true&pageLimit=2", "", 0
    for _ in range(20):
        page = server.request("POST", path + cursor).expect(200)
        done += page["done"]
        until(lambda: count(server, f"state=delayed&topic={topic}&idPrefix=j") == 6, 30, "the jobs are held")
        if "cursor" not in page:
            break
        cursor = f"&cursor={page['cursor']}"
    assert done == 6


# ---- reschedule ----

def dues(server, topic, **more):
    query = "".join(f"&{name}={value}" for name, value in more.items())
    return {job["jobId"]: to_ms(job["dueAt"]) for job in server.get(f"/jobs?state=delayed&topic={topic}&limit=1000{query}").expect(200)["jobs"]}


@pytest.mark.parametrize("order", ["oldest", "newest"])
@pytest.mark.parametrize("offset", [-1, 0, 4, 9, 20])
def test_each_job_gets_its_new_time_once(server, receiver, topic, order, offset):
    """The new time is before, among, or after the old times. No page moves a job that an earlier page has moved."""
    schedule(server, topic, receiver, 10)
    new = from_ms(FAR + offset)
    there = 1 if 0 <= offset < 10 else 0  # the job already has the new due time
    sums = all_pages(server, "POST", f"/jobs/reschedule?state=delayed&topic={topic}&dueAt={new}&order={order}&all=true&pageLimit=3")
    assert sums == {"matched": 10 - there, "done": 10 - there, "skipped": 0}
    assert dues(server, topic) == {f"j{i:03}": FAR + offset for i in range(10)}
    job = server.job(topic, "j000")
    assert job["attempts"] == 0 and job["state"] == "delayed"


def test_a_reschedule_by_delay_reaches_all_topics(server, receiver, topic):
    """The delay counts from the request for the first page, also for jobs of later pages. So all jobs get the same
    time."""
    names = [f"{topic}.{i}" for i in range(4)]
    for i, name in enumerate(names):
        for j in range(3):
            server.schedule(topic=name, jobId=f"only-{j}", url=receiver.url(), delay=1800 * (1 + i))
    sums = all_pages(server, "POST", "/jobs/reschedule?state=delayed&idPrefix=only-&delay=1h&all=true&pageLimit=2")
    assert sums["skipped"] == 0 and sums["done"] == 12
    times = {due for name in names for due in dues(server, name).values()}
    assert len(times) == 1


@pytest.mark.parametrize("time", [f"dueAt={from_ms(FAR + 60_000)}", "delay=1h"])
def test_a_reschedule_moves_at_most_limit_jobs(server, receiver, topic, time):
    schedule(server, topic, receiver, 3)
    assert all_pages(server, "POST", f"/jobs/reschedule?state=delayed&topic={topic}&{time}&limit=1") == {"matched": 1, "done": 1, "skipped": 0}
    assert [job_id for job_id, due in dues(server, topic).items() if due >= FAR + 3 or due < FAR] == ["j000"]


def test_a_reschedule_to_now_delivers(server, receiver, topic):
    schedule(server, topic, receiver, 4)
    assert all_pages(server, "POST", f"/jobs/reschedule?state=delayed&topic={topic}&delay=0&limit=3&pageLimit=2")["done"] == 3
    until(lambda: receiver.count(topic) == 3, 20, "three deliveries")
    assert all_pages(server, "POST", f"/jobs/reschedule?state=delayed&topic={topic}&dueAt=2020-01-01T00:00:00Z&all=true")["done"] == 1
    until(lambda: receiver.count(topic) == 4, 20, "the last one")


def test_more_jobs_than_a_millisecond_holds_are_moved_once(server, receiver, topic):
    """A millisecond has room for 2,048 jobs; further jobs are due in the next millisecond."""
    total = 2500
    server.schedule_many([{"topic": topic, "jobId": f"j{i}", "url": receiver.url(), "dueAt": from_ms(FAR)} for i in range(total)])
    sums = all_pages(server, "POST", f"/jobs/reschedule?state=delayed&topic={topic}&dueAt={from_ms(FAR + 60_000)}&all=true")
    assert sums == {"matched": total, "done": total, "skipped": 0}
    assert count(server, f"state=delayed&topic={topic}&dueAfter={from_ms(FAR + 60_000)}&dueBefore={from_ms(FAR + 60_002)}") == total


def test_a_job_is_not_moved_beyond_its_end(start, receiver, topic):
    server = start("--breaker", "off")
    server.schedule(topic=topic, jobId="short", url=receiver.url(), delay=600, ttl=1200)
    server.schedule(topic=topic, jobId="until", url=receiver.url(), delay=600, expiresAt=from_ms(FAR))
    server.schedule(topic=topic, jobId="quoted", url=receiver.url() + '?q="a"', method="PUT", retry=1, delay=600, ttl=1200)
    server.schedule(topic=topic, jobId="long", url=receiver.url(), delay=600)
    before = dues(server, topic)
    assert all_pages(server, "POST", f"/jobs/reschedule?state=delayed&topic={topic}&dueAt={from_ms(FAR)}&all=true") == {
        "matched": 4, "done": 1, "skipped": 3}
    assert dues(server, topic) == {**before, "long": FAR}


def test_dead_jobs_come_back_at_the_new_time(server, receiver, topic):
    bury(server, receiver, topic, 3)
    assert all_pages(server, "POST", f"/jobs/reschedule?state=dead&topic={topic}&dueAt={from_ms(FAR)}&limit=2") == {
        "matched": 2, "done": 2, "skipped": 0}
    assert list(dues(server, topic).values()) == [FAR, FAR] and count(server, f"state=dead&topic={topic}") == 1
    assert all(server.job(topic, job_id)["attempts"] == 0 for job_id in dues(server, topic))


def test_a_reschedule_needs_one_time(server, topic):
    path = f"/jobs/reschedule?state=delayed&topic={topic}&all=true"
    assert server.request("POST", path).fields() == ["delay"]
    assert server.request("POST", f"{path}&delay=1&dueAt={from_ms(FAR)}").fields() == ["dueAt"]
    for wrong in ("delay=soon", "delay=-1", "delay=11y", "delay=315360001", "dueAt=soon", "dueAt=2999-01-01T00:00:00Z"):
        assert server.request("POST", f"{path}&{wrong}").fields() == [wrong.split("=")[0]]
    assert server.request("POST", f"/jobs/reschedule?topic={topic}&all=true&delay=1").fields() == ["state"]
    assert server.request("POST", f"/jobs/reschedule?state=leased&topic={topic}&all=true&delay=1").fields() == ["state"]
    assert server.request("POST", f"{path}&delay=1h30m&dryRun=true").expect(200) == {"matched": 0, "done": 0, "skipped": 0}
