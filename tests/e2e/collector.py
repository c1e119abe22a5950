"""An OpenTelemetry collector: accepts spans by OTLP over HTTP, and refuses JSON that does not follow OTLP.

The checks follow trace.proto 1.5 and the rules of OTLP's JSON: ids in hex, 64-bit numbers as strings, enums as numbers,
no unknown members."""

import http.server
import json
import re
import threading

from patience import until

HEX = {"traceId": r"(?!0{32})[0-9a-f]{32}", "spanId": r"(?!0{16})[0-9a-f]{16}", "parentSpanId": r"(?!0{16})[0-9a-f]{16}"}
VALUES = {"stringValue": lambda value: isinstance(value, str),
          "boolValue": lambda value: isinstance(value, bool),
          "intValue": lambda value: isinstance(value, str) and re.fullmatch(r"-?\d{1,19}", value),
          "doubleValue": lambda value: isinstance(value, float)}


def members(item, required, optional=()):
    assert isinstance(item, dict), item
    assert set(required) <= set(item), f"missing: {set(required) - set(item)} in {item}"
    assert set(item) <= {*required, *optional}, f"unknown: {set(item) - {*required, *optional}} in {item}"


def attributes(items):
    found = {}
    for item in items:
        members(item, ["key", "value"])
        assert item["key"] and item["key"] not in found, item
        (kind, value), = item["value"].items()
        assert VALUES[kind](value), item
        found[item["key"]] = int(value) if kind == "intValue" else value
    return found


class Span:
    def __init__(self, item, resource):
        members(item, ["traceId", "spanId", "name", "kind", "startTimeUnixNano", "endTimeUnixNano", "attributes", "status"],
                ["parentSpanId", "traceState", "flags"])
        for name, pattern in HEX.items():
            assert name not in item or re.fullmatch(pattern, item[name]), item
        assert item["name"] and type(item["kind"]) is int and 1 <= item["kind"] <= 5, item
        assert re.fullmatch(r"\d{19}", item["startTimeUnixNano"]) and re.fullmatch(r"\d{19}", item["endTimeUnixNano"]), item
        assert int(item["startTimeUnixNano"]) <= int(item["endTimeUnixNano"]), item
        members(item["status"], [], ["code", "message"])
        assert item["status"].get("code", 0) in (0, 1, 2), item
        self.trace, self.id, self.parent = item["traceId"], item["spanId"], item.get("parentSpanId")
        self.name, self.kind, self.state = item["name"], {2: "server", 3: "client"}[item["kind"]], item.get("traceState")
        self.start, self.end = int(item["startTimeUnixNano"]), int(item["endTimeUnixNano"])
        self.status, self.attributes, self.resource = item["status"], attributes(item["attributes"]), resource

    @property
    def topic(self):
        return self.attributes.get("duepost.topic")


def spans_of(text):
    request = json.loads(text)
    members(request, ["resourceSpans"])
    found = []
    for group in request["resourceSpans"]:
        members(group, ["resource", "scopeSpans"], ["schemaUrl"])
        members(group["resource"], ["attributes"], ["droppedAttributesCount"])
        for scope in group["scopeSpans"]:
            members(scope, ["scope", "spans"], ["schemaUrl"])
            members(scope["scope"], ["name"], ["version"])
            found += [Span(item, attributes(group["resource"]["attributes"])) for item in scope["spans"]]
    assert found
    return found


class Collector:
    """status, answer and headers: the parts of each HTTP answer. hold: answers wait for this Event. tls: an
    SSLContext."""

    def __init__(self, status=200, answer="{}", headers=None, port=0, tls=None):
        self.status, self.answer, self.headers, self.hold = status, answer, headers or {}, None
        self.spans, self.requests, self.faults = [], [], []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.take(self.path, dict(self.headers), body)
                if outer.hold:
                    outer.hold.wait(60)
                text = outer.answer.encode()
                self.send_response(outer.status)
                for name, value in outer.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.server.daemon_threads = True
        if tls:
            self.server.socket = tls.wrap_socket(self.server.socket, server_side=True)
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,))
        self.thread.start()
        self.port = self.server.server_port
        self.url = f"http{'s' if tls else ''}://127.0.0.1:{self.port}"

    def take(self, path, headers, body):
        self.requests.append((path, headers, body))
        try:
            spans = spans_of(body)
        except Exception as fault:
            self.faults.append((fault, body))
            raise
        if self.status == 200:
            self.spans += spans

    def of(self, topic, count, seconds=15):
        """Waits for this many spans of a topic, and returns them in the order in which they began."""
        def found():
            spans = [span for span in list(self.spans) if span.topic == topic]
            return spans if len(spans) >= count else None
        spans = until(found, seconds, lambda: f"{count} spans of {topic}; there are {[(s.topic, s.name) for s in self.spans]}")
        assert len(spans) == count and not self.faults, (self.faults, [vars(span) for span in spans])
        return sorted(spans, key=lambda span: span.start)

    def stop(self):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()
        assert not self.faults, self.faults
