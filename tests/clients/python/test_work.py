"""Workers, against a real server."""

import asyncio
import pathlib
import signal
import subprocess
import sys
import threading
import time

import duepost
import pytest
from conftest import until

WORKER = pathlib.Path(__file__).with_name("worker.py")


@pytest.fixture
def topic(server, topic):
    server.client.topics.put(topic, {"delivery": "pull", "retention": "1h", "retrySchedule": [3600]})
    return topic


def schedule(server, topic, *names, **members):
    for name in names:
        server.client.schedule({"topic": topic, "jobId": name, "body": name, **members})


def work(server, topic, handler, condition, **options):
    """Runs a worker until the condition is true."""
    async def run():
        stop = asyncio.Event()
        async with duepost.AsyncDuepost(server.url) as client:
            worker = asyncio.create_task(client.work(topic, handler, stop=stop, **options))
            await asyncio.wait({worker, asyncio.create_task(asyncio.to_thread(until, condition))}, return_when=asyncio.FIRST_COMPLETED)
            stop.set()
            await worker

    asyncio.run(run())


def ended(server, topic, name, state="delivered"):
    return lambda: server.client.get(topic, name)["state"] == state


def outcomes(job):
    match job.job_id:
        case "result":
            return {"pages": 3}
        case "retry":
            return duepost.Retry("2m", "locked")
        case "bury":
            raise duepost.Bury("no such order")
        case "fail":
            raise ValueError("x" * 300)
        case "large":
            return "x" * 100_000


@pytest.mark.parametrize("is_async", [False, True])
def test_each_outcome_of_a_handler(server, topic, is_async):
    async def outcomes_later(job):
        await asyncio.sleep(0)
        return outcomes(job)

    schedule(server, topic, "result", "retry", "bury", "fail", "large", "last")
    work(server, topic, outcomes_later if is_async else outcomes, ended(server, topic, "last"), concurrency=1 if is_async else 3)
    jobs = {name: server.client.get(topic, name) for name in ("result", "retry", "bury", "fail", "large")}
    assert jobs["result"]["state"] == "delivered" and jobs["result"]["result"] == {"pages": 3}
    assert [jobs[name]["state"] for name in ("retry", "bury", "fail", "large")] == ["delayed", "dead", "delayed", "delayed"]
    errors = {name: [attempt["errorDetail"] for attempt in server.client.attempts(topic, name)] for name in ("retry", "bury", "fail", "large")}
    assert errors["retry"] == ["locked"] and errors["bury"] == ["no such order"]
    assert errors["fail"][0].startswith("xxx") and "result" in errors["large"][0]


def test_release_counts_no_attempt(server, topic):
    seen = []

    def handle(job):
        seen.append(job.attempt)
        return duepost.Release() if len(seen) == 1 else None

    schedule(server, topic, "1")
    work(server, topic, handle, ended(server, topic, "1"))
    assert seen == [1, 1]


def test_a_lease_is_extended_and_progress_is_shown(server, topic):
    seen = []

    def handle(job):
        seen.append(job.attempt)
        job.progress(0.5)
        until(lambda: server.client.get(topic, "1").get("progress") == 0.5)
        time.sleep(4)

    schedule(server, topic, "1")
    work(server, topic, handle, ended(server, topic, "1"), lease=3)
    assert seen == [1]


def test_a_progress_that_is_refused_does_not_stop_the_work(server, topic):
    def handle(job):
        with pytest.raises(TypeError):
            job.progress(object())
        job.progress("x" * 5000)
        time.sleep(1.5)
        job.progress(1)
        until(lambda: server.client.get(topic, "1").get("progress") == 1)
        return "done"

    schedule(server, topic, "1")
    work(server, topic, handle, ended(server, topic, "1"), lease=3)
    assert server.client.get(topic, "1")["result"] == "done"


