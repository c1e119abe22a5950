"""Receivers: verify() for requests, the answers that a handler may return or raise, and Receiver, which
the modules for FastAPI and Django wrap."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import inspect
import json
import math
import re
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol
from urllib.parse import unquote

from .errors import SignatureError
from .wire import encode, value_of

UNITS = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}


def seconds(span: float | str) -> float:
    """Returns the seconds of a number or of a text such as 500ms, 15m or 1h30m."""
    if not isinstance(span, str):
        return float(span)
    parts = re.findall(r"([0-9]+(?:\.[0-9]*)?)(ms|[dhms])", span)
    if not parts or "".join(map("".join, parts)) != span:
        raise ValueError(f"{span!r} is not a duration such as 500ms, 15m or 1h30m")
    return sum(float(number) * UNITS[unit] for number, unit in parts)


@dataclass
class Outcome(Exception):
    """Handlers may return or raise it in place of a plain result. Any other exception fails the attempt."""


@dataclass
class Retry(Outcome):
    """The attempt has failed. The next one begins after delay, or by the retry schedule; a receiver cannot make it
    sooner than that."""

    delay: float | str | None = None
    error: str = "the handler asks for a retry"


@dataclass
class Bury(Outcome):
    """The job is dead at once."""

    error: str = "the handler has given up the job"


@dataclass
class Release(Outcome):
    """Only of a worker: the job is due again, and no attempt is counted."""


@dataclass
class NotYet(Outcome):
    """Only of a receiver: the job is neither delivered nor failed, and comes again after delay."""

    delay: float | str


@dataclass
class Defer(Outcome):
    """Only of a receiver: the attempt stays open for span, until `client.deferred(...)` ends it."""

    span: float | str


@dataclass
class Results(Outcome):
    """Only of a receiver: one outcome for each job of a batch, as the contract has them: `{"jobId": ..., "ok": True}`."""

    results: list[dict[str, Any]]


@dataclass
class Delivery:
    """A request of duepost. The signature covers `id`, `timestamp` and `content`, and nothing else: a
    client that has recorded a request can send it again with other headers, as long as its timestamp is fresh."""

    id: str  # the same in all attempts of a job; after a NotYet, `round` is another
    timestamp: int
    content: bytes
    headers: Mapping[str, str] = field(repr=False)  # names in lower case

    def __post_init__(self) -> None:
        def number(name: str, otherwise: int) -> int:
            text = self.headers.get(name, "")
            return int(text) if text.isascii() and text.isdigit() else otherwise

        self.topic, self.job_id = self.headers.get("duepost-topic", ""), unquote(self.headers.get("duepost-job-id", ""))
        self.attempt, self.round = number("duepost-attempt", 1), number("duepost-round", 1)
        self.batch = number("duepost-batch", 0)  # how many jobs `body` has; 0 if it is not a batch
        self.ticket: dict[str, Any] = {  # for `client.deferred(**ticket)`; can be stored as JSON
            "topic": self.topic, "job_id": self.job_id, "token": self.headers.get("duepost-token"), "end_url": self.headers.get("duepost-end-url")}

    @cached_property
    def body(self) -> Any:
        """The content: a value if it is JSON, a text if it is text, else bytes."""
        kind = self.headers.get("content-type", "application/json").lower()
        if not self.content or not kind.startswith(("application/json", "text/")):
            return self.content or None
        return json.loads(self.content) if kind.startswith("application/json") else self.content.decode()



def verify(body: bytes, headers: Mapping[str, str] | Iterable[tuple[str, str]], secrets: str | Iterable[str], *,
           tolerance: float = 300, now: float | None = None) -> Delivery:
    """Returns the delivery, or raises SignatureError. secrets: one `whsec_...`, or several while keys are rotated."""
    lower = {name.lower(): value for name, value in (headers.items() if isinstance(headers, Mapping) else headers)}
    message, at, signatures = (lower.get(f"webhook-{name}", "") for name in ("id", "timestamp", "signature"))
    if not message or not at or not signatures:
        raise SignatureError("missing", "the request has no webhook-id, webhook-timestamp or webhook-signature")
    if not re.fullmatch("[0-9]{1,12}", at):
        raise SignatureError("timestamp", "webhook-timestamp is not a number of seconds")
    age = (time.time() if now is None else now) - int(at)
    if abs(age) > tolerance:
        raise SignatureError("too_old" if age > 0 else "too_new", f"webhook-timestamp is {age:.0f} s old")
    keys = [key_of(secret) for secret in ([secrets] if isinstance(secrets, str) else secrets)]
    signed = f"{message}.{at}.".encode() + body
    expected = [b"v1," + base64.b64encode(hmac.digest(key, signed, hashlib.sha256)) for key in keys]
    given = [each.encode() for each in signatures.split(" ")]
    if not any([hmac.compare_digest(mine, each) for mine in expected for each in given]):
        raise SignatureError("signature", "no signature of the request is of one of the secrets")
    return Delivery(message, int(at), body, lower)


def key_of(secret: str) -> bytes:
    try:
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except binascii.Error:
        key = b""
    if not secret.startswith("whsec_") or not key:
        raise ValueError("a secret must be whsec_ and base64")
    return key


Reply = tuple[int, dict[str, str], bytes]


class Seen(Protocol):
    """For example, a set. That serves one process for a short time: use a table of the database."""

    def __contains__(self, key: Any, /) -> bool: ...
    def add(self, key: str, /) -> Any: ...


@dataclass
class Receiver:
    """Turns a request into a delivery, and what the handler has returned into an answer. seen: keys of deliveries that
    are answered without the handler; a key is added when the handler has succeeded."""

    secrets: str | Iterable[str]
    tolerance: float = 300
    seen: Seen | None = None

    def __post_init__(self) -> None:
        self.secrets = [self.secrets] if isinstance(self.secrets, str) else list(self.secrets)

    async def receive(self, body: bytes, headers: Iterable[tuple[str, str]], handle: Callable[[Delivery], Any]) -> Reply:
        """Ends at its first step if handle is a plain function."""
        try:
            delivery = verify(body, headers, self.secrets, tolerance=self.tolerance)
        except SignatureError as error:
            return 401, {}, str(error).encode()
        key = "" if delivery.batch else delivery.id if delivery.round == 1 else f"{delivery.id}:{delivery.round}"
        if self.seen is not None and key in self.seen:
            return 204, {}, b""
        try:
            outcome = await value_of(handle(delivery))
        except Outcome as raised:
            outcome = raised
        reply = answer(outcome)
        if self.seen is not None and key and not isinstance(outcome, (Retry, NotYet, Defer)):
            self.seen.add(key)  # others come again, or have to reach the handler again
        return reply


def is_async(function: Any) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))


def answer(outcome: Any) -> Reply:
    match outcome:
        case None:
            return 204, {}, b""
        case NotYet(delay):
            return 200, {"Duepost-Again": str(delay)}, b""
        case Defer(span):
            return 202, {"Duepost-Defer": str(span)}, b""
        case Retry(delay, error):
            return 503, {} if delay is None else {"Retry-After": str(math.ceil(seconds(delay)))}, error.encode()
        case Bury(error):
            return 410, {}, error.encode()
        case Release():
            raise TypeError("only a worker can release a job")
    document = {"results": outcome.results} if isinstance(outcome, Results) else outcome
    return 200, {"Content-Type": "application/json"}, encode(document)
