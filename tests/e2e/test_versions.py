"""Two versions on one Redis, side by side, as in an upgrade: the version under test and "next" (script/build next), or
"earlier" (script/build earlier), whose records of jobs have no head. The next version has one more job member, one more topic setting, and one more feature that a job or topic can require
from the versions that handle it ("needs")."""

import json
import os
import pathlib
import re
import sqlite3

import pytest

import scratch
from duepost import ROOT
from patience import until
from receiver import Answer, Receiver
from test_batch import post_many
from test_signatures import SHARED, signatures, v1
from timestamp import to_ms

NEXT = os.environ.get("DUEPOST_NEXT", str(ROOT / "build" / "next" / "duepost"))
EARLIER = os.environ.get("DUEPOST_EARLIER", str(ROOT / "build" / "earlier" / "build" / "release" / "duepost"))
JOBS, NEEDED = 10_000, 40

pytestmark = [pytest.mark.skipif(not pathlib.Path(path).exists(), reason=f"{path} is not built: script/build {name}")
              for name, path in (("next", NEXT), ("earlier", EARLIER))]


class Flaky(Receiver):
    """Fails the first attempt of each job, so that duepost has to write the job's record again."""

    def _log(self, arrival):
        super()._log(arrival)
        return 500 if arrival.attempt == 1 else 200


@pytest.fixture
def flaky():
    started = Flaky()
    yield started
    started.stop()


@pytest.fixture
def versions(start, redis):
    """A duepost of this version and one of the next version, on one Redis."""
    place = redis()
    return start("--breaker", "off", redis=place), start("--breaker", "off", redis=place, binary=NEXT)


def set_topic(server, topic, **settings):
    """Does not check the answer against the contract, which lacks the setting of the next version."""
    server.request("PATCH", f"/topics/{topic}", json.dumps(settings), {"Content-Type": "application/json"}, check=False).expect(200)


def job_of(topic, number, note=None, **more):
    return {"topic": topic, "jobId": str(number), "body": {"n": number, "text": "é"}, **({"next": note} if note else {}), **more}


def schedule_all(server, jobs):
    for at in range(0, len(jobs), 1000):
        reply = server.post(jobs[at:at + 1000], check=False).expect(207)
        assert {result["status"] for result in reply["results"]} == {201}


def warnings(server):
    return {line.split("event=")[1].split()[0] for line in server.log().splitlines() if "level=warning" in line or "level=error" in line}


def test_two_versions_lose_change_and_bury_nothing(versions, flaky, topic):
    this, later = versions
    set_topic(later, topic, url=flaky.url(), secrets=[SHARED], next="of the topic", retrySchedule=[0.5])
    set_topic(this, topic, timeout=25)
    notes = {str(n): f"needed {n}" if n < 2 * NEEDED else f"note {n}" for n in range(1, JOBS, 2)}
    schedule_all(later, [job_of(topic, n, notes[str(n)]) for n in range(1, JOBS, 2)])
    schedule_all(this, [job_of(topic, n) for n in range(0, JOBS, 2)])
    needed = {job_id for job_id, note in notes.items() if note.startswith("needed")}

    def left():
        return JOBS - len({a.job_id for a in flaky.of(topic) if a.attempt == 2} | needed)
    until(lambda: left() == 0, 60, lambda: f"{left()} of {JOBS} were not delivered; {warnings(this)}")
    assert "job_needs_later_version" in warnings(this)
    this.terminate()  # no process of this version is left, so the next version gets the jobs that this one held
    until(lambda: len({a.job_id for a in flaky.of(topic) if a.attempt == 2}) == JOBS, 30, "all delivered")
    until(lambda: later.get(f"/jobs/count?topic={topic}").expect(200)["count"] == 0, 30, "none waits")

    assert later.get("/jobs/count?state=dead").expect(200)["count"] == 0
    by_job, by_next = {}, 0
    for arrival in flaky.of(topic):
        by_job.setdefault(arrival.job_id, []).append(arrival)
        assert json.loads(arrival.body) == {"n": int(arrival.job_id), "text": "é"}
        assert signatures(arrival) == [v1(SHARED, arrival)]
        is_next = "duepost-next-topic" in arrival.headers
        by_next += is_next
        if is_next:
            assert arrival.headers["duepost-next-topic"] == "of the topic"
            assert arrival.headers.get("duepost-next") == notes.get(arrival.job_id)
        else:
            assert arrival.job_id not in needed
    assert {tuple(a.attempt for a in arrivals) for arrivals in by_job.values()} == {(1, 2)}
    assert len(by_job) == JOBS
    assert 0 < by_next < 2 * JOBS
    handed_over = [job_id for job_id, (first, second) in by_job.items()
                   if "duepost-next-topic" not in first.headers and second.headers.get("duepost-next")]
    assert handed_over, "no record of the next version was written anew by this one"
    assert not warnings(this) & {"record_unreadable", "settings_unreadable", "job_dead"}


