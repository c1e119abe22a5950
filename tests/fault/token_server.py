"""A token server (OAuth 2.0) that gives each client a token of five minutes."""

import http.server
import itertools
import json
import threading


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    numbers = itertools.count(1)

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        body = json.dumps({"access_token": f"token-{next(self.numbers)}", "token_type": "Bearer", "expires_in": 300}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class TokenServer:
    def __init__(self):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def auth(self, name, origin):
        """The setting auth of a topic; each name has a token of its own."""
        return {"type": "oauth2", "origins": [origin], "tokenUrl": f"http://127.0.0.1:{self.server.server_address[1]}/", "clientId": name, "clientSecret": "s"}

    def stop(self):
        self.server.shutdown()
        self.server.server_close()
