"""Topics: their jobs, and their settings, which apply in every process."""

import concurrent.futures
import json
import time

import pytest

from patience import SLOW, until, watch
from receiver import Answer
from timestamp import to_ms
from tokens import TokenFile

JSON = {"Content-Type": "application/json"}


def put(server, topic, **settings):
    return server.request("PUT", f"/topics/{topic}", json.dumps(settings), JSON)


def patch(server, topic, settings, kind="application/merge-patch+json"):
    return server.request("PATCH", f"/topics/{topic}", json.dumps(settings), {"Content-Type": kind})


def told(server, topic):
    answer = server.get(f"/topics/{topic}").expect(200)
    assert {name for name, origin in answer.pop("from").items() if origin != "default"} == answer["settings"].keys()
    return answer


def counts(**some):
    return {"delayed": 0, "ready": 0, "held": 0, "leased": 0, "dead": 0, **some}


def hour(**some):
    return {"delivered": 0, "retried": 0, "dead": 0, **some}


# ---- counts and lists ----

def test_a_topic_shows_the_counts_of_its_jobs(server, receiver, topic):
    assert told(server, topic) == {"topic": topic, "settings": {}, "jobs": counts(), "overdue": 0, "lastHour": hour()}
    receiver.script(topic, Answer(200, delay=3 * SLOW), job_id="leased")
    receiver.script(topic, 410, job_id="dead")
    server.schedule(topic=topic, jobId="leased", url=receiver.url())
    server.schedule(topic=topic, jobId="dead", url=receiver.url())
    due = server.schedule(topic=topic, jobId="a", url=receiver.url(), delay=60)["dueAt"]
    server.schedule(topic=topic, jobId="b", url=receiver.url(), delay=90)
    server.wait_for_state(topic, "dead", "dead")
    server.wait_for_state(topic, "leased", "leased")
    assert told(server, topic) == {"topic": topic, "settings": {}, "jobs": counts(delayed=2, leased=1, dead=1), "overdue": 0,
                                   "lastHour": hour(dead=1), "failing": {"failed": 1, "attempts": 1, "lastAnswer": "410"}, "oldestDueAt": due}
    receiver.script(topic, 500, 204, job_id="c")
    server.schedule(topic=topic, jobId="c", url=receiver.url(), retrySchedule=[0.1])
    server.wait_for_state(topic, "c", None)
    until(lambda: told(server, topic)["lastHour"] == hour(delivered=2, retried=1, dead=1), 10 * SLOW, "all are counted")


def test_topics_are_listed_by_name_page_by_page(start, receiver):
    server = start()
    receiver.script("only-dead", 410)
    server.schedule(topic="only-dead", jobId="a", url=receiver.url())
    server.wait_for_state("only-dead", "a", "dead")
    for name in ("b", "a", "B"):
        server.schedule(topic=name, jobId="a", url=receiver.url(), delay=60)
    put(server, "only-set", paused=True).expect(200)
    page, names = server.get("/topics?limit=2").expect(200), []
    while True:
        names += [one["topic"] for one in page["topics"]]
        if "cursor" not in page:
            break
        page = server.get(f"/topics?limit=2&cursor={page['cursor']}").expect(200)
    assert names == ["B", "a", "b", "only-dead", "only-set"]
    assert server.get("/topics?limit=0&cursor=a%20b&state=dead").fields() == ["limit", "cursor", "state"]
    assert server.get("/topics/a?limit=1").fields() == ["limit"]


def test_a_topic_is_listed_as_long_as_it_has_jobs_or_settings(start, receiver):
    server = start()

    def listed():
        return [one["topic"] for one in server.get("/topics").expect(200)["topics"]]

    receiver.script("gone", 410)
    server.schedule(topic="gone", jobId="a", url=receiver.url())
    server.schedule(topic="sent", jobId="a", url=receiver.url())
    server.schedule(topic="waits", jobId="a", url=receiver.url(), delay=60)
    put(server, "set", maxInFlight=3).expect(200)
    until(lambda: listed() == ["gone", "set", "waits"], 10, listed)
    server.cancel("gone", "a").expect(200)
    server.cancel("waits", "a").expect(200)
    server.request("DELETE", "/topics/set").expect(200)
    assert listed() == []


