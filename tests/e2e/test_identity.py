"""How requests say who sends them: client certificates, access tokens of a token server, tokens that the server signs,
HTTP message signatures; and the proxy of a topic. tests/interop/identity checks tokens and signatures with libraries."""

import base64
import contextlib
import hashlib
import http.server
import json
import re
import ssl
import subprocess
import threading
import time
import urllib.parse

import pytest

from duepost import run
from forward_proxy import ForwardProxy
from patience import SLOW, until
from receiver import Receiver
from redis_server import free_port
from tls import Authority
from tokens import TokenFile
import scratch

JSON = {"Content-Type": "application/json"}
MERGE = {"Content-Type": "application/merge-patch+json"}
SHARED = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


def put(server, topic, expected=200, **settings):
    return server.request("PUT", f"/topics/{topic}", json.dumps(settings), JSON).expect(expected)


def patch(server, topic, expected=200, **settings):
    return server.request("PATCH", f"/topics/{topic}", json.dumps(settings), MERGE).expect(expected)


def faults(answer):
    return {error["field"]: error["detail"] for error in answer["errors"]}


def came(receiver, topic, count=1):
    return until(lambda: len(found := receiver.of(topic)) >= count and found, 10, f"{count} requests of {topic}")


def unbase64(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


# ---- a token server ----

class TokenServer:
    """Gives tokens t1, t2 and so on. answer: a function that gets the number of the token and returns (status, headers, body)."""

    def __init__(self, port=0):
        self.requests = []
        self.answer = lambda number: (200, {}, json.dumps({"access_token": f"t{number}", "token_type": "bearer", "expires_in": 3600}))
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                outer.requests.append((self.path, dict(self.headers), body))
                status, headers, text = outer.answer(len(outer.requests))
                text = text.encode() if isinstance(text, str) else text
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                with contextlib.suppress(OSError):
                    self.wfile.write(text)

            def log_message(self, *_):
                pass
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def url(self):
        return f"http://127.0.0.1:{self.port}/token"

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def tokens():
    started = TokenServer()
    yield started
    started.stop()


def oauth2(tokens, receiver, **more):
    return {"type": "oauth2", "origins": [receiver.url("")], "tokenUrl": tokens.url(), "clientId": "shop", "clientSecret": "p:ss w&rd",
            **more}


def test_one_token_serves_all_jobs_of_all_processes(start, redis, receiver, tokens, topic):
    place = redis()
    servers = [start("--reactors", "2", redis=place) for _ in range(2)]
    put(servers[0], topic, url=receiver.url(), auth=oauth2(tokens, receiver, scope="jobs:write", audience="shop"))
    for i in range(60):
        servers[i % 2].schedule(topic=topic, jobId=str(i))
    arrivals = came(receiver, topic, 60)
    assert {a.headers["authorization"] for a in arrivals} == {"Bearer t1"} and {a.attempt for a in arrivals} == {1}
    (path, headers, body), = tokens.requests
    form = urllib.parse.parse_qs(body)
    assert path == "/token" and headers["Content-Type"] == "application/x-www-form-urlencoded"
    assert form == {"grant_type": ["client_credentials"], "scope": ["jobs:write"], "audience": ["shop"]}
    pair = base64.b64decode(headers["Authorization"].removeprefix("Basic ")).decode()
    assert [urllib.parse.unquote_plus(part) for part in pair.split(":")] == ["shop", "p:ss w&rd"]


def test_the_secret_may_be_sent_in_the_body(server, receiver, tokens, topic):
    put(server, topic, url=receiver.url(), auth=oauth2(tokens, receiver, clientAuth="post"))
    server.schedule(topic=topic)
    assert came(receiver, topic)[0].headers["authorization"] == "Bearer t1"
    form = urllib.parse.parse_qs(tokens.requests[0][2])
    assert form == {"grant_type": ["client_credentials"], "client_id": ["shop"], "client_secret": ["p:ss w&rd"]}
    assert "Authorization" not in tokens.requests[0][1]


def test_other_origins_and_jobs_with_a_header_of_their_own_get_no_token(server, receiver, tokens, topic):
    other = Receiver()
    put(server, topic, url=receiver.url(), auth=oauth2(tokens, receiver))
    server.schedule(topic=topic, jobId="other", url=other.url())
    server.schedule(topic=topic, jobId="own", headers={"authorization": "Basic eA=="})
    server.wait_for_state(topic, "other", None)
    server.wait_for_state(topic, "own", None)
    assert "authorization" not in came(other, topic)[0].headers
    assert [value for name, value in (line.split(": ") for line in came(receiver, topic)[0].header_lines)
            if name.lower() == "authorization"] == ["Basic eA=="]
    other.stop()


def test_a_401_gets_a_new_token_and_costs_no_attempt_only_if_the_token_is_old(server, receiver, tokens, topic):
    put(server, topic, url=receiver.url(), auth=oauth2(tokens, receiver), retrySchedule=[0.1])
    receiver.script(topic, lambda a: 401 if a.headers["authorization"] == "Bearer t1" else 200)
    server.schedule(topic=topic, jobId="new", retry=1)
    server.wait_for_state(topic, "new", "dead")  # the token is new, so the receiver has another reason
    assert [a.attempt for a in receiver.of(topic)] == [1, 2] and len(tokens.requests) == 1
    time.sleep(10.5)  # the time after which a token may have been revoked
    server.schedule(topic=topic, jobId="old", retry=0)
    server.wait_for_state(topic, "old", None)
    *refused, last = [(a.attempt, a.headers["authorization"]) for a in receiver.of(topic, "old")]
    assert last == (1, "Bearer t2") and set(refused) == {(1, "Bearer t1")}
    assert len(refused) <= 2  # each reactor that has used the token finds out for itself
    assert len(tokens.requests) == 2


def test_a_receiver_that_refuses_each_token_slowly_ends_the_job(start, own, tokens, topic):
    """The age of a token when it is sent counts, and not when the 401 comes."""
    server = start()
    put(server, topic, url=own.url(), auth=oauth2(tokens, own), timeout=30)
    own.script(topic, lambda a: (time.sleep(10.5), 401)[1])
    server.schedule(topic=topic, jobId="a", retry=0)
    server.wait_for_state(topic, "a", "dead", seconds=15)
    assert own.count(topic) == 1 and len(tokens.requests) == 1


def test_all_requests_with_a_token_that_was_revoked_are_sent_again(start, own, tokens, topic):
    """One of them is answered when there is a new token already."""
    server, gate = start(), threading.Event()
    slow = TokenServer()  # a receiver, in spite of its name
    slow.answer = lambda number: (gate.wait(20), (401, {}, ""))[1] if number == 1 else (200, {}, "")
    auth = oauth2(tokens, own)
    put(server, topic, url=own.url(), auth={**auth, "origins": [own.url(""), slow.url().removesuffix("/token")]}, timeout=30)
    server.schedule(topic=topic, jobId="first")
    server.wait_for_state(topic, "first", None)
    time.sleep(10.5)
    own.script(topic, lambda a: 401 if a.headers["authorization"] == "Bearer t1" else 200)
    server.schedule(topic=topic, jobId="slow", url=slow.url(), retry=0)
    until(lambda: slow.requests, 10, "the slow receiver has a request")
    server.schedule(topic=topic, jobId="quick", retry=0)
    server.wait_for_state(topic, "quick", None)
    gate.set()
    server.wait_for_state(topic, "slow", None)
    assert [headers["Authorization"] for _, headers, _ in slow.requests] == ["Bearer t1", "Bearer t2"] and len(tokens.requests) == 2
    slow.stop()


def test_a_process_that_has_just_started_knows_how_old_a_token_is(start, redis, own, tokens, topic):
    place = redis()
    first = start(redis=place)
    put(first, topic, url=own.url(), auth=oauth2(tokens, own))
    first.schedule(topic=topic, jobId="a")
    first.wait_for_state(topic, "a", None)
    first.stop()
    time.sleep(10.5)
    own.script(topic, lambda a: 401 if a.headers["authorization"] == "Bearer t1" else 200)
    second = start(redis=place)
    second.schedule(topic=topic, jobId="b", retry=0)
    second.wait_for_state(topic, "b", None)
    assert [a.headers["authorization"] for a in own.of(topic)] == ["Bearer t1", "Bearer t1", "Bearer t2"]


@pytest.mark.parametrize("name, answer, why", [
    ("down", None, "connect"),
    ("500", (500, {}, "no"), "answered 500"),
    ("redirect", (302, {"Location": "http://127.0.0.1:1/"}, ""), "answered 302"),
    ("large", (200, {}, b'{"access_token": "' + b"x" * 10_000_000 + b'"}'), ""),
    ("no-json", (200, {}, "hello"), "not a JSON object"),
    ("no-token", (200, {}, '{"token_type": "bearer"}'), "no access_token"),
    ("line-break", (200, {}, r'{"access_token": "a\nb"}'), "no access_token"),
    ("other-type", (200, {}, '{"access_token": "a", "token_type": "mac"}'), "token_type"),
    ("negative", (200, {}, '{"access_token": "a", "expires_in": -5}'), "negative"),
    ("zero", (200, {}, '{"access_token": "a", "expires_in": 0}'), "expires_in"),
    ("no-number", (200, {}, '{"access_token": "a", "expires_in": "soon"}'), "expires_in"),
])
def test_jobs_are_held_without_an_attempt_while_there_is_no_token(start, receiver, tokens, topic, name, answer, why):
    server = start()
    good = tokens.answer
    if answer:
        tokens.answer = lambda number: answer
    else:
        tokens.stop()
    put(server, topic, url=receiver.url(), auth=oauth2(tokens, receiver))
    for i in range(3):
        server.schedule(topic=topic, jobId=str(i), retry=0)
    log = until(lambda: [line for line in server.log().splitlines() if "access_token_failed" in line], 10, "the failure is logged")
    assert why in log[0] and "p:ss" not in server.log() and receiver.count(topic) == 0
    assert all(server.job(topic, str(i))["attempts"] == 0 for i in range(3))
    if answer:
        tokens.answer = good
    else:
        tokens = TokenServer(tokens.port)
    for i in range(3):
        server.wait_for_state(topic, str(i), None, seconds=20)
    assert [a.attempt for a in receiver.of(topic)] == [1, 1, 1]
    assert re.search(r"^duepost_held_by_identity_total [1-9]", server.get("/metrics").body.decode(), re.M)
    if not answer:
        tokens.stop()


def test_a_token_without_an_end_or_with_a_far_end_is_used(start, receiver, tokens, topic):
    server = start()
    for number, life in enumerate(('', ', "expires_in": 1e300', ', "expires_in": 99999999999999999999')):
        each = f"{topic}{number}"
        tokens.answer = lambda count, life=life: (200, {}, '{"access_token": "a"%s}' % life)
        put(server, each, url=receiver.url(), auth=oauth2(tokens, receiver, scope=str(number)))
        server.schedule(topic=each)
        if number:  # no number of seconds that can be read
            until(lambda: "access_token_failed" in server.log(), 10, "the failure is logged")
        else:
            assert came(receiver, each)[0].headers["authorization"] == "Bearer a"


def test_a_process_that_dies_while_it_gets_a_token_does_not_stop_the_others(start, redis, receiver, tokens, topic):
    place, silent = redis(), threading.Event()
    first = start(redis=place)
    good = tokens.answer
    tokens.answer = lambda number: (silent.wait(30), good(number))[1] if number == 1 else good(number)
    put(first, topic, url=receiver.url(), auth=oauth2(tokens, receiver))
    first.schedule(topic=topic, jobId="a")
    until(lambda: tokens.requests, 10, "the first process asks for a token")
    second = start(redis=place)
    first.kill()
    second.wait_for_state(topic, "a", None, seconds=40)
    silent.set()
    assert receiver.of(topic)[-1].headers["authorization"] == "Bearer t2"


def test_a_batch_has_a_token(server, receiver, tokens, topic):
    put(server, topic, url=receiver.url(), auth=oauth2(tokens, receiver), batch={"size": 3, "wait": 0.2})
    for i in range(3):
        server.schedule(topic=topic, jobId=str(i))
    arrival, = came(receiver, topic)
    assert arrival.headers["authorization"] == "Bearer t1" and len(json.loads(arrival.body)) == 3


def test_held_jobs_of_a_batch_are_counted(start, own, tokens, topic):
    server = start()
    tokens.answer = lambda number: (500, {}, "")
    put(server, topic, url=own.url(), auth=oauth2(tokens, own), batch={"size": 3, "wait": 0.2})
    for i in range(3):
        server.schedule(topic=topic, jobId=str(i))
    until(lambda: re.search(r"^duepost_held_by_identity_total ([3-9]|\d\d)", server.get("/metrics").body.decode(), re.M), 10, "three jobs are counted")


# ---- tokens that the server signs ----

def make_keys(*kinds):
    """Writes a file with private keys."""
    options = {"ed25519": ["-algorithm", "ed25519"], "p256": ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"],
               "rsa": ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"], "p384": ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-384"],
               "rsa8192": ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:8192"], "rsa1024": ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:1024"]}
    file = scratch.directory("identity") / "keys.pem"
    file.write_bytes(b"".join(subprocess.run(["openssl", "genpkey", *options[kind]], check=True, capture_output=True).stdout for kind in kinds))
    file.chmod(0o600)
    return file


