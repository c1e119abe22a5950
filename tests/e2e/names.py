"""Names of this host."""

import pathlib
import socket

import pytest


def private_name():
    """Returns a name of this host, other than localhost, that resolves to 127.0.0.1."""
    for line in pathlib.Path("/etc/hosts").read_text().splitlines():
        words = line.partition("#")[0].split()
        if words[:1] == ["127.0.0.1"]:
            for name in words[1:]:
                if "localhost" not in name and {found[4][0] for found in socket.getaddrinfo(name, 80)} == {"127.0.0.1"}:
                    return name
    pytest.skip("/etc/hosts has no other name of 127.0.0.1")