def test_a_page_of_topics_is_put_together_of_many_calls(start):
    server = start()
    server.schedule_many({"topic": f"t{i:04}", "url": "http://127.0.0.1:9/", "delay": 600} for i in range(1234))
    page = server.get("/topics?limit=500").expect(200)
    pages = [page]
    while "cursor" in page:
        page = server.get(f"/topics?limit=500&cursor={page['cursor']}").expect(200)
        pages.append(page)
    pages = [[one["topic"] for one in page["topics"]] for page in pages]
    assert [len(page) for page in pages] == [500, 500, 234]
    assert sum(pages, []) == [f"t{i:04}" for i in range(1234)]


# ---- settings ----

def test_settings_are_replaced_changed_and_removed(server, topic):
    put(server, topic, paused=True, maxInFlight=3, timeout=0.25).expect(200)
    assert put(server, topic, rate={"jobs": 5, "per": 0.5}, retrySchedule=[1, 2.5], jitter=0.25).expect(200) == {
        "topic": topic, "settings": {"rate": {"jobs": 5, "per": 0.5, "burst": 1}, "retrySchedule": [1, 2.5],
                                     "jitter": 0.25}}
    patch(server, topic, {"rate": {"burst": 2}, "jitter": None, "paused": None}).expect(200)
    assert told(server, topic)["settings"] == {"rate": {"jobs": 5, "per": 0.5, "burst": 2}, "retrySchedule": [1, 2.5]}
    assert patch(server, topic, {"rate": None}, "application/json").expect(200)["settings"] == {"retrySchedule": [1, 2.5]}
    assert server.request("DELETE", f"/topics/{topic}").expect(200) == {"topic": topic, "settings": {}}
    assert told(server, topic)["settings"] == {}


def test_invalid_settings_name_their_errors_and_change_nothing(server, topic):
    put(server, topic, maxInFlight=3).expect(200)
    wrong = {"paused": 1, "maxInFlight": 0, "rate": {"jobs": 1.5, "per": 0, "burst": 0, "x": 1}, "retrySchedule": ["a"],
             "timeout": 0.05, "jitter": 1.5, "onDead": "x", "colour": "red"}
    fields = ["paused", "maxInFlight", "rate.jobs", "rate.per", "rate.burst", "rate.x", "retrySchedule[0]", "timeout",
              "jitter", "onDead", "colour"]
    assert put(server, topic, **wrong).fields() == fields
    assert sorted(patch(server, topic, wrong).fields()) == sorted(fields)
    assert put(server, topic, rate={}).fields() == ["rate.jobs", "rate.per"]
    assert put(server, topic, rate=[1]).fields() == ["rate"]
    for text in ("", "[]", "{", '{"paused":true,"paused":true}'):
        assert server.request("PUT", f"/topics/{topic}", text, JSON).fields() == [""]
        assert server.request("PATCH", f"/topics/{topic}", text, JSON).fields() == [""]
    assert told(server, topic)["settings"] == {"maxInFlight": 3}


def test_only_json_within_the_size_limit_is_accepted(start, topic):
    server = start("--max-body", "1KiB")
    for method in ("PUT", "PATCH"):
        server.request(method, f"/topics/{topic}", "{}", {"Content-Type": "text/plain"}).expect(415)
        server.request(method, f"/topics/{topic}", " " * 1025, JSON).expect(413)
        assert server.request(method, f"/topics/{topic}?x=1", "{}", JSON).fields() == ["x"]
    server.request("PUT", f"/topics/{topic}", "{}", {"Content-Type": "application/merge-patch+json"}).expect(415)
    assert server.request("DELETE", f"/topics/{topic}?x=1").fields() == ["x"]
    server.request("POST", f"/topics/{topic}").expect(405)
    server.request("DELETE", "/topics").expect(405)
    server.get("/topics/..").expect(404)


