"""Hostile receivers. Each receiver has its own name, behaviour and url, and sends until the client closes the
connection. If a receiver sends a complete answer head, the status is 500, so every attempt fails. The jobs of the
tests have one attempt: the dead job shows how long it took."""

import asyncio
import gzip
import itertools
import re
import socket
import ssl
import struct
import threading

KILO = b"x" * 1024
HEAD = b"HTTP/1.1 500 No\r\n"
BOMB = gzip.compress(bytes(64 << 20))  # 64 KiB that decompress to 64 MiB


async def repeat(writer, data, pause=0):
    while True:
        writer.write(data)
        await writer.drain()
        await asyncio.sleep(pause)


async def drip(writer, data, pause=1):
    for i in range(len(data)):
        await repeat_once(writer, data[i:i + 1])
        await asyncio.sleep(pause)


async def repeat_once(writer, data):
    writer.write(data)
    await writer.drain()


async def endless_body(writer):
    await repeat_once(writer, HEAD + b"\r\n")
    await repeat(writer, KILO * 16)


async def endless_chunks(writer):
    await repeat_once(writer, HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
    await repeat(writer, b"1\r\nx\r\n" * 1000)


async def endless_chunk_extension(writer):
    await repeat_once(writer, HEAD + b"Transfer-Encoding: chunked\r\n\r\n1;")
    await repeat(writer, KILO * 16)


async def endless_trailers(writer):
    await repeat_once(writer, HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\n")
    await repeat(writer, b"X-Trailer: y\r\n" * 100)


async def endless_headers(writer):
    await repeat_once(writer, HEAD)
    await repeat(writer, b"X-One: more\r\n" * 100)


async def endless_line(writer):
    await repeat_once(writer, HEAD + b"X-Long: ")
    await repeat(writer, KILO)


async def slow_headers(writer):
    await repeat_once(writer, HEAD)
    await repeat(writer, b"X-One: more\r\n", 0.2)


async def a_byte_a_second(writer):
    await drip(writer, HEAD + b"Content-Length: 2\r\n\r\nok")


async def body_a_byte_a_second(writer):
    await repeat_once(writer, HEAD + b"Content-Length: 100\r\n\r\n")
    await drip(writer, KILO)


async def interim_for_ever(writer):
    await repeat(writer, b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" * 100)


async def interim_slowly(writer):
    await repeat(writer, b"HTTP/1.1 100 Continue\r\n\r\n", 0.2)


async def gzip_bomb(writer):
    await repeat_once(writer, HEAD + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(BOMB) + BOMB)
    await asyncio.sleep(60)


async def http_0_9(writer):
    await repeat_once(writer, b"<html>it works</html>\r\n")
    await repeat(writer, KILO)


async def garbage(writer):
    await repeat(writer, bytes(range(256)))


async def huge_length(writer):
    await repeat_once(writer, HEAD + b"Content-Length: 18446744073709551616\r\n\r\n")
    await repeat(writer, KILO)


async def no_answer(writer):
    await asyncio.sleep(60)


async def close_at_once(writer):
    pass


async def close_in_the_head(writer):
    await repeat_once(writer, HEAD + b"X-Cut: ")


async def reset(writer):
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


# The receivers below listen on ports of their own, and their urls begin with https://.

async def tls_garbage(writer):
    await repeat(writer, bytes(range(256)))


async def tls_http(writer):
    await repeat_once(writer, HEAD + b"Content-Length: 0\r\n\r\n")
    await asyncio.sleep(60)


async def tls_silence(writer):
    await asyncio.sleep(60)


async def tls_drip(writer):
    await drip(writer, b"\x16\x03\x03\x40\x00" + bytes(1000), 0.5)


async def tls_endless_handshake(writer):
    """A certificate that never ends: the receiver sends records of 16 KiB, which belong to one handshake message of
    16 MiB."""
    hello = b"\x02\x00\x00\x26\x03\x03" + bytes(32) + b"\x00\xc0\x2f\x00"
    await repeat_once(writer, b"\x16\x03\x03\x00" + bytes([len(hello)]) + hello + b"\x16\x03\x03\x00\x04\x0b\xff\xff\xff")
    await repeat(writer, b"\x16\x03\x03\x40\x00" + KILO * 16)


async def tls_close(writer):
    pass


# After a correct TLS handshake, these receivers speak HTTP/2, which the client did not offer.

def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


SETTINGS = frame(4, 0, 0)


async def http_2_settings(writer):
    await repeat(writer, SETTINGS * 100)


async def http_2_pings(writer):
    await repeat_once(writer, SETTINGS)
    await repeat(writer, frame(6, 0, 0, bytes(8)) * 100)


async def http_2_continuations(writer):
    await repeat_once(writer, SETTINGS + frame(1, 0, 1, b"\x88"))
    await repeat(writer, frame(9, 0, 1, b"\x00\x01x\x7f\x80\x07" + bytes(135)) * 10)


# The expected result of the attempt at each receiver: a status or an error.
PLAIN = {
    endless_body: 500, endless_chunks: 500, endless_chunk_extension: 500, endless_trailers: 500, body_a_byte_a_second: 500, gzip_bomb: 500,
    endless_headers: "answer_too_large", endless_line: "answer_too_large", interim_for_ever: "answer_too_large",
    slow_headers: "timeout", a_byte_a_second: "timeout", interim_slowly: "timeout", no_answer: "timeout",
    http_0_9: "protocol", garbage: "protocol", huge_length: 500,
    close_at_once: "reset", close_in_the_head: "protocol", reset: "reset",
}
TLS = {tls_garbage: "tls", tls_http: "tls", tls_silence: "timeout", tls_drip: "timeout", tls_endless_handshake: "tls", tls_close: "tls"}
HTTP_2 = {http_2_settings: "protocol", http_2_pings: "protocol", http_2_continuations: "protocol"}


# Two answers for one handle of libcurl: the second begins with a folded header line, which libcurl 7.88 adds to the last
# header of the first. To a command, each answer is a page that is not the last.
PAGE = b'{"matched":1,"done":1,"skipped":0,"cursor":"more"}'
TAIL = b"Content-Length: %d\r\n\r\n" % len(PAGE) + PAGE
TWO_ANSWERS = (b"HTTP/1.1 200 OK\r\nX-A: 1\r\n" + TAIL, b"HTTP/1.1 200 OK\r\n X-A: 1\r\n\tfolded\r\nX-B: 2\r\n" + TAIL)


class Hostile:
    """Starts all hostile receivers: those with plain http, those with faults instead of a TLS handshake, and
    those with faults within TLS. authority: the CA that issued the certificate "receiver"."""

    def __init__(self, authority):
        self.loop = asyncio.new_event_loop()
        self._servers = []
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(authority.directory / "receiver.pem", authority.directory / "receiver.key")
        context.set_alpn_protocols(["h2", "http/1.1"])
        self.plain = {each: f"http://127.0.0.1:{self._listen(each)}/" for each in PLAIN}
        self.tls = {each: f"https://127.0.0.1:{self._listen(each)}/" for each in TLS}
        self.within_tls = {each: f"https://127.0.0.1:{self._listen(each, context)}/" for each in (*PLAIN, *HTTP_2)}
        self._answers = itertools.cycle(TWO_ANSWERS)
        self.answers = 0  # number of answers by the receivers that answer twice
        self.twice = {"http": f"http://127.0.0.1:{self._listen(None)}", "https": f"https://127.0.0.1:{self._listen(None, context)}"}
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._thread.start()

    def _listen(self, act, context=None):
        server = self.loop.run_until_complete(asyncio.start_server(
            lambda reader, writer: self._serve(reader, writer, act) if act else self._serve_twice(reader, writer), "127.0.0.1", 0, backlog=4096, ssl=context))
        self._servers.append(server)
        return server.sockets[0].getsockname()[1]

    async def _serve(self, reader, writer, act):
        try:
            if act not in TLS:
                await reader.readuntil(b"\r\n\r\n")
            watch, deed = asyncio.ensure_future(self._until_closed(reader)), asyncio.ensure_future(act(writer))
            await asyncio.wait({watch, deed}, return_when=asyncio.FIRST_COMPLETED)
            for each in (watch, deed):
                each.cancel()
            await asyncio.gather(watch, deed, return_exceptions=True)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _serve_twice(self, reader, writer):
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                size = re.search(rb"(?i)\r\ncontent-length: (\d+)", head)
                await reader.readexactly(int(size[1]) if size else 0)
                writer.write(next(self._answers))
                self.answers += 1
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    @staticmethod
    async def _until_closed(reader):
        while await reader.read(65536):
            pass

    def stop(self):
        def end():
            for server in self._servers:
                server.close()
            for task in asyncio.all_tasks(self.loop):
                task.cancel()
            self.loop.call_later(0.1, self.loop.stop)
        self.loop.call_soon_threadsafe(end)
        self._thread.join(10)
