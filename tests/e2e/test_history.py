"""Reads, lists, counts, runs and removals of jobs that have ended, with each database that can keep them."""

import itertools
import json
import re
import time
import urllib.parse

import pytest

import scratch
from duepost import Duepost
from patience import until
from mongo_server import MongoServer
from postgres_server import PostgresServer
from receiver import Answer
from timestamp import from_ms, to_ms
from tokens import TokenFile

_databases = itertools.count(1)


@pytest.fixture(scope="module")
def postgres():
    started = PostgresServer()
    yield started
    started.stop()


@pytest.fixture(scope="module")
def mongo():
    started = MongoServer()
    yield started
    started.stop()


@pytest.fixture(scope="module", params=["sqlite", "postgresql", "mongodb"])
def where(request):
    """Returns the value of --history."""
    if request.param == "sqlite":
        return f"sqlite:{scratch.file('history.sqlite')}"
    if request.param == "mongodb":
        return request.getfixturevalue("mongo").url(f"history{next(_databases)}")
    return request.getfixturevalue("postgres").create(f"history{next(_databases)}")


@pytest.fixture(scope="module")
def keeper(where):
    """A server with a history, which tests share; each uses a topic of its own."""
    started = Duepost("--breaker", "off", "--history", where)
    yield started
    started.stop()
    assert "ERROR: AddressSanitizer" not in started.log()


def listed(server, **parameters):
    jobs, cursor = [], None
    while True:
        query = urllib.parse.urlencode(parameters | ({"cursor": cursor} if cursor else {}))
        page = server.get(f"/jobs?{query}").expect(200)
        jobs += page["jobs"]
        cursor = page.get("cursor")
        if not cursor:
            return jobs


def ids(server, **parameters):
    return [job["jobId"] for job in listed(server, **parameters)]


def count(server, **parameters):
    return server.get(f"/jobs/count?{urllib.parse.urlencode(parameters)}").expect(200)


def deliver(server, receiver, topic, job_id, **members):
    server.schedule(topic=topic, jobId=job_id, url=receiver.url(), **members)
    until(lambda: count(server, state="delivered", topic=topic, idPrefix=job_id)["count"] == 1, 15, f"{job_id} is in the history")


def bury(server, receiver, topic, job_id, status=410, **members):
    receiver.script(topic, status, job_id=job_id)
    server.schedule(topic=topic, jobId=job_id, url=receiver.url(), retry=0, **members)
    until(lambda: count(server, state="dead", source="history", topic=topic, idPrefix=job_id)["count"] == 1, 15,
          f"{job_id} is in the history")


def cancel(server, receiver, topic, job_id, **members):
    server.schedule(topic=topic, jobId=job_id, url=receiver.url(), delay=3600, **members)
    server.cancel(topic, job_id).expect(200)
    until(lambda: count(server, state="cancelled", topic=topic, idPrefix=job_id)["count"] == 1, 15, f"{job_id} is in the history")


# ---- one job ----

def test_a_delivered_job_can_be_read(keeper, receiver, topic):
    receiver.script(topic, 503, Answer(200, body=b"thanks"))
    body = {"order": 1041, "total": 1.10}
    deliver(keeper, receiver, topic, "a", body=body, labels=["red"], retrySchedule=[0.1])
    job = keeper.get(f"/jobs/{topic}/a").expect(200)
    assert job["state"] == "delivered" and job["body"] == body and job["labels"] == ["red"] and job["attempts"] == 2
    assert job["lastAttempt"]["status"] == 200 and "keptUntil" not in job
    attempts = keeper.get(f"/jobs/{topic}/a/attempts").expect(200)["attempts"]
    assert [attempt["status"] for attempt in attempts] == [503, 200] and attempts[1]["answer"] == "thanks"
    why = keeper.get(f"/jobs/{topic}/a/why").expect(200)
    assert why["why"] == why["state"] == "delivered" and why["endedAt"] == job["deliveredAt"]
    assert re.fullmatch(r"It was delivered \d+ seconds? ago, at attempt 2: the receiver answered 200 in \d+ ms\.", why["detail"])