def patch(server, topic, job_id, **members):
    return server.request("PATCH", f"/jobs/{topic}/{job_id}", json.dumps(members), {"Content-Type": "application/json"})


def test_a_change_keeps_what_the_next_version_wrote(versions, receiver, topic):
    this, later = versions
    post_many(later, [job_of(topic, 1, "a note", url=receiver.url(), delay=1000)])
    patch(this, topic, 1, retry=3).expect(200)
    this.terminate()
    later.run(topic, 1).expect(202)
    until(lambda: receiver.count(topic) == 1, 10, "the delivery")
    assert receiver.of(topic)[0].headers["duepost-next"] == "a note"


def test_the_needs_of_a_job_are_checked_before_it_is_rewritten(start, redis, receiver, topic):
    place = redis()
    later = start("--breaker", "off", redis=place, binary=NEXT)
    receiver.script(topic, 410, 200, job_id="1")
    post_many(later, [job_of(topic, 1, "needed", url=receiver.url()), job_of(topic, 2, "needed", url=receiver.url(), delay=1000)])
    later.wait_for_state(topic, "1", "dead")
    this = start(redis=place)
    assert this.job(topic, "2")["body"] == {"n": 2, "text": "é"}
    assert "later version" in this.run(topic, "1").expect(409)["detail"]
    assert "later version" in patch(this, topic, "2", retry=3).expect(409)["detail"]
    this.cancel(topic, "2").expect(200)
    later.run(topic, "1").expect(202)
    this.terminate()
    until(lambda: len(receiver.of(topic, "1")) == 2, 20, "the second delivery")
    assert receiver.of(topic, "1")[1].headers["duepost-next"] == "needed"


def test_a_topic_that_needs_the_next_version_is_not_served(versions, receiver, topic):
    this, later = versions
    set_topic(later, topic, url=receiver.url(), next="needed")
    later.terminate()
    this.schedule(topic=topic, jobId="a", delay=0)
    other = topic + ".other"
    this.schedule(topic=other, jobId="b", url=receiver.url())
    until(lambda: "topic_needs_later_version" in warnings(this), 10, "a warning")
    until(lambda: receiver.count(other) == 1, 10, "the other topic is served")
    assert receiver.count(topic) == 0
    for method in ("PATCH", "PUT"):
        reply = this.request(method, f"/topics/{topic}", "{}", {"Content-Type": "application/json"}).expect(409)
        assert '"next"' in reply["detail"]
    this.request("DELETE", f"/topics/{topic}").expect(200)
    until(lambda: this.get(f"/jobs/{topic}/a/why").expect(200)["why"] == "no_url", 10, "the job has no url now")


# ---- records with a head, and an earlier version, which knows no heads ----

def record(place, topic, job_id="a"):
    reply = place.command("HGET", "duepost:{0}:jobs", f"{topic}/{job_id}")
    return reply.partition(b"\r\n")[2].decode()


def has_head(text):
    return re.match(r'{"createdAt":\d+,"head":"1 ', text) is not None


def start_earlier(start, place):
    earlier = start("--breaker", "off", redis=place, binary=EARLIER)
    earlier.keeps_contract = False  # answers have more members since
    return earlier


@pytest.fixture
def generations(start, redis):
    """A Redis, a duepost of this version and one of the earlier version."""
    place = redis()
    return place, start("--breaker", "off", redis=place), start_earlier(start, place)


def patch_a(server, topic, **members):
    return server.request("PATCH", f"/jobs/{topic}/a", json.dumps(members), {"Content-Type": "application/json"})