def verify(token, keys):
    """Verifies a JSON Web Token with the openssl command and a set of public keys. Returns header and claims."""
    head, claims, signature = token.split(".")
    header = json.loads(unbase64(head))
    key = next(key for key in keys if key["kid"] == header["kid"])
    assert header == {"alg": key["alg"], "typ": "JWT", "kid": key["kid"]}
    thumb = {name: key[name] for name in {"OKP": ("crv", "kty", "x"), "EC": ("crv", "kty", "x", "y"), "RSA": ("e", "kty", "n")}[key["kty"]]}
    digest = hashlib.sha256(json.dumps(thumb, separators=(",", ":")).encode()).digest()
    assert key["kid"] == base64.urlsafe_b64encode(digest).decode().rstrip("=")
    if key["kty"] == "OKP":
        folder = scratch.directory("jwt")
        (folder / "key").write_bytes(bytes.fromhex("302a300506032b6570032100") + unbase64(key["x"]))
        (folder / "text").write_bytes(f"{head}.{claims}".encode())
        (folder / "signature").write_bytes(unbase64(signature))
        subprocess.run(["openssl", "pkeyutl", "-verify", "-pubin", "-keyform", "DER", "-inkey", folder / "key", "-rawin", "-in", folder / "text",
                        "-sigfile", folder / "signature"], check=True, capture_output=True)
    return header, json.loads(unbase64(claims))


