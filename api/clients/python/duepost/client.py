"""The clients: Duepost, and AsyncDuepost with the same methods as coroutines and async iterators.

Members of documents and parameters of queries have the names of the contract: `client.list(topic="orders",
dueAfter=...)`. Options of the client itself are in snake_case."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import time
from collections.abc import AsyncIterable, AsyncIterator, Callable, Coroutine, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias, cast

import httpx
from typing_extensions import Self, Unpack

from .errors import ConnectionFailed, Invalid, Problem, Unavailable
from .generated import models as m
from .generated.operations import OPERATIONS, Operation
from .receive import seconds
from .wire import MAX_WAIT, Http, Part, backoff, call, encode, following, pages
from .work import Deferred, Leased, work

CHUNK_JOBS, CHUNK_BYTES = 1000, 1 << 20  # the server takes more in an array, but only few such arrays at once
MAX_ASK = 60.0  # seconds; the longest `wait` of a request
Document: TypeAlias = Mapping[str, Any]


class Result(NamedTuple):
    """The result of one job of `schedule_many`: one of both is there."""

    job: m.JobResult | None = None
    problem: Problem | None = None


class Event(NamedTuple):
    """`type`: accepted, begun, progress, retried, delivered, dead, cancelled or fired; or gap: events are missing."""

    type: str
    id: str | None
    data: dict[str, Any]


def operation(name: Operation) -> Any:
    """Returns a call with the parameters of the operation's path and, if it has one, its body."""
    names = OPERATIONS[name][1].count("{")
    return call(lambda part, *given: part.json(name, *given[:names], body=given[names] if given[names:] else None))


def listing(name: Operation, member: str) -> Any:
    return pages(lambda part, *names, **query: part.each(member, name, *names, query=query))


class Topics(Part[Http]):
    list: pages[..., m.TopicState] = listing("listTopics", "topics")
    get: call[[str], m.TopicState] = operation("readTopic")
    put: call[[str, Document], Document] = operation("replaceSettings")
    change: call[[str, Document], Document] = operation("changeSettings")
    reset: call[[str], Document] = operation("resetSettings")


class Keys(Part[Http]):
    list: pages[..., m.KeyState] = listing("listKeys", "keys")
    get: call[[str, str], m.KeyState] = operation("readKey")
    put: call[[str, str, Document], Document] = operation("replaceKey")
    change: call[[str, str, Document], Document] = operation("changeKey")
    reset: call[[str, str], Document] = operation("resetKey")


class Limits(Part[Http]):
    list: pages[..., m.LimitState] = listing("listLimits", "limits")
    get: call[[str], m.LimitState] = operation("readLimit")
    put: call[[str, Document], Document] = operation("replaceLimit")
    change: call[[str, Document], Document] = operation("changeLimit")
    delete: call[[str], Document] = operation("removeLimit")


class Groups(Part[Http]):
    list: pages[..., m.GroupState] = listing("listGroups", "groups")
    get: call[[str], m.GroupState] = operation("readGroup")
    put: call[[str, Document], Document] = operation("replaceGroup")
    change: call[[str, Document], Document] = operation("changeGroup")
    delete: call[[str], Document] = operation("removeGroup")


class Schedules(Part[Http]):
    get: call[[str, str], m.Schedule] = operation("readSchedule")
    put: call[[str, str, m.NewSchedule], m.Schedule] = operation("replaceSchedule")
    change: call[[str, str, m.SchedulePatch], m.Schedule] = operation("changeSchedule")
    delete: call[[str, str], Document] = operation("deleteSchedule")

    @pages
    def list(self, topic: str | None = None, /, **query: Any) -> AsyncIterator[m.Schedule]:
        return self.each("schedules", *(("listSchedulesOfTopic", topic) if topic else ("listSchedules",)), query=query)

    @call
    def run(self, topic: str, schedule_id: str) -> Coroutine[Any, Any, m.Scheduled]:
        return self.json("runSchedule", topic, schedule_id, headers=new_key())