def test_without_redis_nothing_is_answered_and_nothing_changes(start, topic):
    server = start("--redis", "redis://127.0.0.1:1", ready=False)
    server.get("/topics").expect(503)
    server.get(f"/topics/{topic}").expect(503)
    put(server, topic, paused=True).expect(503)
    patch(server, topic, {"paused": True}).expect(503)
    server.request("DELETE", f"/topics/{topic}").expect(503)


def test_changes_at_the_same_time_do_not_undo_each_other(start, redis, topic):
    shared = redis()
    servers = [start(redis=shared), start(redis=shared)]
    changes = [{"paused": True}, {"maxInFlight": 7}, {"timeout": 5}, {"jitter": 0.5}]
    for _ in range(5):
        servers[0].request("DELETE", f"/topics/{topic}").expect(200)
        with concurrent.futures.ThreadPoolExecutor(len(changes)) as pool:
            replies = list(pool.map(lambda pair: patch(servers[pair[0] % 2], topic, pair[1]), enumerate(changes)))
        kept = {}
        for reply, change in zip(replies, changes):
            if reply.status == 200:
                kept |= change
        assert told(servers[0], topic)["settings"] == kept


# ---- limits, retries, callbacks ----

def test_a_paused_topic_takes_jobs_and_holds_them(server, receiver, topic):
    put(server, topic, paused=True).expect(200)
    server.schedule(topic=topic, jobId="a", url=receiver.url())
    server.schedule(topic=topic, jobId="b", url=receiver.url(), delay=0.2)
    watch(1.5, lambda: not receiver.count(topic), "an attempt while the topic is paused")
    state = told(server, topic)
    assert state["jobs"] == counts(ready=2) and state["heldBy"] == "paused"
    patch(server, topic, {"paused": None}).expect(200)
    until(lambda: receiver.count(topic) == 2, 2, "both deliveries")
    assert "heldBy" not in told(server, topic)


def test_a_pause_acts_on_all_processes_within_a_second(start, redis, receiver, topic):
    shared = redis()
    servers = [start(redis=shared), start(redis=shared)]
    put(servers[0], topic, paused=True).expect(200)
    time.sleep(1)
    for i in range(40):
        servers[i % 2].schedule(topic=topic, jobId=f"j{i}", url=receiver.url())
    watch(1, lambda: not receiver.count(topic), "an attempt while the topic is paused")
    patch(servers[1], topic, {"paused": False}).expect(200)
    until(lambda: receiver.count(topic) == 40, 5, "all deliveries")


def test_a_limit_in_flight_is_exact_over_all_processes(start, redis, receiver, topic):
    shared = redis()
    servers = [start(redis=shared), start(redis=shared)]
    put(servers[0], topic, maxInFlight=3).expect(200)
    receiver.script(topic, *[Answer(200, delay=0.1)] * 30)
    for i in range(30):
        servers[i % 2].schedule(topic=topic, jobId=f"j{i}", url=receiver.url())
    most = 0
    def all_arrived():
        nonlocal most
        most = max(most, told(servers[0], topic)["jobs"]["leased"])
        return receiver.count(topic) == 30
    until(all_arrived, 20, "all deliveries")
    assert most <= 3
    arrivals = sorted(arrival.at_ms / 1000 for arrival in receiver.of(topic))
    assert all(late - early >= 0.09 for early, late in zip(arrivals, arrivals[3:])), "a fourth attempt began too soon"