def test_a_job_can_be_read_at_any_moment_of_its_end(keeper, receiver, topic):
    keeper.schedule(topic=topic, jobId="a", url=receiver.url())
    until(lambda: receiver.count(topic) == 1, 15, "the job is sent")
    end = time.monotonic() + 3
    while time.monotonic() < end:
        assert keeper.get(f"/jobs/{topic}/a").expect(200)["state"] in ("leased", "delivered")
        keeper.get(f"/jobs/{topic}/a/why").expect(200)
    assert keeper.get(f"/jobs/{topic}/a").expect(200)["state"] == "delivered"


def test_a_job_that_never_existed_is_not_found(keeper, topic):
    for path in "", "/why", "/attempts":
        answer = keeper.get(f"/jobs/{topic}/none{path}")
        assert answer.expect(404)["detail"].startswith("There is no such job, in Redis or in the history.")
    keeper.run(topic, "none").expect(404)


def test_a_new_job_hides_the_old_one(keeper, receiver, topic):
    deliver(keeper, receiver, topic, "a")
    keeper.schedule(topic=topic, jobId="a", url=receiver.url(), delay=3600)
    assert keeper.get(f"/jobs/{topic}/a").expect(200)["state"] == "delayed"
    assert ids(keeper, state="any", topic=topic) == ["a"]


# ---- lists and counts ----

def test_lists_of_all_outcomes(keeper, receiver, topic):
    deliver(keeper, receiver, topic, "d1", labels=["red"])
    bury(keeper, receiver, topic, "x1", 410)
    bury(keeper, receiver, topic, "x2", 503, labels=["red"])
    cancel(keeper, receiver, topic, "c1")
    assert ids(keeper, state="any", topic=topic) == ["d1", "x1", "x2", "c1"]
    assert ids(keeper, state="any", topic=topic, order="newest") == ["c1", "x2", "x1", "d1"]
    assert ids(keeper, state="any", topic=topic, limit=1) == ["d1", "x1", "x2", "c1"]
    assert ids(keeper, state="delivered", topic=topic) == ["d1"]
    assert ids(keeper, state="cancelled", topic=topic) == ["c1"]
    assert ids(keeper, state="any", topic=topic, label="red") == ["d1", "x2"]
    assert ids(keeper, state="any", topic=topic, lastStatus="5xx") == ["x2"]
    assert ids(keeper, state="any", topic=topic, idPrefix="x") == ["x1", "x2"]
    assert ids(keeper, state="any", topic=topic, reason="gone") == ["x1"]
    assert keeper.get(f"/jobs?state=any&topic={topic}").expect(200)["source"] == "history"
    times = [to_ms(job[name]) for job in listed(keeper, state="any", topic=topic)
             for name in ("deliveredAt", "cancelledAt", "deadAt") if name in job]
    assert times == sorted(times)
    assert ids(keeper, state="any", topic=topic, endedAfter=from_ms(times[1])) == ["x1", "x2", "c1"]
    assert ids(keeper, state="any", topic=topic, endedBefore=from_ms(times[1])) == ["d1"]
    assert count(keeper, state="any", topic=topic) == {"count": 4, "delivered": 1, "cancelled": 1, "dead": 2, "source": "history"}
    # The jobs x1 and x2 are in Redis and in the history. The list without source shows each of them once, from Redis.
    dead = keeper.get(f"/jobs?state=dead&topic={topic}").expect(200)
    assert "source" not in dead and sorted(job["jobId"] for job in dead["jobs"]) == ["x1", "x2"]
    assert ids(keeper, state="dead", source="history", topic=topic) == ["x1", "x2"]
    assert ids(keeper, source="history", topic=topic) == ["d1", "x1", "x2", "c1"]


def test_lists_of_a_receiver(keeper, receiver, topic):
    deliver(keeper, receiver, topic, "a")
    bury(keeper, receiver, topic, "b")
    keeper.schedule(topic=topic, jobId="c", url="https://Hooks.example:8443?x=http://127.0.0.1/", delay=3600)
    keeper.cancel(topic, "c").expect(200)
    until(lambda: count(keeper, state="any", topic=topic)["count"] == 3, 15, "all are in the history")
    host = receiver.url().split("/")[2]
    for text, found in ((host, ["a", "b"]), (host.split(":")[0], ["a", "b"]), ("127.0.0", []), ("hooks.EXAMPLE", ["c"]),
                        ("hooks.example:8443", ["c"]), ("hooks.example:844", []), ("%", [])):
        assert ids(keeper, state="any", topic=topic, urlHost=text) == found, text
        assert count(keeper, state="any", topic=topic, urlHost=text)["count"] == len(found)
    assert ids(keeper, state="dead", source="history", topic=topic, urlHost=host) == ["b"]


