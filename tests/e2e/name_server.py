"""A name server with scripted answers, over UDP and, if an answer is too long for UDP, over TCP."""

import collections
import contextlib
import ipaddress
import socket
import struct
import threading

NXDOMAIN, SERVFAIL, SILENCE = "no such name", "failure", "silence"
ADDRESS = ("127.0.0.53", 53)
_TYPES = {1: 4, 28: 6}  # the types of queries that are answered, A and AAAA: the IP version of the addresses


class Alias(str):
    """An alias (CNAME): the resolver continues with this name."""


class NameServer:
    """names: maps a name to its answers. Each query of a type gets the next answer; the last answer repeats.
    An answer is one of the words above, or a list of addresses. The list may have one Alias, which is
    followed by the addresses of the alias. "*" stands for all names that are not in names. Create the server within
    the test network that uses it."""

    def __init__(self, names=None):
        self.names = {"*": [NXDOMAIN], **(names or {})}
        self.asked = collections.Counter()
        self._turn = collections.Counter()
        self._udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._udp.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
        self._udp.bind(ADDRESS)
        self._tcp = socket.create_server(ADDRESS)
        for serve in (self._serve_udp, self._serve_tcp):
            threading.Thread(target=serve, daemon=True).start()

    def stop(self):
        for sock in (self._udp, self._tcp):
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
            sock.close()

    def _serve_udp(self):
        with contextlib.suppress(OSError):
            while True:
                query, peer = self._udp.recvfrom(4096)
                if not query:  # shut down
                    return
                answer = self._answer(query, 512)
                if answer:
                    self._udp.sendto(answer, peer)

    def _serve_tcp(self):
        with contextlib.suppress(OSError):
            while True:
                link = self._tcp.accept()[0]
                with link, contextlib.suppress(OSError, struct.error):
                    link.settimeout(5)
                    while head := link.recv(2, socket.MSG_WAITALL):
                        answer = self._answer(link.recv(struct.unpack(">H", head)[0], socket.MSG_WAITALL), 65535)
                        link.sendall(struct.pack(">H", len(answer)) + answer)

    def _answer(self, query, room):
        name, end = _read_name(query)
        kind = struct.unpack(">H", query[end:end + 2])[0]
        question = query[12:end + 4]
        found = self._find(name, kind, room)
        if found == SILENCE:
            return b""
        code = {NXDOMAIN: 3, SERVFAIL: 2}.get(found if isinstance(found, str) else None, 0)
        records = _records(name, kind, found, self._last) if code == 0 else []
        body = b"".join(records)
        is_cut = len(question) + len(body) + 12 > room
        flags = 0x8580 | code | (0x0200 if is_cut else 0)
        return query[:2] + struct.pack(">HHHHH", flags, 1, 0 if is_cut else len(records), 0, 0) + question + (b"" if is_cut else body)

    def _find(self, name, kind, room):
        """Returns the answer whose turn it is. Each lookup takes one turn. The repetition over TCP of an
        answer that was truncated over UDP does not count."""
        answers = self.names.get(name, self.names["*"])
        if room == 512:
            self.asked[name] += 1
            self._turn[name, kind] += 1
        return answers[min(max(self._turn[name, kind], 1), len(answers)) - 1]

    def _last(self, name):
        return self.names[name][-1]


def _read_name(query):
    labels, at = [], 12
    while query[at]:
        labels.append(query[at + 1:at + 1 + query[at]].decode("latin-1"))
        at += 1 + query[at]
    return ".".join(labels).lower(), at + 1


def _encode(name):
    return b"".join(bytes([len(label)]) + label.encode() for label in name.split(".")) + b"\0"


def _record(name, kind, data):
    return _encode(name) + struct.pack(">HHIH", kind, 1, 0, len(data)) + data


def _records(name, kind, found, last):
    records = []
    for each in found:
        if isinstance(each, Alias):
            records.append(_record(name, 5, _encode(each)))
            records += _records(each, kind, last(each), last)
        else:
            address = ipaddress.ip_address(each)
            if _TYPES.get(kind) == address.version:
                records.append(_record(name, kind, address.packed))
    return records