@pytest.mark.parametrize("first", ["this", "earlier"])
def test_each_version_changes_jobs_of_the_other(generations, receiver, topic, first):
    place, this, earlier = generations
    maker, other = (this, earlier) if first == "this" else (earlier, this)
    maker.post({"topic": topic, "jobId": "a", "url": receiver.url() + '?q="a"', "delay": 600, "ttl": 900, "labels": ["l"], "body": {"n": 1.10}}).expect(201)
    created = to_ms(maker.job(topic, "a")["createdAt"])
    assert has_head(record(place, topic)) == (first == "this")
    shown = [server.get(f"/jobs/{topic}/a") for server in generations[1:]]
    assert shown[0].expect(200) == {**shown[1].expect(200), "priority": 5} and "head" not in shown[0].expect(200)
    assert shown[0].headers["ETag"] == shown[1].headers["ETag"]  # no reader has written
    assert has_head(record(place, topic)) == (first == "this")
    for number, server in enumerate((other, maker, other)):
        patch_a(server, topic, ttl=1000 + number).expect(200)
        text = record(place, topic)
        assert has_head(text) == (server is this) and text.count('"head"') <= 1
        if server is this:
            assert f'"head":"1 {created + 1000 * (1000 + number)} ' in text
        for each in generations[1:]:
            assert to_ms(each.job(topic, "a")["expiresAt"]) == created + 1000 * (1000 + number)
            assert [job["jobId"] for job in each.get(f"/jobs?state=delayed&topic={topic}&label=l").expect(200)["jobs"]] == ["a"]
    skipped = this.request("POST", f"/jobs/reschedule?state=delayed&topic={topic}&delay=2000&all=true").expect(200)
    assert (skipped["done"], skipped["skipped"]) == (0, 1)
    tag = earlier.get(f"/jobs/{topic}/a").headers["ETag"]
    for server, condition, status in ((this, '"x"', 412), (this, tag, 200)):
        server.request("PUT", f"/jobs/{topic}/a", json.dumps({"url": receiver.url(), "delay": 600, "body": 2}),
                       {"Content-Type": "application/json", "If-Match": condition}).expect(status)
    tag = this.get(f"/jobs/{topic}/a").headers["ETag"]
    earlier.request("PUT", f"/jobs/{topic}/a", json.dumps({"url": receiver.url(), "delay": 600, "body": 3}),
                    {"Content-Type": "application/json", "If-Match": tag}).expect(200)
    this.run(topic, "a").expect(202)
    until(lambda: [arrival.body for arrival in receiver.of(topic)] == [b"3"], 20, "the delivery")


def test_an_earlier_version_reads_attempts_with_binary_answers(start, redis, receiver, topic):
    place = redis()
    this = start("--breaker", "off", redis=place)
    receiver.script(topic, Answer(500, body=b"caf\xe9"), Answer(500, body=b"text"))
    this.post({"topic": topic, "jobId": "a", "url": receiver.url(f"/{topic}"), "retry": 1, "retrySchedule": [0.1]}).expect(201)
    until(lambda: this.get(f"/jobs/{topic}/a").expect(200)["state"] == "dead", 15, "dead")
    earlier = start_earlier(start, place)
    for server, binary in ((this, "caf\ufffd"), (earlier, "\x1fY2Fm6Q==")):
        assert [one["answer"] for one in server.get(f"/jobs/{topic}/a/attempts").expect(200)["attempts"]] == [binary, "text"]


def test_versions_retry_and_bury_jobs_of_the_other(start, redis, flaky, topic):
    """Each job fails once, so its record is written anew by one of the two versions; some die."""
    place, where = redis(), f"sqlite:{scratch.file('history.sqlite')}"
    this, earlier = start("--breaker", "off", "--history", where, redis=place), start_earlier(start, place)
    set_topic(this, topic, url=flaky.url(), retrySchedule=[0.5])
    for at, server in ((0, this), (200, earlier)):
        schedule_all(server, [{"topic": topic, "jobId": str(at + i), "ttl": 3600, "body": {"n": i}, **({"retry": 0} if i % 4 == 0 else {})}
                              for i in range(200)])
    dead = f"/jobs?state=dead&topic={topic}&limit=1000"
    delivered = f"/jobs?state=delivered&topic={topic}&limit=1000"
    until(lambda: len(this.get(dead).expect(200)["jobs"]) == 100, 60, "100 dead jobs")
    until(lambda: len(this.get(delivered).expect(200)["jobs"]) == 300, 60, "300 delivered jobs in the history")
    jobs = this.get(dead).expect(200)["jobs"] + this.get(delivered).expect(200)["jobs"]
    assert {job["attempts"] for job in jobs} == {1, 2} and not any("head" in job for job in jobs)
    with sqlite3.connect(where.partition(":")[2]) as link:
        assert not [row for row in link.execute("SELECT * FROM duepost_jobs") if any('"head"' in str(value) for value in row)]
