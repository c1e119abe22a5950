"""Receives jobs in an application of Django: `@receive(secrets)` makes a function of a Delivery a view."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from django.http import HttpRequest, HttpResponse  # type: ignore[import-untyped]
from django.views.decorators.csrf import csrf_exempt  # type: ignore[import-untyped]

from .receive import Delivery, Receiver, Seen, is_async
from .wire import finish


def receive(secrets: str | Iterable[str], *, tolerance: float = 300,
            seen: Seen | None = None) -> Callable[[Callable[[Delivery], Any]], Callable[..., Any]]:
    """The view of an async function is async."""
    receiver = Receiver(secrets, tolerance, seen)

    def wrap(handle: Callable[[Delivery], Any]) -> Callable[..., Any]:
        async def respond(request: HttpRequest) -> HttpResponse:
            status, headers, content = await receiver.receive(request.body, request.headers.items(), handle)
            return HttpResponse(content, status=status, headers=headers)

        def view(request: HttpRequest) -> HttpResponse:
            return finish(respond(request))

        made: Callable[..., Any] = csrf_exempt(respond if is_async(handle) else view)
        made.__name__, made.__doc__ = getattr(handle, "__name__", "view"), handle.__doc__
        return made

    return wrap
