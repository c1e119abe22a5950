"""Calls of both clients, against a real server."""

import asyncio
import datetime
import http.server
import threading
import time

import duepost
import pytest
from conftest import until
from duepost.testing import Server


def test_a_job_is_scheduled_once_though_its_answer_is_lost(server, proxy, connect, topic):
    proxy.swallow = 2
    client = connect(proxy.url)
    job = client.schedule({"topic": topic, "url": server.receiver, "delay": "1h"})
    assert proxy.swallow == 0
    assert [found["jobId"] for found in client.list(topic=topic)] == [job["jobId"]]


def test_a_request_that_is_not_safe_is_not_repeated(server, proxy, connect, topic):
    client = connect(proxy.url)
    client.schedule({"topic": topic, "jobId": "1", "url": server.receiver, "delay": "1h"})
    proxy.cut()
    proxy.swallow = 1
    with pytest.raises(duepost.ConnectionFailed):
        client.change(topic, "1", {"priority": 9})
    assert client.get(topic, "1")["priority"] == 9


class Answering(http.server.BaseHTTPRequestHandler):
    """Answers with one status after the other."""

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.server.seen.append((time.monotonic(), dict(self.headers)))
        status = self.server.statuses.pop(0)
        body = b'{"jobId": "1"}' if status < 300 else b'{"title": "t", "status": 1, "detail": "d"}'
        self.send_response(status)
        self.send_header("Retry-After", "1")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def answering():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    server.seen = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    server.url = f"http://127.0.0.1:{server.server_port}"
    yield server
    server.shutdown()
    server.server_close()


def test_429_and_503_are_repeated_after_retry_after_with_the_same_key(answering, connect):
    answering.statuses = [429, 503, 201]
    assert connect(answering.url, token="secret", headers={"X-App": "shop"}).schedule({"topic": "a"}) == {"jobId": "1"}
    times, headers = zip(*answering.seen)
    assert times[1] - times[0] >= 1 and times[2] - times[1] >= 1
    lower = [{name.lower(): value for name, value in each.items()} for each in headers]
    assert len({each["idempotency-key"] for each in lower}) == 1
    assert lower[0]["authorization"] == "Bearer secret" and lower[0]["x-app"] == "shop"


def test_507_is_not_repeated_and_tries_are_bounded(answering, connect):
    answering.statuses = [507]
    with pytest.raises(duepost.Problem) as full:
        connect(answering.url).schedule({"topic": "a"})
    assert full.value.status == 507 and len(answering.seen) == 1
    answering.statuses = [503, 503]
    with pytest.raises(duepost.Unavailable):
        connect(answering.url, tries=2).schedule({"topic": "a"})
    assert len(answering.seen) == 3


def test_problems_have_a_kind_and_their_members(client, connect, topic):
    with pytest.raises(duepost.NotFound):
        client.get(topic, "nothing")
    with pytest.raises(duepost.Invalid) as invalid:
        client.schedule({"topic": topic, "url": "ftp://x", "retry": -1})
    assert sorted(error["field"] for error in invalid.value.errors) == ["retry", "url"]
    client.schedule({"topic": topic, "jobId": "1", "url": "http://example.com", "delay": 3600})
    with pytest.raises(duepost.Conflict) as conflict:
        client.schedule({"topic": topic, "jobId": "1", "url": "http://example.com/other", "delay": 3600})
    assert conflict.value.members["state"] == "delayed"
    with pytest.raises(duepost.ConnectionFailed):
        connect("http://127.0.0.1:1", tries=2).get(topic, "1")
    client.topics.put(topic, {"maxPending": 1})
    with pytest.raises(duepost.TooMany) as many:
        connect(client.url if isinstance(client.url, str) else client.client.url, tries=1).schedule({"topic": topic, "url": "http://example.com"})
    assert many.value.retry_after >= 1 and many.value.members["maxPending"] == 1


