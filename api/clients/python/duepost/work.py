"""The ends of attempts, and workers of pull topics."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import httpx

from .errors import Conflict, ConnectionFailed, DuepostError, Invalid, TooMany, Unavailable
from .generated import models as m
from .generated.operations import Operation
from .receive import Bury, Outcome, Release, Retry, is_async, seconds
from .wire import Http, Part, backoff, call, encode

LEASE_WAIT = 5.0  # seconds; how long the server holds the request while no job is due. A lease may have begun as early as the request
log = logging.getLogger("duepost")


class Deferred(Part[Http]):
    """The end of an attempt that a worker has leased, or whose receiver has answered with Defer. All may be repeated."""

    def __init__(self, client: Part[Http], topic: str, job_id: str, token: str, end_url: str | None = None) -> None:
        super().__init__(client.http, client.url, client.headers, client.timeout, client.tries)
        self.topic, self.job_id, self.token, self.end_url = topic, job_id, token, end_url

    async def end(self, operation: Operation, word: str, **members: Any) -> m.LeaseEnd:
        body = {"jobId": self.job_id, "token": self.token, **{name: value for name, value in members.items() if value is not None}}
        return cast(m.LeaseEnd, await self.json(operation, self.topic, body=body, is_safe=True, url=self.end_url and self.end_url + word))

    @call
    async def complete(self, result: Any = None) -> m.LeaseEnd:
        return await self.end("completeJobs", "complete", result=result)

    @call
    async def retry(self, delay: float | str | None = None, error: str | None = None) -> m.LeaseEnd:
        return await self.end("retryJobs", "retry", delay=None if delay is None else seconds(delay), error=short(error))

    @call
    async def bury(self, error: str | None = None) -> m.LeaseEnd:
        return await self.end("buryJobs", "bury", error=short(error))

    @call
    async def extend(self, lease: float | str = 30, progress: Any = None) -> m.LeaseEnd:
        return await self.end("extendLeases", "extend", lease=seconds(lease), progress=progress)

    @call
    async def release(self) -> m.LeaseEnd:
        """Only of a worker."""
        return await self.end("releaseJobs", "release")


def short(error: str | None) -> str | None:
    """Returns at most 256 bytes of the text, which is what the server takes."""
    return error and error.encode("utf-8", "replace")[:256].decode("utf-8", "ignore")


class LeaseLost(DuepostError):
    """The job was cancelled, or its lease could not be extended in time: another worker may have the job."""


class Leased:
    """A job that a handler works on. `job` has all its members."""

    def __init__(self, job: m.LeasedJob, wake: Callable[[], Any]) -> None:
        self.job, self.topic, self.job_id, self.attempt, self.body = job, job["topic"], job["jobId"], job["attempt"], job.get("body")
        self.is_lost = threading.Event()  # for plain functions; a coroutine is cancelled
        self.news: Any = None
        self.wake = wake

    def progress(self, value: Any) -> None:
        """Tells how far the work is: 0 to 1, or any small JSON. Raises LeaseLost if the work is in vain."""
        if self.is_lost.is_set():
            raise LeaseLost(f"the lease of {self.topic}/{self.job_id} is lost")
        encode(value)  # raises a TypeError here
        self.news = value
        self.wake()


async def work(client: Part[httpx.AsyncClient], topic: str, handler: Callable[[Leased], Any], concurrency: int, lease: float,
               stop: asyncio.Event) -> None:
    loop, stopped, running = asyncio.get_running_loop(), asyncio.create_task(stop.wait()), set[asyncio.Task[None]]()
    threads = ThreadPoolExecutor(concurrency)
    is_main = threading.current_thread() is threading.main_thread()
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)} if is_main else {}
    for number in before:
        loop.add_signal_handler(number, stop.set)
    failures, key, room, sent = 0, "", 0, 0.0
    try:
        while not stop.is_set():
            if len(running) < concurrency:
                if not failures:  # else the same request again: it shows what the server has leased for the lost answer
                    key, room, sent = secrets.token_hex(16), min(concurrency - len(running), 100), time.monotonic()
                try:
                    jobs = await lease_jobs(client, topic, key, room, lease, stopped)
                    failures = 0
                except (ConnectionFailed, TooMany, Unavailable) as error:
                    failures += 1
                    log.warning("no jobs of %s: %s", topic, error)
                    await asyncio.wait({stopped}, timeout=backoff(failures))
                    continue
                running |= {asyncio.create_task(run(client, job, handler, lease, sent + lease, threads)) for job in jobs}
            else:
                await asyncio.wait({stopped, *running}, return_when=asyncio.FIRST_COMPLETED)
            running = {task for task in running if not task.done()}
    finally:
        for number, handle in before.items():  # a second signal ends the process
            loop.remove_signal_handler(number)
            signal.signal(number, handle or signal.SIG_DFL)
        stopped.cancel()
        if running:
            await asyncio.wait(running)
        threads.shutdown(wait=False)


async def lease_jobs(client: Part[httpx.AsyncClient], topic: str, key: str, room: int, lease: float,
                     stopped: asyncio.Task[Any]) -> list[m.LeasedJob]:
    def ask() -> asyncio.Task[Any]:
        return asyncio.create_task(client.json("leaseJobs", topic, headers={"Idempotency-Key": key}, wait=wait,
                                               body={"max": room, "lease": lease, "wait": wait}))

    wait = min(LEASE_WAIT, lease / 4)
    asked = ask()
    await asyncio.wait({asked, stopped}, return_when=asyncio.FIRST_COMPLETED)
    if asked.done():
        return cast("list[m.LeasedJob]", asked.result()["jobs"])
    # The worker stops. The server may have leased jobs just now: the same request shows them, and they are released.
    asked.cancel()
    with contextlib.suppress(asyncio.TimeoutError, DuepostError):
        for job in (await asyncio.wait_for(ask(), 1))["jobs"]:
            await Deferred(client, topic, job["jobId"], job["token"]).release()
    return []


async def run(client: Part[httpx.AsyncClient], job: m.LeasedJob, handler: Callable[[Leased], Any], lease: float, held_until: float,
              threads: ThreadPoolExecutor) -> None:
    """Runs the handler, extends the lease meanwhile, and reports the end. held_until: by time.monotonic()."""
    loop, woken, pause = asyncio.get_running_loop(), asyncio.Event(), lease / 3
    leased = Leased(job, lambda: loop.call_soon_threadsafe(woken.set))
    attempt = Deferred(client, job["topic"], job["jobId"], job["token"])
    handling = asyncio.ensure_future(handler(leased) if is_async(handler) else loop.run_in_executor(threads, handler, leased))
    while not handling.done():
        waking = asyncio.create_task(woken.wait())
        await asyncio.wait({handling, waking}, timeout=pause, return_when=asyncio.FIRST_COMPLETED)
        waking.cancel()
        woken.clear()
        if handling.done():
            break
        sent = time.monotonic()
        try:
            await asyncio.wait_for(attempt.extend(lease, leased.news), max(held_until - sent, 1))
            held_until, pause = sent + lease, lease / 3
        except (Conflict, asyncio.TimeoutError) as error:
            log.warning("the lease of %s/%s is lost: %s", leased.topic, leased.job_id, error)
            leased.is_lost.set()
            if is_async(handler):
                handling.cancel()
            await asyncio.wait({handling})
            return
        except DuepostError as error:  # tried again until the lease has run out
            log.warning("the lease of %s/%s is not extended: %s", leased.topic, leased.job_id, error)
            leased.news = None if isinstance(error, Invalid) else leased.news  # the progress is too large
            pause = min(1, lease / 3)
    try:
        await end(attempt, handling)
    except Exception as error:
        log.warning("the end of %s/%s is not recorded: %s", leased.topic, leased.job_id, error)


async def end(attempt: Deferred[httpx.AsyncClient], handling: asyncio.Future[Any]) -> None:
    try:
        outcome = handling.result()
    except Outcome as raised:
        outcome = raised
    except (Exception, asyncio.CancelledError) as error:
        log.exception("the handler of %s/%s failed", attempt.topic, attempt.job_id)
        outcome = Retry(error=str(error) or type(error).__name__)
    match outcome:
        case Retry(delay, text):
            await attempt.retry(delay, text)
        case Bury(text):
            await attempt.bury(text)
        case Release():
            await attempt.release()
        case Outcome():
            await attempt.retry(error=f"a worker cannot end with {outcome!r}")
        case result:
            try:
                await attempt.complete(result)
            except (Invalid, TypeError) as error:  # for example, the result is too large
                await attempt.retry(error=str(error))