@pytest.mark.parametrize("algorithm", [None, "EdDSA", "ES256", "RS256"])
def test_each_request_has_a_token_of_its_own(start, receiver, topic, algorithm):
    server = start("--identity-key-file", str(make_keys("ed25519", "p256", "rsa")), "--public-url", "https://jobs.example")
    more = {"algorithm": algorithm} if algorithm else {}
    put(server, topic, url=receiver.url(), auth={"type": "jwt", "audience": "https://shop.example", **more})
    receiver.script(topic, 500, 200)
    server.schedule(topic=topic, retrySchedule=[0.1])
    published = server.get("/.well-known/jwks.json")
    keys = published.expect(200)["keys"]
    assert published.headers["Content-Type"] == "application/jwk-set+json" and "max-age=300" in published.headers["Cache-Control"]
    assert [key["alg"] for key in keys] == ["EdDSA", "ES256", "RS256"] and not any({"d", "p", "q"} & set(key) for key in keys)
    seen = set()
    for arrival in came(receiver, topic, 2):
        header, claims = verify(arrival.headers["authorization"].removeprefix("Bearer "), keys)
        assert header["alg"] == (algorithm or "EdDSA")
        assert claims["iss"] == "https://jobs.example" and claims["sub"] == topic and claims["aud"] == "https://shop.example"
        assert abs(claims["iat"] - time.time()) < 5 * SLOW and claims["exp"] == claims["iat"] + 300
        seen.add(claims["jti"])
    assert len(seen) == 2