def test_2500_jobs_of_which_one_is_refused(server, proxy, connect, topic):
    proxy.swallow = 1
    jobs = [{"topic": topic, "url": server.receiver, "delay": 3600, "body": number} for number in range(2500)]
    jobs[1234]["url"] = "ftp://x"
    client = connect(proxy.url)
    results = client.schedule_many(iter(jobs))
    assert [number for number, result in enumerate(results) if result.problem] == [1234]
    assert isinstance(results[1234].problem, duepost.Invalid) and results[1234].job is None
    assert sum(1 for _ in client.list(topic=topic, limit=1000)) == 2499
    read = client.get(topic, results[2000].job["jobId"])
    assert read["body"] == 2000


def test_many_jobs_are_delivered_once_though_their_answer_is_lost(server, proxy, connect, topic):
    proxy.swallow = 1
    results = connect(proxy.url).schedule_many([{"topic": topic, "url": server.receiver} for _ in range(20)])
    assert len({result.job["jobId"] for result in results}) == 20
    until(lambda: not server.client.topics.get(topic)["lastHour"]["delivered"] < 20)
    assert len(server.deliveries(topic)) == 20


def test_large_jobs_are_sent_in_arrays_that_the_server_takes(server, client, topic):
    jobs = [{"topic": topic, "url": server.receiver, "delay": 3600, "body": "x" * 500_000} for _ in range(5)]
    jobs[3]["body"] = "x" * 1_100_000
    results = client.schedule_many(jobs)
    assert [result.problem.status if result.problem else result.job["status"] for result in results] == [201, 201, 201, 413, 201]


def test_jobs_without_room_are_sent_again(server, client, topic):
    client.topics.put(topic, {"maxPending": 2})
    results = client.schedule_many([{"topic": topic, "url": server.receiver} for _ in range(4)])
    assert all(result.job for result in results), results


def test_many_jobs_of_an_async_iterable(server, topic):
    async def jobs():
        for number in range(3):
            await asyncio.sleep(0)
            yield {"topic": topic, "url": server.receiver, "delay": 3600, "body": number}

    async def run():
        async with duepost.AsyncDuepost(server.url) as client:
            return [result.job["status"] async for result in client.schedule_many(jobs())]

    assert asyncio.run(run()) == [201, 201, 201]


def test_lists_and_bulk_actions_go_through_all_pages(server, client, topic):
    for _ in client.schedule_many([{"topic": topic, "url": server.receiver, "delay": 3600} for _ in range(25)]):
        pass
    assert len(client.list(topic=topic, limit=10)) == 25
    assert sum(page["done"] for page in client.reschedule(topic=topic, state="delayed", delay="2h", all=True, pageLimit=10)) == 25
    assert sum(page["done"] for page in client.cancel_all(topic=topic, state="delayed", limit=5, pageLimit=2)) == 5
    assert [page["matched"] for page in client.run_all(topic=topic, state="delayed", all=True, dryRun=True)] == [20]
    assert sum(page["done"] for page in client.cancel_all(topic=topic, state="delayed", all=True, pageLimit=10)) == 20
    assert client.list(topic=topic) == []
    assert client.redrive(topic=topic, state="dead", all=True) == [{"matched": 0, "done": 0, "skipped": 0}]


def test_one_job(server, client, topic):
    due = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)
    client.topics.put(topic, {"retention": "1h"})
    client.schedule({"topic": topic, "jobId": "a/b", "url": server.receiver, "dueAt": due})
    job, etag = client.get_changed(topic, "a/b")
    assert job["jobId"] == "a/b" and client.get_changed(topic, "a/b", etag) == client.get_changed(topic, "a/b", etag, wait=0.1) == (None, etag)
    assert client.change(topic, "a/b", {"priority": 7}, if_match=etag)["priority"] == 7
    with pytest.raises(duepost.Conflict):
        client.change(topic, "a/b", {"priority": 8}, if_match=etag)
    client.replace(topic, "a/b", {"url": server.receiver, "delay": "10m", "body": {"n": 1}})
    assert "due" in str(client.why(topic, "a/b")).lower()
    with pytest.raises(TimeoutError):
        client.wait(topic, "a/b", timeout=0.2)
    client.run(topic, "a/b")
    assert client.wait(topic, "a/b", timeout=60)["state"] == "delivered"
    assert [attempt["status"] for attempt in client.attempts(topic, "a/b")] == [204]
    assert client.schedule({"topic": topic, "url": server.receiver}, wait=60)["state"] == "delivered"
    client.schedule({"topic": topic, "jobId": "c", "url": server.receiver, "delay": 60})
    assert client.cancel(topic, "c")["state"] == "cancelled"