def test_a_rate_is_exact_over_all_processes(start, redis, receiver, topic):
    shared = redis()
    servers = [start(redis=shared), start(redis=shared)]
    put(servers[0], topic, rate={"jobs": 20, "per": 1, "burst": 4}).expect(200)
    begin = time.time()
    for i in range(44):
        servers[i % 2].schedule(topic=topic, jobId=f"j{i}", url=receiver.url())
    shown = until(lambda: (found := told(servers[0], topic)).get("heldBy") == "rate" and found, 5, "held by its rate")
    assert to_ms(shown["heldUntil"]) < (time.time() + 0.2 * SLOW) * 1000
    until(lambda: receiver.count(topic) == 44, 20, "all deliveries")
    assert time.time() - begin >= 2 - 0.05
    # The times at which the attempts began, by Redis's clock.
    starts = sorted(arrival.at_ms / 1000 for arrival in receiver.of(topic))
    assert starts[-1] - starts[0] >= 1.9


def test_a_rate_with_a_window_lets_its_jobs_begin_at_once(server, receiver, topic):
    assert put(server, topic, rate={"jobs": 3, "per": 3600, "window": True}).expect(200)["settings"]["rate"]["window"] is True
    for number in range(5):
        server.schedule(topic=topic, jobId=str(number), url=receiver.url())
    until(lambda: receiver.count(topic) == 3, 10, "the attempts of a window")
    shown = until(lambda: (found := told(server, topic)).get("heldBy") == "rate" and found, 5, "held by its rate")
    assert shown["window"]["attempts"] == 3
    assert to_ms(shown["heldUntil"]) - to_ms(shown["window"]["beganAt"]) in range(3_600_000, 3_600_003)
    assert receiver.count(topic) == 3
    patch(server, topic, {"rate": {"jobs": 4}}).expect(200)  # the current window continues
    until(lambda: receiver.count(topic) == 4, 10, "one more")
    assert told(server, topic)["window"]["attempts"] == 4


def test_a_rate_that_is_raised_takes_effect_at_once(server, receiver, topic):
    """The burst is used up at the old rate. At the new rate, duepost has to wait less time for the same number of
    attempts."""
    put(server, topic, rate={"jobs": 1, "per": 600, "burst": 5}).expect(200)
    server.schedule_many({"topic": topic, "jobId": str(i), "url": receiver.url()} for i in range(20))
    until(lambda: receiver.count(topic) == 5, 10, lambda: f"{receiver.count(topic)} of 5")
    put(server, topic, rate={"jobs": 10, "per": 1}).expect(200)
    until(lambda: receiver.count(topic) == 20, 10, lambda: f"{receiver.count(topic)} of 20")


def test_a_rate_that_is_lifted_lets_the_rest_go_at_once(server, receiver, topic):
    put(server, topic, rate={"jobs": 1, "per": 3600}).expect(200)
    for i in range(5):
        server.schedule(topic=topic, jobId=f"j{i}", url=receiver.url())
    until(lambda: receiver.count(topic) == 1, 3, "the first delivery")
    watch(1, lambda: receiver.count(topic) == 1, "a second one")
    patch(server, topic, {"rate": None}).expect(200)
    until(lambda: receiver.count(topic) == 5, 3, "the rest")


def test_retries_go_by_the_topics_schedule_unless_the_job_brings_one(server, receiver, topic):
    put(server, topic, retrySchedule=[0.2, 0.2]).expect(200)
    receiver.script(topic, *[500] * 3, job_id="a")
    receiver.script(topic, 500, job_id="b")
    server.schedule(topic=topic, jobId="a", url=receiver.url())
    server.schedule(topic=topic, jobId="b", url=receiver.url(), retrySchedule=[60])
    server.wait_for_state(topic, "a", "dead")
    assert len(receiver.of(topic, "a")) == 3
    assert server.job(topic, "b")["state"] == "delayed"


