"""The proxies of docs/proxy.md pass paths as they were sent, and duepost check notices a proxy that does not."""

import json
import pathlib
import re
import socket

import pytest

from duepost import run
from fronts import HAPROXY_COMMAND, NGINX_COMMAND, NGINX_PLAIN, Front
from patience import SLOW
from qstash import QStash, arrivals

DOCS = pathlib.Path(__file__).parents[2] / "docs" / "proxy.md"
HAPROXY = """
defaults
  mode http
  timeout connect 1s
  timeout client 9s
  timeout server 9s
frontend all
  bind 127.0.0.1:{port}
  default_backend duepost
{more}
"""
CADDY = """
{{
  admin off
  auto_https off
}}
http://:{port} {{
  bind 127.0.0.1
  {more}
}}
"""
CADDY_COMMAND = ["/usr/bin/caddy", "run", "--adapter", "caddyfile", "--config", "{directory}/front.conf"]


def documented(language):
    return re.findall(rf"```{language}\n(.*?)```", DOCS.read_text(), re.DOTALL)


# The lines of ingress-nginx for the host of the chart's Ingress. Its upstream has a balancer in Lua; here it has the server itself.
INGRESS = NGINX_PLAIN.replace("server {{ listen 127.0.0.1:{port}; {more} }}", "upstream upstream_balancer {{ server 127.0.0.1:{behind}; }}\n  server {{ listen 127.0.0.1:{port}; {more} }}")

PROXIES = {
    "nginx": (NGINX_COMMAND, NGINX_PLAIN, documented("nginx")[0], ""),
    "nginx below a path": (NGINX_COMMAND, NGINX_PLAIN, documented("nginx")[1], "/duepost"),
    "ingress-nginx": (NGINX_COMMAND, INGRESS, documented("nginx")[2], ""),
    "haproxy below a path": (HAPROXY_COMMAND, HAPROXY, documented("haproxy")[0], "/duepost"),
    "caddy": (CADDY_COMMAND, CADDY, documented("caddy")[0], ""),
}


@pytest.fixture(scope="module")
def qstash():
    server = QStash()
    yield server
    server.stop()


@pytest.fixture(params=PROXIES)
def front(request, qstash):
    command, configuration, more, below = PROXIES[request.param]
    if not pathlib.Path(command[0]).exists():
        pytest.skip(f"{command[0]} is not installed; script/bootstrap installs it")
    front = Front(command, configuration, qstash.port, more.replace("7700", str(qstash.port)))
    yield front, below
    front.stop()


def ask(front, method, path, body=""):
    """Returns the status and the body of an answer. The path is sent as it is."""
    proxy, below = front
    head = f"{method} {below}{path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\n"
    with socket.create_connection((proxy.host, proxy.port), timeout=15 * SLOW) as link:
        link.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode())
        answer = link.makefile("rb").read()
    return int(answer.split(b" ")[1]), answer.partition(b"\r\n\r\n")[2]


def test_a_documented_proxy_does_not_change_paths(front, qstash, receiver, topic):
    job = '{"url": "http://127.0.0.1:9/", "delay": 600}'
    for job_id in "a%2Fb", "a%2F%2Fb", "%252F", "%C3%BC%20%3F":
        status, body = ask(front, "PUT", f"/jobs/{topic}/{job_id}", job)
        assert status == 201, body
        assert qstash.get(f"/jobs/{topic}/{job_id}").status == 200
    qstash.request("PATCH", f"/topics/{topic}", '{"paused": true}', {"Content-Type": "application/json"}).expect(200)
    for path in f"/jobs/{topic}/..%2F..%2Ftopics%2F{topic}", f"/jobs/{topic}/%2E%2E%2F%2E%2E%2Ftopics%2F{topic}", "/topics/..%2Fhealthz":
        status, _ = ask(front, "DELETE" if topic in path else "GET", path)
        assert status in (400, 404)
    assert qstash.get(f"/topics/{topic}").json["settings"]["paused"] is True
    target = f"/{topic}/a%2Fb//c?d=%20e"
    status, body = ask(front, "POST", f"/v2/publish/{receiver.url(target)}", "x")
    assert status in (200, 201), body
    assert arrivals(receiver, target, 1)


# ---- proxies that change paths ----

BAD_PROXIES = {
    "decodes": (NGINX_COMMAND, NGINX_PLAIN, "location /duepost/ {{ proxy_pass http://127.0.0.1:{behind}/; }}", "FAIL", "to b%252Fc/d, so a request about one job can reach another"),
    "ingress-nginx with rewrite-target": (
        NGINX_COMMAND, INGRESS, 'location ~* "^/duepost(/|$)(.*)" {{ rewrite "(?i)/duepost(/|$)(.*)" /$2 break; proxy_pass http://upstream_balancer; proxy_set_header Host $http_host; }}', "FAIL",
        "so a request about one job can reach another"),
    "joins slashes": (CADDY_COMMAND, CADDY, "handle_path /duepost/* {{\n reverse_proxy 127.0.0.1:{behind}\n}}", "warn", "to a%2F..%2Fb%252Fc/d, but QStash's clients"),
    "refuses": (HAPROXY_COMMAND, HAPROXY, "backend duepost\n  http-request deny if {{ path -m sub %2F }}\n  http-request replace-path ^/duepost(/.*) \\1\n  server one 127.0.0.1:{behind}\n",
                "FAIL", "does not arrive (403"),
}


def proxy_line(*options):
    done = run("check", "--json", "--listen", "127.0.0.1:0", *options, seconds=40)
    (line,) = [each for each in json.loads(done.stdout)["checks"] if each["name"] == "proxy"]
    assert done.returncode == (1 if line["result"] == "FAIL" else 0), done
    return line["result"], line["text"]


def test_the_path_check_answers_the_path_as_it_arrived(qstash):
    for path in "a", "a%2F..%2Fb%252Fc//d", "../%2E%2E/", "%00%ff<b>", "x" * 1000:
        answer = qstash.get(f"/path-check/{path}")
        assert answer.expect(200) == {"path": path} and answer.headers["X-Content-Type-Options"] == "nosniff"
    qstash.get("/path-check/a?b=c").expect(400)
    qstash.request("POST", "/path-check/a", "").expect(405)


def test_duepost_check_accepts_a_documented_proxy(front, qstash):
    proxy, below = front
    url = f"http://localhost:{proxy.port}{below}"
    assert proxy_line("--server", url) == ("ok", f"{url}: paths arrive as they are sent")


@pytest.mark.parametrize("name", BAD_PROXIES)
def test_duepost_check_notices_a_proxy_that_changes_paths(name, qstash):
    command, configuration, more, result, words = BAD_PROXIES[name]
    if not pathlib.Path(command[0]).exists():
        pytest.skip(f"{command[0]} is not installed; script/bootstrap installs it")
    front = Front(command, configuration, qstash.port, more.format(behind=qstash.port))
    try:
        found, text = proxy_line(f"--server=http://localhost:{front.port}/duepost")
    finally:
        front.stop()
    assert found == result and words in text, text


def test_duepost_check_says_why_it_could_not_ask(receiver):
    assert proxy_line("--server", "ftp://x")[0] == "FAIL"
    assert "expected a URL" in proxy_line("--server")[1]
    assert proxy_line("--server", receiver.url())[0] == "FAIL"
