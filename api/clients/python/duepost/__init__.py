"""Client of duepost, a delayed job queue over HTTP."""

from .client import AsyncDuepost, Duepost, Event, Result
from .errors import (Conflict, ConnectionFailed, DuepostError, Forbidden, Invalid, NotFound, Problem, SignatureError, TooMany, Unauthorized,
                     Unavailable)
from .receive import Bury, Defer, Delivery, NotYet, Outcome, Receiver, Release, Results, Retry, verify
from .work import Deferred, Leased, LeaseLost

__all__ = [
    "AsyncDuepost", "Bury", "Conflict", "ConnectionFailed", "Defer", "Deferred", "Delivery", "Duepost", "DuepostError", "Event", "Forbidden",
    "Invalid", "LeaseLost", "Leased", "NotFound", "NotYet", "Outcome", "Problem", "Receiver", "Release", "Result", "Results", "Retry",
    "SignatureError", "TooMany", "Unauthorized", "Unavailable", "verify",
]