def test_the_topics_timeout_counts_unless_the_job_brings_one(server, receiver, topic):
    put(server, topic, timeout=0.3, retrySchedule=[]).expect(200)
    receiver.script(topic, Answer(200, delay=1.5), job_id="a")
    receiver.script(topic, Answer(200, delay=1.5), job_id="b")
    server.schedule(topic=topic, jobId="a", url=receiver.url())
    server.schedule(topic=topic, jobId="b", url=receiver.url(), timeout=30)
    job = server.wait_for_state(topic, "a", "dead")
    assert job["lastAttempt"]["error"] == "timeout"
    server.wait_for_state(topic, "b", None)


def test_each_death_is_reported_to_the_topics_url(server, receiver, topic):
    put(server, topic, onDead=receiver.url("/dead"), retrySchedule=[]).expect(200)
    receiver.script(topic, 503, job_id="a")
    server.schedule(topic=topic, jobId="a", url=receiver.url(), body={"n": 1.10}, headers={"X-A": "b"})
    callbacks = f"{topic}~callbacks"
    notice, = until(lambda: receiver.of(callbacks), 5, "the notice")
    assert notice.target == "/dead"
    told_of = json.loads(notice.body)
    assert (told_of["topic"], told_of["jobId"]) == (topic, "a")
    assert (told_of["callback"], told_of["outcome"], told_of["reason"]) == ("onDead", "dead", "retries_exhausted")
    assert told_of["lastAttempts"][0]["status"] == 503 and "body" not in told_of
    assert notice.job_id.startswith("a~dead~")
    server.wait_for_state(callbacks, notice.job_id, None)
    assert server.job(topic, "a")["state"] == "dead"


def test_a_notice_is_a_job_of_the_sibling_topic(server, receiver, topic):
    """The callback is listed in the sibling topic, retried, cancelled and run again. Its body is not shown, because
    it contains hidden data of the dead job."""
    callbacks = f"{topic}~callbacks"
    put(server, topic, onDead=receiver.url("/dead"), retrySchedule=[], paused=None, secrets=["whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX"]).expect(200)
    receiver.script(topic, 410, job_id="a")
    receiver.script(callbacks, 500, 410, 200)
    server.schedule(topic=topic, jobId="a", url=receiver.url(), body="mine")
    arrival, = until(lambda: receiver.of(callbacks), 5, "the notice")
    assert "webhook-signature" in arrival.headers, "signed with the secrets of its owner"
    listed, = until(lambda: server.get(f"/jobs?state=delayed&topic={callbacks}").expect(200)["jobs"], 5, "the callback waits for its retry")
    assert listed["jobId"] == arrival.job_id and "body" not in listed
    assert f"{callbacks}" in [entry["topic"] for entry in server.get("/topics").expect(200)["topics"]]
    patch(server, topic, {"paused": True}).expect(200)  # the pause of a topic does not hold jobs of its sibling topics
    server.run(callbacks, arrival.job_id).expect(202)
    dead = server.wait_for_state(callbacks, arrival.job_id, "dead")
    assert dead["reason"] == "gone" and "body" not in dead
    assert server.get(f"/jobs/count?state=dead&topic={callbacks}").expect(200)["count"] == 1, "a notice that dies has none"
    server.run(callbacks, arrival.job_id).expect(202)
    until(lambda: receiver.count(callbacks) == 3, 5, "the delivery")
    server.wait_for_state(callbacks, arrival.job_id, None)
    assert len({each.body for each in receiver.of(callbacks)}) == 1