@pytest.mark.parametrize("query, field", [
    ("state=ready&source=history", "state"), ("state=any&source=redis", "state"), ("state=any&urlHost=a/b", "urlHost"),
    ("source=both", "source"), ("state=any&cursor=h.1.2", "cursor"), ("state=any&cursor=MTo", "cursor"),
    ("state=dead&cursor=h.1.2.3", "cursor"), ("state=delivered&source=redis", "topic"),
    ("state=any&reason=" + ",".join(["gone"] * 17), "reason"), ("state=any&lastStatus=" + ",".join(["5xx"] * 17), "lastStatus"),
    ("state=any&dueAfter=2030-01-01T00:00:00Z", "dueAfter"),
])
def test_a_list_that_cannot_be_is_refused(keeper, query, field):
    assert keeper.get(f"/jobs?{query}").fields() == [field]


# ---- statistics ----

def test_statistics_count_each_step(keeper, receiver, topic):
    before = from_ms(int(time.time() * 1000) - 1000)
    deliver(keeper, receiver, topic, "a")
    bury(keeper, receiver, topic, "b")
    after = from_ms(int(time.time() * 1000) + 1000)
    query = f"/stats?topic={topic}&from={before}&to={after}"
    stats = keeper.get(f"{query}&step=1s").expect(200)
    assert stats["from"] == before and stats["to"] == after and stats["step"] == 1 and stats["topic"] == topic
    assert [to_ms(step["at"]) - to_ms(before) for step in stats["steps"]] == [1000 * n for n in range(len(stats["steps"]))]
    for name, expected in ("delivered", 1), ("dead", 1), ("cancelled", 0):
        assert sum(step[name] for step in stats["steps"]) == expected
    assert len(keeper.get(f"{query}&step=1h").expect(200)["steps"]) == 1
    assert len(keeper.get("/stats").expect(200)["steps"]) == 60


@pytest.mark.parametrize("query, field", [
    ("from=2030-01-01T00:00:00Z&to=2030-01-01T00:00:00Z", "from"), ("from=2030-01-01T00:00:00Z&to=2030-01-02T00:00:00Z&step=1", "step"),
    ("step=0.5", "step"), ("from=now", "from"), ("to=x", "to"), ("topic=a/b", "topic"), ("before=2030-01-01T00:00:00Z", "before"),
])
def test_statistics_that_cannot_be_are_refused(keeper, query, field):
    assert keeper.get(f"/stats?{query}").fields() == [field]


# ---- run ----

def test_a_dead_job_that_redis_has_no_more_is_run_from_the_history(receiver, topic, where):
    server = Duepost("--breaker", "off", "--dead-max", "1", "--history", where)
    try:
        bury(server, receiver, topic, "old", 410, body={"n": 1}, labels=["red"])
        bury(server, receiver, topic, "new", 410)
        until(lambda: [job["jobId"] for job in server.get(f"/jobs?state=dead&topic={topic}").expect(200)["jobs"]] == ["new"], 15,
              "Redis has the newest dead job only")
        assert server.get(f"/jobs/{topic}/old").expect(200)["state"] == "dead"
        assert server.get(f"/jobs/{topic}/old/why").expect(200)["why"] == "dead"
        receiver.script(topic, 200, job_id="old")
        assert server.run(topic, "old").expect(202)["jobId"] == "old"
        until(lambda: server.get(f"/jobs/{topic}/old").expect(200)["state"] == "delivered", 15, "the job is delivered")
        assert json.loads(receiver.of(topic, "old")[-1].body) == {"n": 1}
        server.run(topic, "old").expect(409)
    finally:
        server.stop()


