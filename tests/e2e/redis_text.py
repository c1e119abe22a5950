"""The keys of a Redis as a text of commands, which a person can read and redis-cli can execute. Each line has one
field, member or element. A word that has only printable characters is in single quotes, unchanged. Any other word is
in double quotes, with the escapes of redis-cli."""

import re
import socket

SIMPLE = re.compile(rb"[^\x00-\x20'\"\\\x7f]+")  # includes the bytes of UTF-8
WORD = re.compile(rb"""'((?:[^'\\]|\\[^'])*)'|"((?:[^"\\]|\\.)*)"|([^\s'"]+)""", re.S)
ESCAPE = re.compile(rb"\\x([0-9a-f]{2})|\\(.)", re.S)
LETTERS = {b"n": b"\n", b"r": b"\r", b"t": b"\t"}


class Link:
    """A connection for commands to a RedisServer. Replies are bytes, integers or lists."""

    def __init__(self, server):
        self.encode = server.encode
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(30)
        self.socket.connect(str(server.socket))
        self.stream = self.socket.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stream.close()
        self.socket.close()

    def __call__(self, *words):
        self.socket.sendall(self.encode(*words))
        return self._reply(words)

    def _reply(self, words):
        line = self.stream.readline()
        kind, rest = line[:1], line[1:-2]
        if kind == b"$":
            return None if rest == b"-1" else self.stream.read(int(rest) + 2)[:-2]
        if kind == b"*":
            return [self._reply(words) for _ in range(int(rest))]
        assert kind in (b"+", b":"), f"{words[0]} {words[1]}: {line}"
        return int(rest) if kind == b":" else rest


def _is_utf8(word):
    try:
        word.decode()
    except UnicodeDecodeError:
        return False
    return True


def quoted(word):
    special = rb"[\x00-\x1f\x7f]" if _is_utf8(word) else rb"[\x00-\x1f\x7f-\xff]"
    if not re.search(special, word) and SIMPLE.fullmatch(word):
        return word
    if word and not re.search(special, word) and b"'" not in word and not word.endswith(b"\\"):
        return b"'" + word + b"'"
    plain = word.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n").replace(b"\r", b"\\r").replace(b"\t", b"\\t")
    return b'"' + re.sub(special, lambda found: b"\\x%02x" % found[0][0], plain) + b'"'


def words_of(line):
    """The inverse of quoted() for each word of a line."""
    def plain(found):
        single, double, simple = found.groups()
        if double is None:
            return single if single is not None else simple
        return ESCAPE.sub(lambda each: bytes([int(each[1], 16)]) if each[1] else LETTERS.get(each[2], each[2]), double)
    return [plain(found) for found in WORD.finditer(line)]


def _commands(link, key):
    kind = link("TYPE", key)
    if kind == b"string":
        yield "SET", key, link("GET", key)
    elif kind == b"hash":
        pairs = link("HGETALL", key)
        for name, value in sorted(zip(pairs[::2], pairs[1::2])):
            yield "HSET", key, name, value
    elif kind == b"list":
        for value in link("LRANGE", key, "0", "-1"):
            yield "RPUSH", key, value
    elif kind == b"zset":
        pairs = link("ZRANGE", key, "0", "-1", "WITHSCORES")
        for member, score in zip(pairs[::2], pairs[1::2]):
            yield "ZADD", key, score, member
    else:
        raise AssertionError(f"{key} is a {kind}, which the text cannot hold")
    expires = link("PEXPIRETIME", key)
    if expires >= 0:
        yield "PEXPIREAT", key, str(expires)


def dump(server):
    """Returns all keys as sorted lines of bytes."""
    with Link(server) as link:
        return [b" ".join(quoted(word.encode() if isinstance(word, str) else word) for word in command)
                for key in sorted(link("KEYS", "*")) for command in _commands(link, key)]


def restore(server, lines):
    """Executes the lines that are not comments."""
    with Link(server) as link:
        for line in lines:
            if line.strip() and not line.startswith(b"#"):
                link(*words_of(line))