def test_a_job_gets_what_it_does_not_bring_from_its_topic(server, receiver, topic):
    assert server.post({"topic": topic, "jobId": "a"}).fields() == ["url"]
    assert server.request("PUT", f"/jobs/{topic}/a", "{}", JSON).fields() == ["url"]
    settings = {"url": receiver.url("/default?secret"), "headers": {"X-A": "topic", "X-B": "b", "User-Agent": "me"},
                "timeout": 7, "retrySchedule": [3600]}
    shown = put(server, topic, **settings).expect(200)["settings"]
    assert shown == {**settings, "url": receiver.url("/default?***"),
                     "headers": {"X-A": "***", "X-B": "***", "User-Agent": "***"}}
    assert told(server, topic)["settings"] == shown
    assert sorted(put(server, topic, **shown).fields()) == ["headers.User-Agent", "headers.X-A", "headers.X-B", "url"]
    patch(server, topic, {"jitter": 0.5}).expect(200)
    receiver.script(topic, 500, job_id="a")
    server.schedule(topic=topic, jobId="a", headers={"x-a": "job"})
    server.schedule(topic=topic, jobId="b", url=receiver.url("/own"), timeout=9)
    came = until(lambda: (receiver.of(topic, "a") or [None])[0], 5, "a")
    assert came.target == "/default?secret"
    assert (came.headers["x-a"], came.headers["x-b"], came.headers["user-agent"]) == ("job", "b", "me")
    assert until(lambda: receiver.of(topic, "b"), 5, "b")[0].target == "/own"
    job = server.wait_for_state(topic, "a", "delayed")
    assert (job["url"], job["timeout"], job["retrySchedule"]) == (receiver.url("/default?***"), 7, [3600])
    assert job["headers"] == {"x-a": "***", "X-B": "***", "User-Agent": "***"}
    listed = server.get(f"/jobs?state=delayed&topic={topic}&urlHost={receiver.url().split('/')[2]}").expect(200)["jobs"]
    assert listed == [job]


def test_the_headers_of_a_topic_go_only_to_the_origin_of_its_url(server, receiver, topic):
    """A client that may only schedule jobs must not get headers that an admin has set, by a job with a url of its
    own."""
    elsewhere = receiver.url("/elsewhere").replace("127.0.0.1", "localhost")
    put(server, topic, url=receiver.url("/topic"), headers={"Authorization": "Bearer secret"}).expect(200)
    for job_id, url in (("other", elsewhere), ("same", receiver.url("/same"))):
        server.schedule(topic=topic, jobId=job_id, url=url, headers={"X-Own": "1"}, delay=60)
    server.schedule(topic=topic, jobId="none", delay=60)
    shown = {job_id: server.job(topic, job_id)["headers"] for job_id in ("other", "same", "none")}
    assert shown == {"other": {"X-Own": "***"}, "same": {"X-Own": "***", "Authorization": "***"}, "none": {"Authorization": "***"}}
    for job_id in shown:
        server.run(topic, job_id).expect(202)
        until(lambda: receiver.of(topic, job_id), 5, job_id)
    came = {job_id: receiver.of(topic, job_id)[0].headers.get("authorization") for job_id in shown}
    assert came == {"other": None, "same": "Bearer secret", "none": "Bearer secret"}
    patch(server, topic, {"url": None}).expect(200)
    server.schedule(topic=topic, jobId="any", url=elsewhere)
    assert until(lambda: receiver.of(topic, "any"), 5, "any")[0].headers["authorization"] == "Bearer secret"


