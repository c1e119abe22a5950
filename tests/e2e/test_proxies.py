"""The proxies of docs/dashboard.md pass paths as they were sent. A proxy that is not installed is left out."""

import pathlib
import re
import socket

import pytest

from fronts import Front
from patience import SLOW
from qstash import QStash, arrivals

DOCS = pathlib.Path(__file__).parents[2] / "docs" / "dashboard.md"
NGINX = """
daemon off; master_process off; pid nginx.pid; error_log error.log;
events {{ worker_connections 512; }}
http {{
  access_log off; client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
  server {{ listen 127.0.0.1:{port}; {more} }}
}}
"""
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
NGINX_COMMAND = ["/usr/sbin/nginx", "-p", "{directory}", "-c", "front.conf", "-e", "error.log"]
HAPROXY_COMMAND = ["/usr/sbin/haproxy", "-db", "-f", "{directory}/front.conf"]
CADDY_COMMAND = ["/usr/bin/caddy", "run", "--adapter", "caddyfile", "--config", "{directory}/front.conf"]


def documented(language):
    return re.findall(rf"```{language}\n(.*?)```", DOCS.read_text(), re.DOTALL)


PROXIES = {
    "nginx": (NGINX_COMMAND, NGINX, documented("nginx")[0], ""),
    "nginx below a path": (NGINX_COMMAND, NGINX, documented("nginx")[1], "/duepost"),
    "haproxy below a path": (HAPROXY_COMMAND, HAPROXY, documented("haproxy")[0], "/duepost"),
    "caddy": (CADDY_COMMAND, CADDY, documented("caddy")[0], ""),
}


@pytest.fixture(scope="module")
def qstash():
    server = QStash()
    yield server
    server.stop()


@pytest.fixture(params=[name for name, (command, *_) in PROXIES.items() if pathlib.Path(command[0]).exists()])
def front(request, qstash):
    command, configuration, more, below = PROXIES[request.param]
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
