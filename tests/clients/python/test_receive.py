"""verify(), and the modules for FastAPI and Django as receivers of a real server."""

import base64
import hashlib
import hmac
import threading
import time
import wsgiref.simple_server

import duepost
import httpx
import pytest
from conftest import until
from duepost import verify

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
OTHER = "whsec_plJ3nmyCDGBKInavdOK15jsl"
AT = 1614265330
BODY = b'{"test": 2432232314}'
HEADERS = {
    "Webhook-Id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "Webhook-Timestamp": str(AT),
    "Webhook-Signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    "Duepost-Topic": "orders",
    "Duepost-Job-Id": "a%2Fb%20c",
    "Duepost-Attempt": "2",
}


def test_a_signature_of_standard_webhooks():
    delivery = verify(BODY, HEADERS, SECRET, now=AT)
    assert (delivery.id, delivery.timestamp, delivery.body) == ("msg_p5jXN8AQM9LWM0D4loKWxJek", AT, {"test": 2432232314})
    assert (delivery.topic, delivery.job_id, delivery.attempt, delivery.round, delivery.batch) == ("orders", "a/b c", 2, 1, 0)
    other = {"webhook-id": "msg_loFOjxBNrRLzqYUf", "webhook-timestamp": "1731705121",
             "webhook-signature": "v1a,AAAA v1,rAvfW3dJ/X/qxhsaXPOyyCGmRKsaKWcsNccKXlIktD0="}
    assert verify(b'{"event_type":"ping","data":{"success":true}}', other.items(), [SECRET, OTHER], now=1731705121).id == "msg_loFOjxBNrRLzqYUf"


@pytest.mark.parametrize(("reason", "changes", "body", "secrets", "now"), [
    ("signature", {}, BODY, OTHER, AT),
    ("signature", {}, BODY + b" ", SECRET, AT),
    ("signature", {"Webhook-Id": "msg_other"}, BODY, SECRET, AT),
    ("signature", {"Webhook-Timestamp": str(AT + 1)}, BODY, SECRET, AT),
    ("signature", {"Webhook-Signature": "v1,"}, BODY, SECRET, AT),
    ("signature", {"Webhook-Signature": "v1,\u00fc"}, BODY, SECRET, AT),
    ("signature", {}, BODY, [], AT),
    ("too_old", {}, BODY, SECRET, AT + 301),
    ("too_new", {}, BODY, SECRET, AT - 301),
    ("timestamp", {"Webhook-Timestamp": "+1614265330"}, BODY, SECRET, AT),
    ("timestamp", {"Webhook-Timestamp": "\u0661"}, BODY, SECRET, AT),
    ("missing", {"Webhook-Signature": ""}, BODY, SECRET, AT),
])
def test_what_is_not_from_duepost_is_refused(reason, changes, body, secrets, now):
    with pytest.raises(duepost.SignatureError) as error:
        verify(body, {**HEADERS, **changes}, secrets, now=now)
    assert error.value.reason == reason


def test_a_wrong_secret_is_a_mistake_of_the_program():
    for secret in "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_", "whsec_%%":
        with pytest.raises(ValueError):
            verify(BODY, HEADERS, secret, now=AT)


def test_bodies():
    def body(content, kind):
        return duepost.Delivery("msg", 1, content, {"content-type": kind}).body

    assert body(b"1", "application/json") == 1 and body(b"1", "text/plain; charset=utf-8") == "1"
    assert body(b"1", "image/png") == b"1" and body(b"", "application/json") is None


class Shop:
    """A handler for both frameworks."""

    def __init__(self):
        self.calls, self.tickets, self.done = [], [], set()

    def handle(self, delivery):
        if delivery.batch:
            self.calls.append(sorted(job["jobId"] for job in delivery.body))
            return duepost.Results([{"jobId": job["jobId"], **({"bury": "no"} if job["body"] == "bad" else {"ok": True})} for job in delivery.body])
        self.calls.append(delivery.job_id)
        match delivery.job_id:
            case "value":
                return {"total": delivery.body["n"] + 1}
            case "not-yet":
                return duepost.NotYet(1) if delivery.round == 1 else None
            case "defer":
                self.tickets.append(delivery.ticket)
                return duepost.Defer("1m")
            case "retry":
                raise duepost.Retry("1s", "busy")
            case "bury":
                raise duepost.Bury("no such order")
            case "error":
                raise ValueError("broken")


def fastapi_app(shop):
    import fastapi
    import uvicorn
    from duepost.fastapi import receive

    app = fastapi.FastAPI()

    @app.post("/plain")
    @receive([OTHER, SECRET], seen=shop.done)
    def plain(delivery):
        return shop.handle(delivery)

    @app.post("/")
    @receive(SECRET, seen=shop.done)
    async def later(delivery):
        return shop.handle(delivery)

    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="critical"))
    thread = threading.Thread(target=server.run)
    thread.start()
    until(lambda: server.started)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/"
    server.should_exit = True
    thread.join()