@pytest.mark.parametrize("order", ["due", "fifo"])
def test_a_backlog_that_lost_its_topics_url_waits_until_it_has_one(turned, receiver, topic, order):
    server = turned
    put(server, topic, url=receiver.url(), order=order).expect(200)
    jobs = [{"topic": topic, "jobId": str(number), "delay": "1h"} for number in range(100)]
    server.request("POST", "/jobs", json.dumps([*jobs, {"topic": topic, "jobId": "own", "delay": "59m"}]), JSON).expect(207)
    own = {"url": receiver.url("/own")}
    assert server.request("PATCH", f"/jobs/{topic}/own", json.dumps(own), JSON).expect(200)["url"] == receiver.url("/own")
    put(server, topic, order=order).expect(200)  # forgets the url
    assert server.request("PATCH", f"/jobs/{topic}/own", '{"url":null}', JSON).fields() == ["url"]
    assert server.request("POST", "/jobs", json.dumps({"topic": topic}), JSON).fields() == ["url"]
    server.clock.advance("61m")
    assert [arrival.job_id for arrival in receiver.of(topic)] == ["own"]
    state = server.get(f"/topics/{topic}").expect(200)
    assert state["heldBy"] == "noUrl" and state["jobs"]["dead"] == 0 and state["overdue"] > 0 and "heldUntil" not in state
    why = server.get(f"/jobs/{topic}/0/why").expect(200)
    assert why["why"] == "no_url" and f"PATCH /topics/{topic}" in why["detail"] and "until" not in why
    assert "event=topic_without_url topic=" in server.log() and "\nduepost_held_without_url_total 0\n" not in server.get("/metrics").body.decode()
    row, = until(lambda: [row for row in server.get("/overview").json["overdue"] if row["topic"] == topic], 15, "the overview has it")
    assert row["lacksUrl"]
    patch(server, topic, {"url": receiver.url("/a")}).expect(200)
    until(lambda: receiver.count(topic) == 101, 15, "all are delivered at once")
    if order == "fifo":
        assert [arrival.job_id for arrival in receiver.of(topic) if arrival.job_id != "own"] == [job["jobId"] for job in jobs]
    assert "heldBy" not in until(lambda: server.get(f"/topics/{topic}").expect(200), 1, "the topic")


def test_a_pull_topic_that_forgets_its_delivery_keeps_its_backlog(server, receiver, topic):
    put(server, topic, delivery="pull").expect(200)
    server.schedule(topic=topic, jobId="a", body=1)
    put(server, topic, maxInFlight=5).expect(200)  # forgets the delivery
    until(lambda: server.get(f"/topics/{topic}").expect(200).get("heldBy") == "noUrl", 10, "the job is held")
    put(server, topic, maxInFlight=5, delivery="pull").expect(200)
    leased = server.request("POST", f"/topics/{topic}/lease", '{"wait":5}', JSON).expect(200)["jobs"]
    assert [job["jobId"] for job in leased] == ["a"] and leased[0]["attempt"] == 1


@pytest.mark.parametrize("mend", ["pattern", "delete"])
def test_a_pattern_can_mend_a_topic_without_a_url(start, receiver, mend):
    server, topic = start(), "mended-x"
    if mend == "pattern":
        put(server, topic, url=receiver.url()).expect(200)
        server.schedule(topic=topic, jobId="a", delay=0.3)
        put(server, topic, maxInFlight=5).expect(200)
    else:  # the settings of the topic undo those of its pattern
        put(server, "mended-*", delivery="pull").expect(200)
        server.schedule(topic=topic, jobId="a", delay=0.3)
        put(server, topic, delivery="push").expect(200)
    until(lambda: server.get(f"/topics/{topic}").expect(200).get("heldBy") == "noUrl", 10, "the job is held")
    if mend == "pattern":
        put(server, "mended-*", url=receiver.url()).expect(200)
        until(lambda: receiver.count(topic) == 1, 10, "the job is delivered")
    else:
        server.request("DELETE", f"/topics/{topic}").expect(200)
        leased = server.request("POST", f"/topics/{topic}/lease", '{"wait":5}', JSON).expect(200)["jobs"]
        assert [job["jobId"] for job in leased] == ["a"]


def test_urls_of_a_topic_follow_the_rules_of_job_urls(start, topic):
    server = start(allow="127.0.0.2")
    assert put(server, topic, url="http://10.0.0.1/", onDead="http://127.0.0.1/").fields() == ["url", "onDead"]
    put(server, topic, url="http://127.0.0.2/").expect(200)


