"""Errors of the client: all are a DuepostError. A Problem is an answer of the server, with the members of its
application/problem+json as attributes."""

from __future__ import annotations

import json
from typing import Any, ClassVar

import httpx


class DuepostError(Exception):
    pass


class ConnectionFailed(DuepostError):
    """No answer came, also after all tries. Whether the request has been carried out is unknown, unless the
    connection was refused."""


class SignatureError(DuepostError):
    """A request is not from duepost. `reason`: missing, timestamp, too_old, too_new or signature."""

    def __init__(self, reason: str, text: str) -> None:
        super().__init__(text)
        self.reason = reason


class Problem(DuepostError):
    """`status`, `title`, `detail`, `errors` (a list of `field` and `detail`), `retry_after` in seconds; `members` has
    all members of the document, such as the `state` of the job that a new one conflicts with."""

    kinds: ClassVar[dict[int, type[Problem]]] = {}

    def __init__(self, status: int, members: dict[str, Any], retry_after: float | None = None) -> None:
        self.status, self.members, self.retry_after = status, members, retry_after
        self.title: str = members.get("title", "")
        self.detail: str = members.get("detail", "")
        self.errors: list[dict[str, str]] = members.get("errors", [])
        faults = "; ".join(f"{error['field']}: {error['detail']}".removeprefix(": ") for error in self.errors)
        super().__init__(f"{status}: {self.detail}" + (f" {faults}" if faults else ""))

    def __init_subclass__(cls, statuses: tuple[int, ...] = ()) -> None:
        Problem.kinds.update(dict.fromkeys(statuses, cls))

    @staticmethod
    def of(answer: httpx.Response) -> Problem:
        try:
            members = json.loads(answer.content)
        except ValueError:  # of a proxy
            members = None
        if not isinstance(members, dict):
            members = {"title": answer.reason_phrase, "detail": answer.text[:1000]}
        text = answer.headers.get("Retry-After", "")
        return Problem.with_status(answer.status_code, members, float(text) if text.isascii() and text.isdigit() else None)

    @staticmethod
    def with_status(status: int, members: dict[str, Any], retry_after: float | None = None) -> Problem:
        return Problem.kinds.get(status, Problem)(status, members, retry_after)


class Invalid(Problem, statuses=(400, 413, 415, 422)): ...
class Unauthorized(Problem, statuses=(401,)): ...
class Forbidden(Problem, statuses=(403,)): ...
class NotFound(Problem, statuses=(404,)): ...
class Conflict(Problem, statuses=(409, 412)): ...  # another job has the id, a lease is lost, or the job is not as `if_match` says
class TooMany(Problem, statuses=(429,)): ...
class Unavailable(Problem, statuses=(503,)): ...