def test_the_dead_jobs_of_the_history_are_redriven_once(receiver, topic, where):
    server = Duepost("--breaker", "off", "--dead-max", "1", "--history", where)
    names = [f"j{n}" for n in range(5)]
    query = f"/jobs/redrive?source=history&topic={topic}"
    try:
        for name in names:
            bury(server, receiver, topic, name, 410, body={"n": name})
        until(lambda: server.get(f"/jobs/count?state=dead&topic={topic}").expect(200)["count"] == 1, 15, "Redis has one dead job")
        until(lambda: server.get(f"/jobs/count?state=dead&source=history&topic={topic}").expect(200)["count"] == 5, 15,
              "the history has all")
        assert server.request("POST", f"{query}&all=true&dryRun=true").expect(200)["matched"] == 5
        for name in names:
            receiver.script(topic, 200, job_id=name)
        first = server.request("POST", f"{query}&limit=3&pageLimit=2").expect(200)
        assert (first["matched"], first["done"], first["skipped"]) == (2, 2, 0)
        second = server.request("POST", f"{query}&limit=3&pageLimit=2&cursor={first['cursor']}").expect(200)
        assert (second["matched"], second["done"]) == (1, 1) and "cursor" not in second
        rest = server.request("POST", f"{query}&all=true&perSecond=100").expect(200)
        assert (rest["matched"], rest["done"], rest["skipped"]) == (5, 2, 3)
        until(lambda: all(server.get(f"/jobs/{topic}/{name}").expect(200)["state"] == "delivered" for name in names), 20,
              "all are delivered")
        again = server.request("POST", f"{query}&all=true").expect(200)
        assert (again["done"], again["skipped"]) == (0, again["matched"])
        for name in names:
            assert [json.loads(request.body) for request in receiver.of(topic, name)] == [{"n": name}] * 2
    finally:
        server.stop()


def test_a_redrive_of_a_history_that_is_not_kept_is_refused(server, topic):
    assert server.request("POST", f"/jobs/redrive?source=history&topic={topic}&all=true").fields() == ["source"]


def test_a_delivered_job_is_sent_again_only_on_request(keeper, receiver, topic):
    deliver(keeper, receiver, topic, "a", body={"n": 1})
    refused = keeper.run(topic, "a").expect(409)
    assert refused["state"] == "delivered" and "resend=true" in refused["detail"]
    keeper.request("POST", f"/jobs/{topic}/a/run?resend=true").expect(202)
    until(lambda: receiver.count(topic) == 2, 15, "the job is sent again")
    keeper.request("POST", f"/jobs/{topic}/a/run?resend=maybe").expect(400)


def test_a_job_without_its_body_cannot_be_run(receiver, topic, where):
    server = Duepost("--breaker", "off", "--history", where, "--history-bodies", "off")
    try:
        deliver(server, receiver, topic, "a", body={"n": 1})
        deliver(server, receiver, topic, "empty")
        job = server.get(f"/jobs/{topic}/a").expect(200)
        assert job["bodyLeftOut"] is True and "body" not in job
        answer = server.request("POST", f"/jobs/{topic}/a/run?resend=true").expect(409)
        assert "--history-bodies" in answer["detail"]
        assert "bodyLeftOut" not in server.get(f"/jobs/{topic}/empty").expect(200)
        server.request("POST", f"/jobs/{topic}/empty/run?resend=true").expect(202)
    finally:
        server.stop()


# ---- removal ----

def test_a_topic_is_removed(keeper, receiver, topic):
    deliver(keeper, receiver, topic, "a")
    cancel(keeper, receiver, topic, "b")
    deliver(keeper, receiver, topic + "-other", "a")
    assert keeper.request("DELETE", f"/history?topic={topic}&state=cancelled").expect(200) == {"deleted": 1, "hasMore": False}
    assert ids(keeper, state="any", topic=topic) == ["a"]
    keeper.request("DELETE", f"/history?topic={topic}&before=2020-01-01T00:00:00Z").expect(200)
    assert ids(keeper, state="any", topic=topic) == ["a"]
    assert keeper.request("DELETE", f"/history?topic={topic}").expect(200)["deleted"] == 1
    keeper.get(f"/jobs/{topic}/a").expect(404)
    assert ids(keeper, state="any", topic=topic + "-other") == ["a"]
    assert re.search(rf'history_removed .*filter="?topic={re.escape(topic)}"? removed=1', keeper.log())