def test_the_longest_token_has_room(start, receiver, topic):
    file, longest = make_keys("rsa8192"), "https://jobs.example/" + "x" * 1900
    server, audience = start("--identity-key-file", str(file), "--public-url", longest), "\x01" * 255
    put(server, topic, url=receiver.url(), auth={"type": "jwt", "audience": audience})
    server.schedule(topic=topic)
    claims = json.loads(unbase64(came(receiver, topic)[0].headers["authorization"].split(".")[1]))
    assert claims["iss"] == longest and claims["aud"] == audience


def test_keys_are_published_without_a_token_and_rotated_without_a_gap(start, receiver, topic):
    old, new = make_keys("ed25519"), make_keys("ed25519")
    server = start("--identity-key-file", str(old))
    put(server, topic, url=receiver.url(), auth={"type": "jwt", "audience": "a"})

    def of_next():
        before = receiver.count(topic)
        server.schedule(topic=topic)
        token = came(receiver, topic, before + 1)[-1].headers["authorization"].removeprefix("Bearer ")
        return json.loads(unbase64(token.split(".")[0]))["kid"]

    def reload(content, count):
        old.write_text(content)
        server.reload()
        return until(lambda: len(keys := server.get("/.well-known/jwks.json").expect(200)["keys"]) == count and keys, 10, "the keys are read again")
    texts = old.read_text(), new.read_text()
    first, = server.get("/.well-known/jwks.json").expect(200)["keys"]
    assert of_next() == first["kid"]
    both = reload(texts[0] + texts[1], 2)
    assert both[0] == first and of_next() == first["kid"]
    old.write_text(texts[1] + texts[0])
    server.reload()
    until(lambda: server.get("/.well-known/jwks.json").expect(200)["keys"] == both[::-1], 10, "the new key comes first")
    assert of_next() == both[1]["kid"]
    assert [key["kid"] for key in reload(texts[1], 1)] == [both[1]["kid"]]