class Calls(Part[Http]):
    run: call[[str, str], m.Scheduled] = operation("runJob")
    why: call[[str, str], m.WhyJobResponse] = operation("whyJob")
    attempts: pages[[str, str], m.Attempt] = listing("listAttempts", "attempts")

    def __init__(self, http: Http, url: str | None, token: str | None, headers: Mapping[str, str], timeout: float, tries: int) -> None:
        token = token or os.environ.get("DUEPOST_TOKEN")
        super().__init__(http, (url or os.environ.get("DUEPOST_SERVER") or "http://127.0.0.1:7700").rstrip("/"),
                         {**({"Authorization": f"Bearer {token}"} if token else {}), **headers}, timeout, tries)
        config = self.http, self.url, self.headers, timeout, tries
        self.topics, self.keys, self.limits = Topics(*config), Keys(*config), Limits(*config)
        self.groups, self.schedules = Groups(*config), Schedules(*config)

    def deferred(self, topic: str, job_id: str, token: str, end_url: str | None = None) -> Deferred[Http]:
        """Ends an attempt later: `client.deferred(**delivery.ticket).complete(result)`. No token of the server is sent to end_url."""
        return Deferred(self, topic, job_id, token, end_url)

    @call
    def request(self, operation: Operation, *names: str, query: Document = {}, body: Any = None,
                headers: Mapping[str, str] = {}) -> Coroutine[Any, Any, httpx.Response]:
        """Sends any request of the contract, by its operationId and the parameters of its path."""
        return self.send(operation, *names, query=query, body=body, headers=headers)

    @call
    def schedule(self, job: m.NewJob, *, idempotency_key: str | None = None,
                 wait: float | None = None) -> Coroutine[Any, Any, m.Scheduled | m.Placed | m.Job]:
        """Schedules a job, once, however often its answer is lost. wait: seconds to wait for its end."""
        return self.json("scheduleJob", body=job, query=waiting(wait), wait=wait or 0, headers={} if "idempotencyKey" in job else new_key(idempotency_key), is_safe=True)

    @pages
    async def schedule_many(self, jobs: Iterable[m.NewJob] | AsyncIterable[m.NewJob]) -> AsyncIterator[Result]:
        """Schedules jobs in arrays, and gives a result for each, in their order. Each job gets an `idempotencyKey`, so that
        an array whose answer was lost can be sent again."""
        chunk: list[bytes] = []
        size = 0
        async for job in jobs if isinstance(jobs, AsyncIterable) else following(jobs):
            text = encode(job if "debounce" in job else {"idempotencyKey": secrets.token_hex(16), **job})
            if chunk and (len(chunk) == CHUNK_JOBS or size + len(text) + 1 > CHUNK_BYTES):
                for result in await schedule_chunk(self, chunk):
                    yield result
                chunk, size = [], 0
            chunk.append(text)
            size += len(text) + 1
        for result in await schedule_chunk(self, chunk) if chunk else []:
            yield result

    @call
    def get(self, topic: str, job_id: str, *, wait: float | None = None) -> Coroutine[Any, Any, m.Job]:
        """Reads a job; with wait, when it has ended or after this many seconds."""
        return self.json("readJob", topic, job_id, query=waiting(wait), wait=wait or 0)

    @call
    async def get_changed(self, topic: str, job_id: str, etag: str | None = None, *, wait: float | None = None) -> tuple[m.Job | None, str]:
        """Reads a job and its ETag. No job: it still has this ETag, with wait after this many seconds."""
        answer = await self.send("readJob", topic, job_id, query=waiting(wait), wait=wait or 0, headers={"If-None-Match": etag})
        now = answer.headers.get("ETag", "")
        return None if now == etag else answer.json(), now

    @call
    async def wait(self, topic: str, job_id: str, *, timeout: float = 300) -> m.Job:
        """Waits until the job has ended, and returns it. TimeoutError after this many seconds."""
        end = time.monotonic() + timeout
        while (left := end - time.monotonic()) > 0:
            ask = max(min(left, MAX_ASK), 0.001)
            job = await self.json("readJob", topic, job_id, query=waiting(ask), wait=ask)
            if job["state"] in ("delivered", "dead", "cancelled"):
                return cast(m.Job, job)
        raise TimeoutError(f"{topic}/{job_id} has not ended within {timeout} s")

    @call
    def replace(self, topic: str, job_id: str, job: Document, *, if_match: str | None = None,
                if_none_match: str | None = None) -> Coroutine[Any, Any, m.Scheduled]:
        return self.json("replaceJob", topic, job_id, body={"topic": topic, **job}, headers={"If-Match": if_match, "If-None-Match": if_none_match})

    @call
    def change(self, topic: str, job_id: str, changes: m.JobPatch, *, if_match: str | None = None) -> Coroutine[Any, Any, m.Job]:
        return self.json("changeJob", topic, job_id, body=changes, headers={"If-Match": if_match})

    @call
    def cancel(self, topic: str, job_id: str, *, if_match: str | None = None) -> Coroutine[Any, Any, m.CancelJobResponse]:
        return self.json("cancelJob", topic, job_id, headers={"If-Match": if_match})

    @pages
    def list(self, **query: Unpack[m.ListJobsParametersQuery]) -> AsyncIterator[m.Job]:
        return self.each("jobs", "listJobs", query=query)

    @pages
    def cancel_all(self, **query: Unpack[m.CancelJobsParametersQuery]) -> AsyncIterator[m.CancelJobsResponse]:
        """Cancels jobs that match, a page with each step of the iterator. Needs `limit` or `all=True`, as the others do."""
        return self.each(None, "cancelJobs", query=query)

    @pages
    def run_all(self, **query: Unpack[m.RunJobsParametersQuery]) -> AsyncIterator[m.RunJobsResponse]:
        return self.each(None, "runJobs", query=query)

    @pages
    def redrive(self, **query: Unpack[m.RedriveJobsParametersQuery]) -> AsyncIterator[m.RedriveJobsResponse]:
        return self.each(None, "redriveJobs", query=query)

    @pages
    def reschedule(self, **query: Unpack[m.RescheduleJobsParametersQuery]) -> AsyncIterator[m.RescheduleJobsResponse]:
        return self.each(None, "rescheduleJobs", query=query)

    @pages
    async def events(self, topics: Sequence[str], *, key: str | None = None, types: Sequence[str] = (),
                     last_event_id: str | None = None) -> AsyncIterator[Event]:
        """Gives what happens to jobs, without an end. Connects again when the connection is lost."""
        query = {"topic": [*topics], "key": key, "types": ",".join(types) or None}
        failures = 0
        while True:
            fields: dict[str, str] = {}
            try:
                answer = await self.send("readEvents", query=query, streams=True, headers={"Last-Event-ID": last_event_id})
                async with contextlib.aclosing(self.lines(answer)) as lines:
                    async for line in lines:
                        failures = 0
                        name, _, value = line.partition(":")
                        if line:
                            fields[name] = value.removeprefix(" ")
                            continue
                        event, fields, last_event_id = fields, {}, fields.get("id", last_event_id)
                        if "data" in event:
                            yield Event(event.get("event", "message"), event.get("id"), json.loads(event["data"]))
            except (httpx.TransportError, ConnectionFailed, Unavailable):
                failures += 1
            await self.sleep(backoff(failures))