def django_app(shop):
    import django.conf
    import django.core.wsgi
    import django.urls
    from duepost.django import receive

    @receive([OTHER, SECRET], seen=shop.done)
    def plain(delivery):
        return shop.handle(delivery)

    @receive(SECRET, seen=shop.done)
    async def later(delivery):
        return shop.handle(delivery)

    urls = type("Urls", (), {"urlpatterns": [django.urls.path("plain", plain), django.urls.path("", later)]})
    if not django.conf.settings.configured:
        django.conf.settings.configure(ALLOWED_HOSTS=["*"], LOGGING_CONFIG=None, DEBUG=False, MIDDLEWARE=["django.middleware.csrf.CsrfViewMiddleware"])
    django.conf.settings.ROOT_URLCONF = urls
    django.urls.clear_url_caches()

    class Quiet(wsgiref.simple_server.WSGIRequestHandler):
        def log_message(self, *_):
            pass

    server = wsgiref.simple_server.make_server("127.0.0.1", 0, django.core.wsgi.get_wsgi_application(), handler_class=Quiet)
    threading.Thread(target=server.serve_forever).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", ["", "plain"])
@pytest.mark.parametrize("framework", [fastapi_app, django_app])
def test_a_framework_receives_jobs(server, topic, framework, path):
    shop = Shop()
    running = framework(shop)
    url = next(running) + path
    try:
        check_jobs(server.client, topic, shop, url)
        check_requests(url, shop)
    finally:
        next(running, None)


def check_jobs(client, topic, shop, url):
    client.topics.put(topic, {"url": url, "secrets": [SECRET], "defer": True, "results": True, "retention": "1h", "retrySchedule": [0], "breaker": False})
    batch = f"{topic}-batch"
    client.topics.put(batch, {"url": url, "secrets": [SECRET], "retention": "1h", "batch": {"size": 3, "wait": 10}})
    for name in "value", "not-yet", "defer", "retry", "bury", "error", "none":
        client.schedule({"topic": topic, "jobId": name, "body": {"n": 41}})
    for name in "a", "b", "c":
        client.schedule({"topic": batch, "jobId": name, "body": "bad" if name == "b" else "good"})
    jobs = {name: client.wait(topic, name, timeout=60) for name in ("value", "not-yet", "retry", "bury", "error", "none")}
    assert {name: job["state"] for name, job in jobs.items()} == {
        "value": "delivered", "not-yet": "delivered", "none": "delivered", "retry": "dead", "bury": "dead", "error": "dead"}
    assert jobs["value"]["result"] == {"total": 42} and jobs["bury"]["reason"] == "gone"
    assert [attempt["status"] for attempt in client.attempts(topic, "retry")] == [503, 503]
    assert [shop.calls.count(name) for name in ("not-yet", "retry", "error")] == [2, 2, 2]
    assert len(shop.done) == 4, shop.done  # value, not-yet in its second round, bury, none
    ticket = until(lambda: shop.tickets)[0]
    deferred = duepost.Duepost("http://127.0.0.1:1").deferred(**ticket)  # knows the server by the ticket only
    deferred.extend("2m", progress=0.5)
    assert client.get(topic, "defer")["progress"] == 0.5
    deferred.complete({"pages": 3})
    assert client.wait(topic, "defer")["result"] == {"pages": 3}
    with pytest.raises(duepost.Conflict):
        deferred.retry()
    assert [client.wait(batch, name)["state"] for name in "abc"] == ["delivered", "dead", "delivered"]
    assert ["a", "b", "c"] in shop.calls


def signed(body, name):
    at = str(int(time.time()))
    key = base64.b64decode(SECRET.removeprefix("whsec_"))
    signature = base64.b64encode(hmac.digest(key, f"{name}.{at}.".encode() + body, hashlib.sha256)).decode()
    return {"webhook-id": name, "webhook-timestamp": at, "webhook-signature": f"v1,{signature}", "content-type": "application/json"}


def check_requests(url, shop):
    count = len(shop.calls)
    assert httpx.post(url, content=b"{}").status_code == 401
    assert httpx.post(url, content=b"[]", headers=signed(b"{}", "msg_1")).status_code == 401
    assert len(shop.calls) == count
    assert httpx.post(url, content=b"{}", headers=signed(b"{}", "msg_1")).status_code == 204
    assert len(shop.calls) == count + 1
    shop.done.add("msg_2:2")
    assert httpx.post(url, content=b"{}", headers=signed(b"{}", "msg_1")).status_code == 204
    assert httpx.post(url, content=b"{}", headers={**signed(b"{}", "msg_2"), "Duepost-Round": "2"}).status_code == 204
    assert len(shop.calls) == count + 1