def test_jitter_only_makes_a_wait_longer(server, receiver, topic):
    put(server, topic, jitter=1, retrySchedule=[10]).expect(200)
    receiver.script(topic, *[500] * 20)
    for i in range(20):
        server.schedule(topic=topic, jobId=f"j{i}", url=receiver.url())
    jobs = [server.wait_for_state(topic, f"j{i}", "delayed") for i in range(20)]
    waits = [(to_ms(job["dueAt"]) - to_ms(job["lastAttempt"]["at"])) / 1000 for job in jobs]
    assert min(waits) >= 10 and max(waits) <= 20 + 2 * SLOW
    assert max(waits) - min(waits) > 1


def test_a_new_job_does_not_wait_for_all_the_retries_before_it(start, receiver, topic):
    server = start("--max-in-flight-topic", "8")
    receiver.script(topic, *[Answer(200, delay=0.05)] * 4000)
    put(server, topic, paused=True).expect(200)
    server.schedule_many([{"topic": topic, "jobId": f"j{i}", "url": receiver.url()} for i in range(1500)])
    time.sleep(1)
    patch(server, topic, {"paused": False}).expect(200)
    server.schedule(topic=topic, jobId="new", url=receiver.url())
    until(lambda: receiver.of(topic, "new"), 2, "the new job's delivery")
    assert receiver.count(topic) < 1500


# ---- topics that fail ----

def failing(server):
    return {one["topic"]: one["failing"] for one in server.get("/topics?failing=true").expect(200)["topics"]}


def test_topics_that_fail_are_found_those_with_the_most_failures_first(start, receiver):
    server = start("--retry-schedule", "1h")
    receiver.script("few", *[500] * 3)
    receiver.script("many", *[503] * 12)
    receiver.script("gone", 410)
    receiver.script("rarely", 500, job_id="0")
    for name, number in ("few", 3), ("many", 12), ("gone", 1), ("rarely", 20), ("well", 5):
        for job in range(number):
            server.schedule(topic=name, jobId=str(job), url=receiver.url())
    expected = {"many": {"failed": 12, "attempts": 12, "lastAnswer": "503"}, "few": {"failed": 3, "attempts": 3, "lastAnswer": "500"},
                "gone": {"failed": 1, "attempts": 1, "lastAnswer": "410"}}
    until(lambda: told(server, "rarely")["lastHour"] == hour(delivered=19, retried=1), 10 * SLOW, "one of 20 has failed")
    until(lambda: failing(server) == expected, 10 * SLOW, lambda: failing(server))
    assert list(failing(server)) == ["many", "few", "gone"]
    assert told(server, "few")["failing"] == expected["few"] and "failing" not in told(server, "rarely")
    overview = server.get("/overview").expect(200)
    until(lambda: server.get("/overview").expect(200)["failing"] == [{"topic": name, **figures} for name, figures in expected.items()],
          10 * SLOW, overview)
    assert server.get("/overview").expect(200)["jobs"]["retrying"] == 16
    receiver.script("few", 200)
    for job in range(40):  # most attempts of the last minutes are deliveries
        server.schedule(topic="few", jobId=f"well-{job}", url=receiver.url())
    until(lambda: "few" not in failing(server), 10 * SLOW, lambda: failing(server))


def test_the_topics_that_fail_are_those_of_the_token(start, receiver):
    tokens = TokenFile()
    all_topics, some = tokens.add("all", scopes=["schedule", "read"]), tokens.add("some", scopes=["read"], topics="ours")
    server = start("--tokens", tokens.path, token=all_topics)
    tenant = server.with_token(some)
    for name in "ours", "theirs":
        receiver.script(name, 410)
        server.schedule(topic=name, url=receiver.url())
    until(lambda: set(failing(server)) == {"ours", "theirs"}, 10 * SLOW, lambda: failing(server))
    assert set(failing(tenant)) == {"ours"}
    until(lambda: [one["topic"] for one in tenant.get("/overview").expect(200)["failing"]] == ["ours"], 10 * SLOW, "only ours")
