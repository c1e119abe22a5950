"""A TCP proxy in front of a Redis. The proxy can hold a command back, so that a test can do something in between."""

import socket
import threading
import time

from patience import until


class RedisGate:
    """Forwards all bytes. hold(text): the first command that contains this text, and all later commands of its
    connection, wait for release(). delay: seconds by which each command is delayed."""

    def __init__(self, redis, delay=0):
        self.redis, self.delay = redis, delay
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"redis://127.0.0.1:{self.listener.getsockname()[1]}/0"
        self._text = None
        self._is_cut = False
        self._has_held, self._may_go = threading.Event(), threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()

    def hold(self, text):
        self._has_held.clear()
        self._may_go.clear()
        self._text = text.encode()

    def wait(self):
        until(self._has_held.is_set, 10, "a command is held")

    def release(self):
        self._text = None
        self._may_go.set()

    def cut(self):
        """Ends the connection whose command is held, without sending the command."""
        self._is_cut = True
        self.release()

    def stop(self):
        self.release()
        self.listener.close()

    def _accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
                far = socket.socket(socket.AF_UNIX)
                far.connect(str(self.redis.socket))
            except OSError:
                return
            for source, sink, is_command in ((near, far, True), (far, near, False)):
                threading.Thread(target=self._carry, args=(source, sink, is_command), daemon=True).start()

    def _carry(self, source, sink, is_command):
        try:
            while data := source.recv(65536):
                if is_command and self._text and self._text in data:
                    self._text = None
                    self._has_held.set()
                    self._may_go.wait(60)
                    if self._is_cut:
                        break
                if is_command:
                    time.sleep(self.delay)
                sink.sendall(data)
        except OSError:
            pass
        for link in (source, sink):
            try:
                link.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