@pytest.mark.parametrize("query, field", [("", "topic"), ("state=dead", "topic"), ("topic=a&state=ready", "state"), ("before=now", "before"),
                                          ("topic=a&label=x", "label")])
def test_a_removal_that_cannot_be_is_refused(keeper, query, field):
    assert keeper.request("DELETE", f"/history?{query}").fields() == [field]


# ---- a server without a history, and a history whose database is away ----

def test_a_server_without_a_history_says_so(server, topic):
    assert "--history" in server.get(f"/jobs/{topic}/none").expect(404)["detail"]
    assert server.get("/jobs?state=any").fields() == ["state"]
    assert server.get("/jobs?state=dead&source=history").fields() == ["source"]
    assert "--history" in server.get("/stats").expect(404)["detail"]
    assert "--history" in server.request("DELETE", f"/history?topic={topic}").expect(404)["detail"]
    server.request("POST", "/stats").expect(405)
    server.get("/history").expect(405)


def test_without_the_database_nothing_is_guessed(receiver, topic, postgres):
    url = postgres.create(f"lost{next(_databases)}")
    server, is_there = Duepost("--breaker", "off", "--history", url), True
    try:
        deliver(server, receiver, topic, "a")
        postgres.kill()
        is_there = False
        until(lambda: server.get(f"/jobs/{topic}/a").status == 503, 30, "the history cannot be read")
        for path in f"/jobs/{topic}/a/why", f"/jobs/{topic}/a/attempts", "/jobs?state=any", "/jobs/count?state=any", "/stats", "/audit":
            answer = server.get(path)
            assert answer.expect(503)["detail"].startswith("The history cannot be read now:") and answer.headers["Retry-After"]
            assert not any(word in answer.json["detail"] for word in ("127.0.0.1", "postgres", "/tmp"))
        server.run(topic, "a").expect(503)
        server.request("DELETE", f"/history?topic={topic}").expect(503)
        # While the database is away, jobs that are in Redis can be read, and jobs are delivered.
        server.schedule(topic=topic, jobId="b", url=receiver.url())
        until(lambda: server.get(f"/jobs/{topic}/b").expect(200)["state"] == "delivered", 15, "b is delivered")
        assert server.get(f"/jobs/{topic}/b/why").expect(200)["why"] == "delivered"
        postgres.start()
        is_there = True
        until(lambda: ids(server, state="any", topic=topic) == ["a", "b"] if server.get("/jobs?state=any").status == 200 else False, 60,
              "both are in the history")
    finally:
        server.stop()
        if not is_there:
            postgres.start()


# ---- tokens ----

def test_tokens_see_their_topics_only(receiver, topic, where):
    file = TokenFile()
    ops = file.add("ops")
    shop = file.add("shop", topics=f"{topic}-shop")
    view = file.add("view", scopes=["read"])
    server = Duepost("--breaker", "off", "--history", where, "--tokens", str(file.path), token=ops)
    try:
        deliver(server, receiver, f"{topic}-shop", "a")
        deliver(server, receiver, f"{topic}-bank", "a")
        shop, view = server.with_token(shop), server.with_token(view)
        shop.get(f"/jobs/{topic}-shop/a").expect(200)
        shop.get(f"/jobs/{topic}-bank/a").expect(404)
        shop.get(f"/jobs/{topic}-bank/a/why").expect(404)
        for path in "/jobs?state=any", "/jobs/count?state=any", "/stats":
            joint = "&" if "?" in path else "?"
            shop.get(f"{path}{joint}topic={topic}-shop").expect(200)
            shop.get(f"{path}{joint}topic={topic}-bank").expect(403)
            shop.get(path).expect(403)
        shop.request("DELETE", f"/history?topic={topic}-bank").expect(403)
        shop.request("DELETE", "/history?before=2040-01-01T00:00:00Z").expect(403)
        view.request("DELETE", f"/history?topic={topic}-shop").expect(403)
        assert shop.request("DELETE", f"/history?topic={topic}-shop").expect(200)["deleted"] == 1
        server.get(f"/jobs/{topic}-bank/a").expect(200)
    finally:
        server.stop()
