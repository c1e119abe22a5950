"""Receives jobs in an application of FastAPI or Starlette: `@app.post("/close")`, and under it `@receive(secrets)`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from .receive import Delivery, Receiver, Seen, is_async


def receive(secrets: str | Iterable[str], *, tolerance: float = 300,
            seen: Seen | None = None) -> Callable[[Callable[[Delivery], Any]], Callable[[Request], Awaitable[Response]]]:
    """Makes a function of a Delivery, plain or async, an endpoint."""
    receiver = Receiver(secrets, tolerance, seen)

    def wrap(handle: Callable[[Delivery], Any]) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            body = await request.body()
            run = handle if is_async(handle) else lambda delivery: run_in_threadpool(handle, delivery)
            status, headers, content = await receiver.receive(body, request.headers.items(), run)
            return Response(content, status, headers)

        endpoint.__name__, endpoint.__doc__ = getattr(handle, "__name__", "endpoint"), handle.__doc__
        return endpoint

    return wrap
