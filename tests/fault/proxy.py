"""A TCP proxy with faults, between duepost and Redis or between duepost and a receiver.

One asyncio loop in a thread of its own serves all proxies. A change of a proxy's mode applies to the bytes that follow:

    pass        unchanged               delay       each piece 20 ms later
    slice       a byte at a time        blackhole   nothing, without notice to either side
    half-open   as blackhole, but the far side's connections are closed
    one-way     requests pass, and replies do not"""

import asyncio
import socket
import struct
import threading
import time

DELAY_S = 0.02

_loop = None


def loop():
    global _loop
    if _loop is None:
        _loop = asyncio.new_event_loop()
        threading.Thread(target=_loop.run_forever, daemon=True).start()
    return _loop


class Proxy:
    """cut_after: the first connection ends by RST on both sides after this number of bytes, both directions
    together."""

    def __init__(self, port, cut_after=None):
        self.target = port
        self.mode = "pass"
        self.passed = 0             # number of bytes passed on since arm()
        self.cut_after = cut_after  # the connection is cut when passed reaches this number; None: no cut
        self.cut_before = None      # or: the connection is cut before the first reply that contains these bytes
        self.cuts = []              # times of the cuts, us
        self.garbage = None         # the client side gets these bytes instead of the next reply
        self._links = set()
        self._server = self._call(asyncio.start_server(self._serve, "127.0.0.1", 0, backlog=512))
        self.port = self._server.sockets[0].getsockname()[1]

    def arm(self, cut_after):
        self.passed = 0
        self.cut_after = cut_after

    def stop(self):
        async def end():
            self._server.close()
            for link in list(self._links):
                link.abort()
        self._call(end())

    def set_mode(self, mode):
        async def change():
            self.mode = mode
            if mode == "half-open":
                for link in list(self._links):
                    link.far.close()
            if mode == "pass":  # a connection that has lost bytes must end
                for link in list(self._links):
                    if link.has_lost:
                        link.abort()
        self._call(change())

    @staticmethod
    def _call(work):
        return asyncio.run_coroutine_threadsafe(work, loop()).result(30)

    async def _serve(self, near_in, near_out):
        try:
            far_in, far_out = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            near_out.close()
            return
        link = _Link(self, near_out, far_out)
        self._links.add(link)
        await asyncio.gather(link.carry(near_in, far_out, False), link.carry(far_in, near_out, True))
        self._links.discard(link)


class _Link:
    def __init__(self, proxy, near, far):
        self.proxy, self.near, self.far = proxy, near, far
        self.has_lost = False
        for side in (near, far):
            side.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def abort(self):
        """Sends RST to both sides."""
        for side in (self.near, self.far):
            try:
                side.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            except OSError:
                pass
            side.transport.abort()

    async def carry(self, source, sink, is_reply):
        proxy = self.proxy
        try:
            while data := await source.read(65536):
                if is_reply and proxy.garbage:
                    data, proxy.garbage = proxy.garbage, None
                await self.pass_on(data, sink, is_reply)
            if proxy.mode in ("pass", "slice", "delay"):
                sink.close()
        except OSError:
            if proxy.mode in ("pass", "slice", "delay"):
                sink.close()

    async def pass_on(self, data, sink, is_reply):
        proxy = self.proxy
        if proxy.mode in ("blackhole", "half-open") or proxy.mode == "one-way" and is_reply:
            self.has_lost = True
            return
        if is_reply and proxy.cut_before and proxy.cut_before in data:
            proxy.cut_after, proxy.cut_before = proxy.passed, None
        left = None if proxy.cut_after is None else proxy.cut_after - proxy.passed
        is_cut = left is not None and len(data) >= left
        if is_cut:
            data, proxy.cut_after = data[:left], None
        proxy.passed += len(data)
        if proxy.mode == "delay":
            await asyncio.sleep(DELAY_S)
        for piece in ([data[i:i + 1] for i in range(len(data))] if proxy.mode == "slice" else [data]):
            sink.write(piece)
            await sink.drain()
        if is_cut:
            proxy.cuts.append(time.time_ns() // 1000)
            await asyncio.sleep(0.005)  # the bytes that were passed on must arrive before the connection ends
            self.abort()