def test_documents_with_a_name(server, client, topic):
    client.topics.put(topic, {"url": server.receiver, "retention": "1h"})
    assert client.topics.change(topic, {"paused": True})["settings"]["paused"] is True
    assert client.topics.get(topic)["settings"]["retention"] == 3600
    client.schedules.put(topic, "nightly", {"cron": "30 2 * * *", "job": {"url": server.receiver}})
    assert client.schedules.change(topic, "nightly", {"paused": True})["paused"] is True
    assert client.schedules.run(topic, "nightly")["state"] == "delayed"
    assert [each["scheduleId"] for each in client.schedules.list(topic)] == ["nightly"]
    assert "nightly" in [each["scheduleId"] for each in client.schedules.list()]
    client.schedules.delete(topic, "nightly")
    with pytest.raises(duepost.NotFound):
        client.schedules.get(topic, "nightly")
    client.keys.put(topic, "acme", {"maxInFlight": 2})
    assert client.keys.get(topic, "acme")["settings"] == {"maxInFlight": 2}
    assert "acme" in [each["key"] for each in client.keys.list(topic)]
    client.keys.reset(topic, "acme")
    client.limits.put(topic, {"maxInFlight": 3})
    assert topic in [each["limit"] for each in client.limits.list()]
    client.limits.delete(topic)
    client.groups.put(topic, {"endpoints": {"a": {"url": server.receiver}}})
    assert client.groups.get(topic)["group"] == topic
    client.groups.delete(topic)
    client.topics.reset(topic)
    assert client.topics.get(topic)["settings"] == {}
    assert client.request("readAccess").json()["tokens"] is False


@pytest.mark.parametrize("is_async", [False, True])
def test_events_go_on_after_the_connection_is_lost(server, proxy, topic, is_async):
    server.client.topics.put(topic, {"events": True})
    found, seen = [], threading.Event()

    def is_last(event):
        found.append(event.data["jobId"])
        seen.set()
        return found[-1] == "last"

    def read():
        with duepost.Duepost(proxy.url) as client:
            next(event for event in client.events([topic], types=["accepted"]) if is_last(event))

    async def read_later():
        async with duepost.AsyncDuepost(proxy.url) as client:
            async for event in client.events([topic], types=["accepted"]):
                if is_last(event):
                    return

    reader = threading.Thread(target=lambda: asyncio.run(read_later()) if is_async else read())
    reader.start()
    number = 0
    while not seen.wait(0.1):  # the stream is open when the first event comes
        server.client.schedule({"topic": topic, "jobId": f"first-{(number := number + 1)}", "url": server.receiver, "delay": 3600})
    proxy.cut()
    for job in "a", "b", "last":
        server.client.schedule({"topic": topic, "jobId": job, "url": server.receiver, "delay": 3600})
    reader.join(60)
    assert found[-3:] == ["a", "b", "last"] and len(set(found)) == len(found)


def test_the_manual_clock_of_the_fixture(duepost_server):
    def handle(delivery):
        raise duepost.NotYet("2h") if delivery.round == 1 else duepost.Retry(error="not ready")

    duepost_server.handle = handle
    duepost_server.client.schedule({"topic": "orders", "jobId": "1", "url": duepost_server.receiver, "retrySchedule": [15, "3m"]})
    fired = duepost_server.until_idle()
    assert [event["outcome"] for event in fired] == ["again", "retry", "retry", "dead"]
    assert [delivery.round for delivery in duepost_server.deliveries("orders")] == [1, 2, 2, 2]
    duepost_server.client.schedules.put("orders", "hourly", {"every": "1h", "job": {"url": duepost_server.receiver}})
    duepost_server.handle = lambda delivery: {"answer": 42}
    duepost_server.collected.clear()
    duepost_server.advance("1d")
    assert len(duepost_server.deliveries("orders")) == 24 and duepost_server.deliveries("other") == []


def test_a_server_that_does_not_start():
    with pytest.raises(duepost.DuepostError, match="has not started"):
        Server("--no-such-option")