def new_key(key: str | None = None) -> dict[str, str]:
    return {"Idempotency-Key": key or secrets.token_hex(16)}


def waiting(wait: float | None) -> Document:
    return {} if wait is None else {"wait": f"{wait:.3f}s"}


async def schedule_chunk(client: Part[Any], chunk: list[bytes]) -> list[Result]:
    """Sends one array. Jobs that found no room are sent again."""
    results = [Result()] * len(chunk)
    left = list(range(len(chunk)))
    for trial in range(1, client.tries + 1):
        try:
            answer = await client.json("scheduleJob", content=b"[" + b",".join(chunk[i] for i in left) + b"]", is_safe=True)
        except Invalid as problem:  # the array as a whole: look for the job that is the reason
            if len(chunk) == 1:
                return [Result(problem=problem)]
            middle = len(chunk) // 2
            return await schedule_chunk(client, chunk[:middle]) + await schedule_chunk(client, chunk[middle:])
        for i, found in zip(left, answer["results"]):
            refused = Problem.with_status(found["status"], found, found.get("retryAfter"))
            results[i] = Result(found) if found["status"] < 300 else Result(problem=refused)
        again = {i: refusal.retry_after or 0 for i in left if (refusal := results[i].problem) and refusal.status in (429, 503)}
        if not again or trial == client.tries:
            break
        left = list(again)
        await client.sleep(min(max(backoff(trial), *again.values()), MAX_WAIT))
    return results


class Duepost(Calls[httpx.Client]):
    """url and token: by default those of the environment, as for the command line: DUEPOST_SERVER and DUEPOST_TOKEN."""

    def __init__(self, url: str | None = None, *, token: str | None = None, timeout: float = 30, tries: int = 4,
                 headers: Mapping[str, str] = {}, http: httpx.Client | None = None) -> None:
        super().__init__(http or httpx.Client(), url, token, headers, timeout, tries)

    def work(self, topic: str, handler: Callable[[Leased], Any], *, concurrency: int = 1, lease: float | str = 30) -> None:
        """Works on the jobs of a pull topic, until SIGTERM or SIGINT comes. Plain functions run in threads."""
        async def run() -> None:
            async with AsyncDuepost(self.url, headers=self.headers, timeout=self.timeout, tries=self.tries) as client:
                await client.work(topic, handler, concurrency=concurrency, lease=lease)

        asyncio.run(run())

    def close(self) -> None:
        self.http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncDuepost(Calls[httpx.AsyncClient]):
    def __init__(self, url: str | None = None, *, token: str | None = None, timeout: float = 30, tries: int = 4,
                 headers: Mapping[str, str] = {}, http: httpx.AsyncClient | None = None) -> None:
        super().__init__(http or httpx.AsyncClient(), url, token, headers, timeout, tries)

    async def work(self, topic: str, handler: Callable[[Leased], Any], *, concurrency: int = 1, lease: float | str = 30,
                   stop: asyncio.Event | None = None) -> None:
        """As Duepost.work; also until stop is set."""
        await work(self, topic, handler, concurrency, seconds(lease), stop or asyncio.Event())

    async def close(self) -> None:
        await self.http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
