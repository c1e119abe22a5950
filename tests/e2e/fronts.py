"""Proxies in front of duepost. FRONTS refuse DELETE requests: nginx and HAProxy, in their usual configuration and in a lenient one."""

import socket
import subprocess

from patience import until
from redis_server import free_port
import processes
import scratch

NGINX = """
daemon off; master_process off; pid nginx.pid; error_log error.log;
events {{ worker_connections 512; }}
http {{
  access_log off; keepalive_timeout 30; client_header_timeout 1; client_body_timeout 1; send_timeout 1; client_max_body_size 20m;
  client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
  upstream duepost {{ server 127.0.0.1:{behind}; keepalive 4; }}
  server {{
    listen 127.0.0.1:{port};
    {more}
    location / {{
      if ($request_method = DELETE) {{ return 403; }}
      proxy_pass http://duepost; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_read_timeout 3;
    }}
  }}
}}
"""
NGINX_GZIP = "gzip on; gzip_types *; gzip_min_length 1; gzip_proxied any;"
NGINX_LENIENT = """
    ignore_invalid_headers off; underscores_in_headers on; merge_slashes off; large_client_header_buffers 4 64k;
    proxy_request_buffering off; proxy_buffering off; proxy_pass_request_headers on;
"""
# For tests that add the whole location.
NGINX_PLAIN = """
daemon off; master_process off; pid nginx.pid; error_log error.log;
events {{ worker_connections 512; }}
http {{
  access_log off; client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
  server {{ listen 127.0.0.1:{port}; {more} }}
}}
"""
NGINX_COMMAND = ["/usr/sbin/nginx", "-p", "{directory}", "-c", "front.conf", "-e", "error.log"]

HAPROXY = """
global
  maxconn 200
defaults
  mode http
  timeout connect 1s
  timeout client 1s
  timeout server 3s
  timeout http-request 1s
  timeout http-keep-alive 30s
  http-reuse always
  {more}
frontend all
  bind 127.0.0.1:{port}
  http-request deny if METH_DELETE
  default_backend duepost
backend duepost
  server one 127.0.0.1:{behind}
"""
HAPROXY_GZIP = "compression algo gzip\n  compression type application/json"
HAPROXY_COMMAND = ["/usr/sbin/haproxy", "-db", "-f", "{directory}/front.conf"]
HAPROXY_LENIENT = "option accept-invalid-http-request\n  option http-no-delay"


class Front:
    """Listens on port. The server behind the proxy listens on behind."""

    host = "127.0.0.1"

    def __init__(self, command, configuration, behind, more=""):
        self.port = free_port()
        self.directory = scratch.directory("front")
        (self.directory / "front.conf").write_text(configuration.format(port=self.port, behind=behind, more=more))
        with (self.directory / "log").open("w") as log:
            self.process = subprocess.Popen([part.format(directory=self.directory) for part in command], stdout=log, stderr=log)
        until(self._listens, 10, "the proxy listens")

    def _listens(self):
        assert self.process.poll() is None, (self.directory / "log").read_text()
        try:
            socket.create_connection((self.host, self.port), timeout=1).close()
        except OSError:
            return False
        return True

    def stop(self):
        processes.end(self.process.pid)
        self.process.wait()


def _nginx(behind, more=""):
    return Front(NGINX_COMMAND, NGINX, behind, more)


def _haproxy(behind, more=""):
    return Front(HAPROXY_COMMAND, HAPROXY, behind, more)


FRONTS = {
    "nginx": _nginx,
    "nginx, lenient": lambda behind: _nginx(behind, NGINX_LENIENT),
    "haproxy": _haproxy,
    "haproxy, lenient": lambda behind: _haproxy(behind, HAPROXY_LENIENT),
}

COMPRESSING = {
    "nginx": lambda behind: _nginx(behind, NGINX_GZIP),
    "haproxy": lambda behind: _haproxy(behind, HAPROXY_GZIP),
}
