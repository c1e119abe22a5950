"""Without tokens, web pages in a browser on this host can do nothing."""

import http.client
import json

import pytest

import contract
import duepost
import scratch
from duepost import Reply
from patience import SLOW
from redis_server import free_port
from tokens import TokenFile

JOB = {"url": "http://127.0.0.1:9/", "delay": 3600}


def ask(server, host, origin=None, method="GET", target="/topics", body=None, headers=(), has_contract=True):
    """Sends a request as a browser does, with the name of the server in Host. host None: no Host, as HTTP/1.0
    allows."""
    link = http.client.HTTPConnection(server.host, server.port, timeout=15 * SLOW)
    if host is None:
        link._http_vsn, link._http_vsn_str = 10, "HTTP/1.0"
    link.putrequest(method, target, skip_host=True, skip_accept_encoding=True)
    for name, value in (("Host", host), ("Origin", origin), *headers, ("Content-Length", body if body is None else str(len(body)))):
        if value is not None:
            link.putheader(name, value)
    link.endheaders(body and body.encode())
    answer = link.getresponse()
    reply = Reply(answer.status, answer.headers, answer.read())
    link.close()
    if has_contract:
        contract.check(method, target, reply.status, reply.headers, reply.body)
    return reply


OURS = ["127.0.0.1", "127.0.0.1:{port}", "127.8.9.10:1", "[::1]", "[::1]:{port}", "[0:0::1]:7700", "[::ffff:127.0.0.1]", "localhost", "LOCALHOST:7700",
        "localhost.:80", "duepost.localhost", None]
OTHERS = ["evil.example", "evil.example:{port}", "localhost.evil.example", "127.0.0.1.evil.example", "mylocalhost", "10.0.0.1:{port}", "[fd00::1]",
          "[::2]", "127.1", "0.0.0.0", "[127.0.0.1]", "xn--localhost", "duepost"]


@pytest.mark.parametrize("host", OURS)
def test_the_names_of_this_host_are_answered(server, host):
    ask(server, host and host.format(port=server.port)).expect(200)


@pytest.mark.parametrize("host", OTHERS)
def test_other_names_are_refused(server, host):
    """A page whose name resolves to this host (DNS rebinding) sends this name as Host."""
    host = host.format(port=server.port)
    detail = ask(server, host).expect(403)["detail"]
    assert host in detail and "--tokens" in detail and "--hosts" in detail
    for probe in "/healthz", "/readyz":
        ask(server, host, target=probe).expect(200)
    ask(server, host, target="/metrics").expect(403)
    for target in "/", "/docs", "/openapi.yaml":
        assert ask(server, host, target=target, has_contract=False).status == 403


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://localhost", "http://localhost:1", "http://127.0.0.1:{port}",
                                    "ftp://localhost:{port}", "localhost:{port}", "http://", "http://localhost:{port}.evil.example"])
def test_pages_of_other_sites_are_refused(server, topic, origin):
    """Some requests have the Content-Type text/plain, like forms: a browser sends such a form to another site without
    asking that site first."""
    host, origin = f"localhost:{server.port}", origin.format(port=server.port)
    server.request("PUT", f"/jobs/{topic}/a", json.dumps(JOB), {"Content-Type": "application/json"}).expect(201)
    before = server.job(topic, "a")
    for target in f"/jobs/{topic}/a/run", f"/jobs/redrive?topic={topic}", "/receivers/127.0.0.1:9/close":
        reply = ask(server, host, origin, "POST", target, "", [("Content-Type", "text/plain")])
        assert origin in reply.expect(403)["detail"]
    ask(server, host, origin, "DELETE", f"/jobs/{topic}/a").expect(403)
    ask(server, None, origin).expect(403)
    assert server.job(topic, "a") == before
    ask(server, host, origin, target="/healthz").expect(200)


def test_a_page_of_duepost_is_not_another_site(server, topic):
    host = f"localhost:{server.port}"
    for number, origin in enumerate((f"http://{host}", f"https://{host}", f"http://LOCALHOST:{server.port}")):
        ask(server, host, origin, "PUT", f"/jobs/{topic}/{number}", json.dumps(JOB), [("Content-Type", "application/json")]).expect(201)


def test_further_names_are_set_and_change_while_it_runs(start):
    file = scratch.file("config")
    file.write_text("hosts = duepost.internal, 10.0.0.1,[fd00::1]\n")
    server = start("--config", str(file))
    for host in "duepost.internal", "DUEPOST.internal.:7700", "10.0.0.1", "[fd00::1]:7700", "localhost":
        ask(server, host).expect(200)
    for host in "internal", "duepost", "a.duepost.internal", "10.0.0.2", "[fd00::2]":
        ask(server, host).expect(403)
    ask(server, "duepost.internal", "https://duepost.internal").expect(200)
    ask(server, "duepost.internal", "https://10.0.0.1").expect(403)
    file.write_text("hosts = other\n")
    server.reload()
    assert 'changed=hosts' in server.log()
    ask(server, "other").expect(200)
    ask(server, "duepost.internal").expect(403)


def test_the_name_where_it_listens_is_one_of_ours(start):
    """Only resolvers accept the spelling 127.1 as an address."""
    server = start(listen="127.1:0")
    ask(server, f"127.1:{server.port}").expect(200)
    ask(server, "127.2").expect(403)


def test_with_tokens_any_name_will_do(start):
    tokens = TokenFile()
    tokens.add("root")
    server = start("--tokens", str(tokens.path), token=tokens.texts["root"])
    bearer = [("Authorization", f"Bearer {tokens.texts['root']}")]
    ask(server, "evil.example", "https://evil.example", headers=bearer).expect(200)
    ask(server, "evil.example", "https://evil.example").expect(401)


def test_tokens_that_come_while_it_runs_take_its_place(start):
    tokens, file = TokenFile(), scratch.file("config")
    tokens.add("root")
    file.write_text("")
    server = start("--config", str(file))
    ask(server, "evil.example").expect(403)
    file.write_text(f"tokens = {tokens.path}\n")
    server.reload()
    ask(server, "evil.example").expect(401)
    file.write_text("")
    server.reload()
    ask(server, "evil.example").expect(403)


@pytest.mark.parametrize("text", ["a:80", "a b", ",", "a,,b", "", "*.example", "::1", "http://a", "[a]", "[10.0.0.1]", "a" * 300])
def test_an_invalid_host_name_is_refused(text):
    done = duepost.run("--hosts", text, "--listen", f"127.0.0.1:{free_port()}")
    assert done.returncode == 2 and "--hosts" in done.stderr
