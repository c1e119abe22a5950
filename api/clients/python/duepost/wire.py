"""How requests travel: tries, waits, and one story for two clients.

Each method is written once, as a coroutine or an async generator. `call` and `pages` make it a function or a generator
of Duepost: over httpx.Client nothing suspends, so the coroutine ends at its first step, and no event loop is needed."""

from __future__ import annotations

import asyncio
import functools
import inspect
import json
import random
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Generator, Mapping
from datetime import datetime, timedelta
from typing import Any, Concatenate, Generic, ParamSpec, TypeAlias, TypeVar, overload
from urllib.parse import quote

import httpx

from .errors import ConnectionFailed, Problem
from .generated.operations import OPERATIONS, Operation

P = ParamSpec("P")
T = TypeVar("T")
Http = TypeVar("Http", bound=httpx.Client | httpx.AsyncClient)
Time: TypeAlias = str | datetime  # RFC 3339; a datetime without a zone is a local time, for `timezone`
NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
MAX_WAIT = 60.0  # seconds; a longer Retry-After counts as this
EVENTS_TIMEOUT = 45.0  # seconds; in a stream of events, a comment comes every 15 s


def plain(value: object) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    raise TypeError(f"{type(value).__name__} cannot be sent")


def encode(document: object) -> bytes:
    return json.dumps(document, default=plain, ensure_ascii=False, separators=(",", ":")).encode()


def text_of(value: object) -> str:
    """Returns a value as a query has it."""
    return str(value).lower() if isinstance(value, bool) else str(value if isinstance(value, (str, int, float)) else plain(value))


def backoff(trial: int) -> float:
    return random.uniform(0.5, 1) * min(0.25 * 2.0**trial, 15)


async def value_of(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value


class Part(Generic[Http]):
    """A client, or a part of one such as `client.topics`."""

    http: Http

    def __init__(self, http: Http, url: str, headers: Mapping[str, str], timeout: float, tries: int) -> None:
        self.http, self.url, self.headers, self.timeout, self.tries = http, url, headers, timeout, tries
        self.is_async = isinstance(http, httpx.AsyncClient)

    async def send(self, operation: Operation, *names: str, query: Mapping[str, Any] = {}, body: object = None, content: bytes | None = None,
                   headers: Mapping[str, str | None] = {}, wait: float = 0, is_safe: bool | None = None, streams: bool = False,
                   url: str | None = None) -> httpx.Response:
        """Sends a request of the contract until it is answered. names: the parameters of its path. is_safe: it may be
        sent again if its answer was lost. url: an address outside of the server, which does not get the token."""
        method, path = OPERATIONS[operation]
        for name in names:
            before, _, after = path.partition("{")
            path = before + quote(name, safe="") + after.partition("}")[2]
        is_safe = method in ("GET", "PUT", "DELETE") or "Idempotency-Key" in headers if is_safe is None else is_safe
        content = encode(body) if body is not None else content
        sent = {**({} if url else self.headers), **({"Content-Type": "application/json"} if content is not None else {}), **headers}
        request = self.http.build_request(
            method, url or self.url + path, content=content, headers={name: value for name, value in sent.items() if value is not None},
            params=[(name, text_of(each)) for name, value in query.items() if value is not None
                    for each in (value if isinstance(value, (list, tuple)) else [value])] or None,
            timeout=httpx.Timeout(self.timeout, read=EVENTS_TIMEOUT if streams else self.timeout + wait))
        is_lost = False  # the server may have carried out an earlier try, or may still do so
        for trial in range(1, self.tries + 1):
            pause = backoff(trial)
            try:
                answer: httpx.Response = await value_of(self.http.send(request, stream=streams))
                if streams and not answer.is_success:
                    await value_of((answer.aread if self.is_async else answer.read)())
            except httpx.TransportError as error:
                is_sent = not isinstance(error, NOT_SENT)
                if trial == self.tries or is_sent and not is_safe:
                    raise ConnectionFailed(f"{method} {request.url}: {error or type(error).__name__}") from error
                is_lost |= is_sent
            else:
                if answer.is_success or answer.status_code == 304:
                    return answer
                problem = Problem.of(answer)
                is_running = answer.status_code == 409 and is_lost and method == "POST" and "state" not in problem.members
                may_repeat = answer.status_code == 429 or is_safe and answer.status_code == 503 or is_running
                if trial == self.tries or not may_repeat:
                    raise problem
                pause = min(max(problem.retry_after or 0, pause), MAX_WAIT)
            await self.sleep(pause)
        raise ValueError("tries must be at least 1")

    async def json(self, operation: Operation, *names: str, **options: Any) -> Any:
        return (await self.send(operation, *names, **options)).json()

    async def each(self, member: str | None, operation: Operation, *names: str, query: Mapping[str, Any]) -> AsyncIterator[Any]:
        """Gives each item of a list, page by page; without member, the pages."""
        while True:
            page = await self.json(operation, *names, query=query)
            for item in page[member] if member else [page]:
                yield item
            if "cursor" not in page:
                return
            query = {**query, "cursor": page["cursor"]}

    async def lines(self, answer: httpx.Response) -> AsyncGenerator[str, None]:
        try:
            async for line in answer.aiter_lines() if self.is_async else following(answer.iter_lines()):
                yield line
        finally:
            await value_of((answer.aclose if self.is_async else answer.close)())

    async def sleep(self, seconds: float) -> None:
        await value_of((asyncio.sleep if self.is_async else time.sleep)(seconds))


async def following(items: Any) -> AsyncIterator[Any]:
    for item in items:
        yield item


def finish(coroutine: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine that does not suspend."""
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return stop.value  # type: ignore[no-any-return]
    raise TypeError("Duepost cannot wait for something asynchronous; use AsyncDuepost")


def drain(items: Any) -> Generator[Any, None, None]:
    try:
        while True:
            yield finish(items.__anext__())
    except StopAsyncIteration:
        return
    finally:
        finish(items.aclose())


class call(Generic[P, T]):
    """Makes a coroutine a function of Duepost; of AsyncDuepost it stays a coroutine."""

    run: Callable[[Any], Any] = staticmethod(finish)

    def __init__(self, method: Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]) -> None:
        self.method: Callable[..., Any] = method

    @overload
    def __get__(self, part: Part[httpx.Client], owner: Any = None) -> Callable[P, T]: ...
    @overload
    def __get__(self, part: Part[httpx.AsyncClient], owner: Any = None) -> Callable[P, Coroutine[Any, Any, T]]: ...
    def __get__(self, part: Any, owner: Any = None) -> Any:
        if part is None or part.is_async:
            return self.method.__get__(part, owner)
        return functools.wraps(self.method)(lambda *args, **kwargs: self.run(self.method(part, *args, **kwargs)))


class pages(call[P, T]):
    """Makes an async generator a generator of Duepost; of AsyncDuepost it stays an async one."""

    run = staticmethod(drain)

    def __init__(self, method: Callable[Concatenate[Any, P], AsyncIterator[T]]) -> None:
        self.method = method

    @overload  # type: ignore[override]
    def __get__(self, part: Part[httpx.Client], owner: Any = None) -> Callable[P, Generator[T, None, None]]: ...
    @overload
    def __get__(self, part: Part[httpx.AsyncClient], owner: Any = None) -> Callable[P, AsyncIterator[T]]: ...
    def __get__(self, part: Any, owner: Any = None) -> Any:
        return super().__get__(part, owner)
