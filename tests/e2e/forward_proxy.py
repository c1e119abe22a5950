"""An HTTP proxy that forwards requests, opens tunnels (CONNECT), and records the requests that it gets.

One thread per connection. The proxy connects only to hosts in `places`, at the address given there, and refuses all others."""

import contextlib
import http.client
import socket
import threading


class ForwardProxy:
    def __init__(self, places, credentials=None, folds=False, address=("127.0.0.1", 0)):
        self.places = places            # host: (address, port)
        self.credentials = credentials  # the Proxy-Authorization that clients must send
        self.folds = folds              # the first header line of every second answer to CONNECT is folded
        self.tunnels = 0
        self.asked = []                 # (method, target, headers)
        self.socket = socket.create_server(address)
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def url(self, credentials=""):
        return f"http://{credentials}127.0.0.1:{self.port}"

    def targets(self):
        return [target for _, target, _ in self.asked]

    def stop(self):
        self.socket.close()

    close = stop

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                link = self.socket.accept()[0]
                threading.Thread(target=self._serve, args=(link,), daemon=True).start()

    def _serve(self, link):
        with link, link.makefile("rb") as lines, contextlib.suppress(OSError):
            while True:
                first = lines.readline().decode()
                if not first:
                    return
                method, target, _ = first.split(" ")
                headers = http.client.parse_headers(lines)
                self.asked.append((method, target, headers))
                body = lines.read(int(headers.get("Content-Length", 0)))
                place = self.places.get((target.partition("//")[2] or target).partition("/")[0])
                if self.credentials and headers.get("Proxy-Authorization") != self.credentials:
                    link.sendall(b"HTTP/1.1 407 Who are you\r\nProxy-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n")
                elif place is None:
                    link.sendall(b"HTTP/1.1 403 Not there\r\nContent-Length: 0\r\n\r\n")
                elif method == "CONNECT":
                    self._tunnel(link, place)
                    return
                else:
                    link.sendall(self._forward(place, target, headers, body))

    def _tunnel(self, link, place):
        with socket.create_connection(place) as other:
            self.tunnels += 1
            fold = b"\t" if self.folds and self.tunnels % 2 == 0 else b""
            link.sendall(b"HTTP/1.1 200 Go on\r\n" + fold + b"X-Proxy: yes\r\n\r\n")
            threading.Thread(target=self._copy, args=(other, link), daemon=True).start()
            self._copy(link, other)

    @staticmethod
    def _copy(source, sink):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)

    @staticmethod
    def _forward(place, target, headers, body):
        onward = http.client.HTTPConnection(*place, timeout=10)
        path = "/" + target.partition("//")[2].partition("/")[2]
        onward.request("POST", path, body, {name: value for name, value in headers.items() if not name.lower().startswith("proxy-")})
        answer = onward.getresponse()
        content = answer.read()
        onward.close()
        return f"HTTP/1.1 {answer.status} Whatever\r\nContent-Length: {len(content)}\r\n\r\n".encode() + content