def test_concurrency_is_a_bound_and_is_reached(server, topic):
    now, most, lock = [], [], threading.Lock()

    def handle(job):
        with lock:
            now.append(job.job_id)
            most.append(len(now))
        time.sleep(0.2)
        now.remove(job.job_id)

    names = [str(number) for number in range(9)]
    schedule(server, topic, *names)
    work(server, topic, handle, lambda: all(ended(server, topic, name)() for name in names), concurrency=3)
    assert max(most) == 3


@pytest.mark.parametrize("is_async", [False, True])
def test_a_lost_lease_ends_the_handler_and_nothing_is_completed(server, topic, is_async):
    lost = []

    def plain(job):
        server.client.cancel(topic, job.job_id)
        assert job.is_lost.wait(60)
        with pytest.raises(duepost.LeaseLost):
            job.progress(1)
        lost.append(job.job_id)

    async def later(job):
        await asyncio.to_thread(server.client.cancel, topic, job.job_id)
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            lost.append(job.job_id)
            raise

    schedule(server, topic, "1")
    work(server, topic, later if is_async else plain, lambda: lost, lease=1)
    assert lost == ["1"] and server.client.get(topic, "1")["state"] == "cancelled"


def test_a_lease_is_lost_while_the_server_is_not_reached(server, proxy, topic):
    lost = []

    def handle(job):
        proxy.close()
        proxy.cut()
        assert job.is_lost.wait(60)
        lost.append(job.job_id)

    schedule(server, topic, "1")
    work(proxy, topic, handle, lambda: lost, lease=2)
    until(lambda: server.client.get(topic, "1")["state"] == "delayed")
    assert [attempt["error"] for attempt in server.client.attempts(topic, "1")] == ["lease_expired"]


def start(server, topic, seconds, lease=30):
    return subprocess.Popen([sys.executable, WORKER, server.url, topic, str(seconds), str(lease)], stdout=subprocess.PIPE, text=True)


def test_sigterm_drains(server, topic):
    schedule(server, topic, "1", "2")
    worker = start(server, topic, 2)
    assert worker.stdout.readline() == "begin 1\n"
    worker.send_signal(signal.SIGTERM)
    assert worker.communicate(timeout=60)[0] == "drained\n" and worker.returncode == 0
    assert server.client.get(topic, "1")["state"] == "delivered" and server.client.get(topic, "1")["result"] == {"done": "1"}
    assert server.client.get(topic, "2")["state"] == "ready"


def test_sigterm_ends_a_worker_that_waits_for_a_job(server, topic):
    worker = start(server, topic, 0)
    until(lambda: server.client.topics.get(topic)["pull"]["waiting"] == 1)
    worker.send_signal(signal.SIGTERM)
    assert worker.communicate(timeout=60)[0] == "drained\n"
    schedule(server, topic, "1")
    assert server.client.get(topic, "1")["state"] == "ready"


def test_the_job_of_a_worker_that_was_killed_comes_again(server, topic):
    server.client.topics.change(topic, {"retrySchedule": [0]})
    schedule(server, topic, "1")
    worker = start(server, topic, 60, lease=1)
    assert worker.stdout.readline() == "begin 1\n"
    worker.kill()
    worker.communicate()
    seen = []
    work(server, topic, lambda job: seen.append(job.attempt), ended(server, topic, "1"))
    assert seen == [2]


def test_a_worker_waits_for_a_server_that_is_away(server, proxy, topic):
    seen = []

    async def run():
        stop = asyncio.Event()
        async with duepost.AsyncDuepost(proxy.url, tries=1) as client:
            worker = asyncio.create_task(client.work(topic, lambda job: seen.append(job.job_id), stop=stop))
            await asyncio.sleep(0.3)
            proxy.cut()
            proxy.swallow = 2
            schedule(server, topic, "1", retrySchedule=[0, 0, 0, 0])
            await asyncio.to_thread(until, lambda: seen)
            await asyncio.to_thread(until, ended(server, topic, "1"))
            stop.set()
            await worker

    asyncio.run(run())


def test_a_topic_that_workers_cannot_lease_is_an_error(server):
    with pytest.raises(duepost.Conflict):
        server.client.work("pushed", lambda job: None)