def test_a_server_without_a_key_refuses_the_setting_and_holds_the_jobs(start, redis, receiver, topic):
    place = redis()
    able = start("--identity-key-file", str(make_keys("p256")), redis=place)
    auth = {"type": "jwt", "audience": "a"}
    put(able, topic, url=receiver.url(), auth=auth)
    able.stop()
    server = start(redis=place)
    assert server.get("/.well-known/jwks.json").expect(200) == {"keys": []}
    server.get("/.well-known/jwks.json?kid=a").expect(400)
    server.request("POST", "/.well-known/jwks.json").expect(405)
    assert "identity-key-file" in faults(put(server, topic + "x", 400, url=receiver.url(), auth=auth))["auth.type"]
    server.schedule(topic=topic, jobId="a", retry=0)
    until(lambda: "topic_without_identity_key" in server.log(), 10, "the log names the topic")
    assert server.job(topic, "a")["attempts"] == 0 and receiver.count(topic) == 0


@pytest.mark.parametrize("content, why", [("", "it has no key"), ("hello", "it has no key"), ("p384", "key 1 must be"), ("rsa1024", "key 1 must be")])
def test_a_file_without_usable_keys_ends_the_start(content, why):
    file = make_keys(content) if content.startswith(("p", "r")) else make_keys("ed25519")
    if not content.startswith(("p", "r")):
        file.write_text(content)
    ended = run("--identity-key-file", str(file), "--redis", "redis://127.0.0.1:1")
    assert ended.returncode == 2 and why in ended.stderr


# ---- client certificates ----

@pytest.fixture(scope="module")
def authority():
    made = Authority()
    made.issue("receiver", "IP:127.0.0.1,DNS:localhost")
    made.issue("shop", "DNS:shop.example")
    made.issue("other", "DNS:other.example")
    return made


