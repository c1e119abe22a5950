"""The fixture duepost_server, in every project that has this package: a duepost.testing.Server for one test."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .testing import Server


@pytest.fixture
def duepost_server() -> Iterator[Server]:
    from .testing import Server

    with Server() as server:
        yield server