class Guarded:
    """A receiver behind TLS that asks for a client certificate; it notes the name in the certificate of each request."""

    def __init__(self, authority, version=ssl.TLSVersion.TLSv1_3):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(authority.directory / "receiver.pem", authority.directory / "receiver.key")
        context.load_verify_locations(authority.certificate)
        context.verify_mode = ssl.CERT_REQUIRED
        context.maximum_version = version
        outer = self
        self.seen = []

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                self.rfile.read(int(self.headers["Content-Length"]))
                names = dict(pair for part in self.connection.getpeercert()["subject"] for pair in part)
                outer.seen.append((names["commonName"], self.client_address[1]))
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            def get_request(self):
                link, address = self.socket.accept()
                return context.wrap_socket(link, server_side=True, do_handshake_on_connect=False), address

            def handle_error(self, *_):
                pass
        self.server = Server(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def url(self, path="/hook"):
        return f"https://127.0.0.1:{self.server.server_address[1]}{path}"

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def guarded(authority):
    started = []

    def one(**named):
        started.append(Guarded(authority, **named))
        return started[-1]
    yield one
    for each in started:
        each.stop()


def mtls(authority, name, **more):
    return {"type": "mtls", "certificate": (authority.directory / f"{name}.pem").read_text(),
            "privateKey": (authority.directory / f"{name}.key").read_text(), **more}


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
@pytest.mark.parametrize("client", ["own", "libcurl"])
def test_each_topic_has_its_certificate_and_its_connections(authority, guarded, start, topic, version, client):
    server = start("--receiver-ca", str(authority.certificate), "--plain-http", client)
    front = guarded(version=version)
    server.reload()  # the options of the start are gone
    for name in ("shop", "other"):
        put(server, f"{topic}-{name}", url=front.url(), auth=mtls(authority, name))
    put(server, topic, url=front.url())
    for i in range(4):
        for name in ("shop", "other"):
            server.schedule(topic=f"{topic}-{name}", jobId=str(i))
            server.wait_for_state(f"{topic}-{name}", str(i), None)
    server.schedule(topic=topic, jobId="bare", retrySchedule=[0.1] * 3)
    server.wait_for_state(topic, "bare", "dead")
    assert [name for name, _ in front.seen] == ["shop", "other"] * 4
    ports = {name: {port for each, port in front.seen if each == name} for name in ("shop", "other")}
    assert not ports["shop"] & ports["other"] and len(ports["shop"]) < 4  # a connection is used again, unless it was lost
    attempts = server.get(f"/jobs/{topic}/bare/attempts").expect(200)["attempts"]
    assert {each["error"] for each in attempts} <= {"tls", "reset"}
    if version == ssl.TLSVersion.TLSv1_2:  # with TLS 1.3, the reset may overtake each alert
        assert any(each["error"] == "tls" and "certificate" in each["errorDetail"] for each in attempts)


def test_a_certificate_is_not_sent_to_other_origins(authority, guarded, start, topic):
    server = start("--receiver-ca", str(authority.certificate))
    front, other = guarded(), guarded()
    put(server, topic, url=front.url(), auth=mtls(authority, "shop"))
    server.schedule(topic=topic, jobId="a", url=other.url(), retry=0)
    server.wait_for_state(topic, "a", "dead")
    assert other.seen == [] and front.seen == []


def test_a_receiver_that_is_down_is_no_receiver_that_wants_a_certificate(authority, start, topic):
    server = start("--receiver-ca", str(authority.certificate))
    put(server, topic, url=f"https://127.0.0.1:{free_port()}/", auth=mtls(authority, "shop"))
    server.schedule(topic=topic, jobId="a", retry=0)
    server.wait_for_state(topic, "a", "dead")
    assert server.job(topic, "a")["lastAttempt"]["error"] == "connect"


# ---- the settings ----

def test_secrets_are_never_shown(authority, start, redis, receiver, tokens, topic):
    server = start("--history", "sqlite:" + str(scratch.directory("h") / "h.sqlite"), redis=redis())
    shown = put(server, topic, url=receiver.url(), auth=oauth2(tokens, receiver, clientSecret="s3cr3t-c"), egressProxy="http://u:s3cr3t-p@127.0.0.1:1")["settings"]
    assert shown["auth"]["clientSecret"] == "***" and shown["egressProxy"] == "http://***@127.0.0.1:1"
    more = put(server, topic + "m", url="https://shop.example/", auth=mtls(authority, "shop"))["settings"]
    key = (authority.directory / "shop.key").read_text().splitlines()[1]
    assert more["auth"]["privateKey"] == "***" and more["auth"]["origins"] == ["https://shop.example"]
    server.schedule(topic=topic, jobId="a", retry=0)
    server.wait_for_state(topic, "a", "dead")
    patch(server, topic, egressProxy=None)
    server.schedule(topic=topic, jobId="b", retry=0)
    server.wait_for_state(topic, "b", "delivered")
    texts = [server.get(target).body.decode() for target in (
        f"/topics/{topic}", f"/topics/{topic}m", "/topics", "/overview", f"/jobs/{topic}/a", f"/jobs/{topic}/a/why", f"/jobs/{topic}/a/attempts",
        f"/jobs/{topic}/b", "/metrics", "/receivers")] + [server.log()]
    for text in texts:
        assert "s3cr3t" not in text and key not in text and "Bearer" not in text and " t1" not in text


def test_masks_are_refused(server, receiver, tokens, topic):
    put(server, topic, url=receiver.url(), auth=oauth2(tokens, receiver))
    shown = server.get(f"/topics/{topic}").expect(200)["settings"]
    assert faults(put(server, topic, 400, **shown)) == {"auth.clientSecret": "is the mask of the hidden value; send the value itself"}
    assert "mask" in faults(put(server, topic, 400, egressProxy="http://***@127.0.0.1:1"))["egressProxy"]


def test_a_secret_does_not_follow_a_change_of_its_place(start, receiver, tokens, topic):
    """A client that may change the topic, and does not know its secrets, cannot have them sent to another server."""
    server = start()
    thief = Receiver()
    put(server, topic, url=receiver.url(), auth=oauth2(tokens, receiver))
    for change in ({"tokenUrl": thief.url()}, {"origins": [thief.url("")]}, {"origins": [receiver.url(""), thief.url("")]}):
        assert set(faults(patch(server, topic, 400, auth=change))) == {"auth.clientSecret"}
    patch(server, topic, url=thief.url())  # the origins stay
    server.schedule(topic=topic, jobId="a")
    server.wait_for_state(topic, "a", None)
    assert "authorization" not in came(thief, topic)[0].headers and tokens.requests == []
    patch(server, topic, auth={"scope": "more"})
    patch(server, topic, auth={"tokenUrl": thief.url(), "clientSecret": "another"})
    thief.stop()


def test_auth_of_a_pattern_is_not_sent_to_the_url_of_a_topic(start, receiver, tokens, topic):
    server = start()
    thief = Receiver()
    put(server, topic + "*", url=receiver.url(), auth=oauth2(tokens, receiver))
    put(server, topic + "1", url=thief.url())
    for name in ("1", "2"):
        server.schedule(topic=topic + name, jobId="a")
        server.wait_for_state(topic + name, "a", None)
    assert "authorization" not in came(thief, topic + "1")[0].headers
    assert came(receiver, topic + "2")[0].headers["authorization"] == "Bearer t1"
    thief.stop()


def test_wrong_settings_are_named(server, authority, topic):
    key = (authority.directory / "other.key").read_text()
    url = "https://shop.example/x"
    cases = [
        ([], "auth"), ({"type": "basic"}, "auth.type"), ({}, "auth.type"), ({"type": "jwt"}, "auth.audience"),
        ({"type": "oauth2", "tokenUrl": url, "clientId": "a"}, "auth.clientSecret"),
        ({"type": "oauth2", "tokenUrl": "ftp://x", "clientId": "a", "clientSecret": "b"}, "auth.tokenUrl"),
        ({"type": "oauth2", "tokenUrl": "http://10.0.0.1/", "clientId": "a", "clientSecret": "b"}, "auth.tokenUrl"),
        ({"type": "jwt", "audience": "a", "clientSecret": "b"}, "auth.clientSecret"),
        ({"type": "jwt", "audience": "a", "algorithm": "none"}, "auth.algorithm"),
        ({"type": "jwt", "audience": "a", "algorithm": "HS256"}, "auth.algorithm"),
        (mtls(authority, "shop", privateKey=key), "auth.privateKey"), (mtls(authority, "shop", privateKey="x"), "auth.privateKey"),
        (mtls(authority, "shop", certificate="x"), "auth.certificate"),
        (mtls(authority, "shop", certificate=mtls(authority, "shop")["certificate"] + "\0"), "auth.certificate"),
        (mtls(authority, "shop", privateKey=mtls(authority, "shop")["privateKey"] + "\0"), "auth.privateKey"), (mtls(authority, "shop", origins=["http://shop.example"]), "auth.origins"),
        (mtls(authority, "shop", origins=[]), "auth.origins"), (mtls(authority, "shop", origins=["https://shop.example/path"]), "auth.origins"),
        (mtls(authority, "shop", origins=["https://shop.example"] * 21), "auth.origins"), (mtls(authority, "shop", origins="https://shop.example"), "auth.origins"),
        (mtls(authority, "shop", colour="red"), "auth.colour"),
    ]
    for auth, field in cases:
        assert field in faults(put(server, topic, 400, url=url, auth=auth)), auth
    assert set(faults(put(server, topic, 400, auth=mtls(authority, "shop")))) == {"auth.origins"}
    assert set(faults(put(server, topic, 400, signature="rsa"))) == {"signature"}
    assert set(faults(put(server, topic, 400, egressProxy="https://proxy:1"))) == {"egressProxy"}
    assert server.get(f"/topics/{topic}").expect(200)["settings"] == {}


# ---- proxies ----

def test_a_topic_has_a_proxy_of_its_own(start, receiver, topic):
    server = start()
    between = ForwardProxy({"hook.example": ("127.0.0.1", receiver.port)}, credentials="Basic " + base64.b64encode(b"u:p").decode())
    put(server, topic, url="http://hook.example/x", egressProxy=between.url("u:p@"))
    for job_id in "ab":
        server.schedule(topic=topic, jobId=job_id)
        server.wait_for_state(topic, job_id, None)
    server.schedule(topic=topic + "x", jobId="c", url=receiver.url())
    server.wait_for_state(topic + "x", "c", None)
    assert between.targets() == ["http://hook.example/x"] * 2 and receiver.count(topic) == 2
    between.stop()


def test_only_a_token_for_all_topics_may_set_a_proxy(start, topic):
    file = TokenFile()
    everything, few = file.add("everything"), file.add("few", topics=topic)
    server = start("--tokens", str(file.path), token=everything)
    some = server.with_token(few)
    proxy = "http://127.0.0.1:1"
    assert "egressProxy" in put(some, topic, 403, egressProxy=proxy)["detail"]
    put(server, topic, egressProxy=proxy)
    put(some, topic, 403, timeout=5)
    patch(some, topic, timeout=5)
    some.request("DELETE", f"/topics/{topic}").expect(403)
    server.request("DELETE", f"/topics/{topic}").expect(200)


def test_the_servers_proxy_gets_no_request_for_a_token_server_that_is_not_allowed(start, redis, receiver, tokens, topic):
    place = redis()
    between = ForwardProxy({f"127.0.0.1:{tokens.port}": ("127.0.0.1", tokens.port), f"localhost:{tokens.port}": ("127.0.0.1", tokens.port)})
    first = start(redis=place)
    for name, host in ((topic, "127.0.0.1"), (topic + "n", "localhost")):
        put(first, name, url=receiver.url(), auth=oauth2(tokens, receiver, tokenUrl=f"http://{host}:{tokens.port}/token"))
    first.stop()
    strict = start("--egress-proxy", between.url(), redis=place, allow=None)
    for name in (topic, topic + "n"):
        strict.schedule(topic=name, jobId="a")
    until(lambda: strict.log().count("access_token_failed") >= 2, 10, "both are refused")
    assert between.targets() == [] and "target_refused" in strict.log()
    strict.stop()
    able = start("--egress-proxy", between.url(), redis=place)
    until(lambda: len(between.targets()) >= 2, 20, "both are asked through the proxy")
    able.stop()
    between.stop()


@pytest.mark.parametrize("credentials", ["", "u:p@"])
def test_a_proxy_is_a_target_and_must_be_allowed(start, redis, receiver, topic, credentials):
    """A client must not reach by a proxy what it does not reach by a url: a proxy gets whole requests, at any address and port."""
    place = redis()
    server = start(redis=place)
    between = ForwardProxy({"hook.example": ("127.0.0.1", receiver.port)})
    proxy = between.url(credentials)
    assert set(faults(put(server, topic, 400, egressProxy=f"http://{credentials}10.0.0.1:80"))) == {"egressProxy"}
    assert "itself" in faults(put(server, topic, 400, egressProxy=f"http://{credentials}127.0.0.1:{server.port}"))["egressProxy"]
    put(server, topic, url="http://hook.example/x", egressProxy=proxy)
    put(server, topic + "n", url="http://hook.example/x", egressProxy=f"http://{credentials}localhost:{between.port}")
    server.stop()
    strict = start(redis=place, allow=None)
    assert set(faults(put(strict, topic + "x", 400, egressProxy=proxy))) == {"egressProxy"}
    for name in (topic, topic + "n"):
        strict.schedule(topic=name, jobId="a", retry=0)
        strict.wait_for_state(name, "a", "dead")
        assert strict.job(name, "a")["lastAttempt"]["error"] == "target_refused"
    assert between.targets() == []
    between.stop()


# ---- HTTP message signatures ----

def base_of(arrival, url):
    """The text that RFC 9421 signs, made again from what has arrived."""
    parameters = arrival.headers["signature-input"].removeprefix("sig1=")
    return (f'"@method": {arrival.method}\n"@target-uri": {url}\n"content-digest": {arrival.headers["content-digest"]}\n'
            f'"webhook-id": {arrival.headers["webhook-id"]}\n"@signature-params": {parameters}').encode()


@pytest.mark.parametrize("form", ["rfc9421", "both"])
def test_a_message_signature_covers_method_url_body_and_id(server, receiver, topic, form):
    import hmac
    put(server, topic, secrets=[SHARED], signature=form)
    for job_id, url, method, body in (("a", receiver.url("/x?y=1"), "POST", {"n": 1}), ("b", receiver.url(""), "GET", None), ("c", receiver.url("?q"), "POST", "é")):
        server.schedule(topic=topic, jobId=job_id, url=url, method=method, **({} if body is None else {"body": body}))
        server.wait_for_state(topic, job_id, None)
        arrival, = receiver.of(topic, job_id)
        full = receiver.url("") + ("/" + url.removeprefix(receiver.url("")).removeprefix("/"))
        key = base64.b64decode(SHARED.removeprefix("whsec_"))
        expected = base64.b64encode(hmac.digest(key, base_of(arrival, full), hashlib.sha256)).decode()
        assert arrival.headers["signature"] == f"sig1=:{expected}:"
        digest = base64.b64encode(hashlib.sha256(arrival.body).digest()).decode()
        assert arrival.headers["content-digest"] == f"sha-256=:{digest}:"
        created, keyid, alg = re.fullmatch(r'sig1=\("@method" "@target-uri" "content-digest" "webhook-id"\);created=(\d+);keyid="([0-9a-f]{32})";alg="(.*)"',
                                           arrival.headers["signature-input"]).groups()
        assert abs(int(created) - time.time()) < 5 * SLOW and alg == "hmac-sha256" and keyid == hashlib.sha256(key).hexdigest()[:32]
        assert ("webhook-signature" in arrival.headers) == (form == "both")
