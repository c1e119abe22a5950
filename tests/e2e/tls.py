"""A CA for tests, an nginx with its certificate in front of a receiver, and the files that a Redis needs for TLS."""

import socket
import ssl
import subprocess

from patience import until
from redis_server import free_port
import processes
import scratch


def _openssl(*words, directory):
    subprocess.run(["openssl", *words], cwd=directory, check=True, capture_output=True)


class Authority:
    """A CA. Clients must trust its certificate, the file ca.pem."""

    def __init__(self):
        self.directory = scratch.directory("ca")
        self.certificate = self.directory / "ca.pem"
        _openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=test CA",
                 "-addext", "keyUsage=critical,keyCertSign,cRLSign", "-keyout", "ca.key", "-out", "ca.pem", directory=self.directory)

    def issue(self, name, subject_alt_name, days=2, key=("ec", "-pkeyopt", "ec_paramgen_curve:P-256")):
        """Makes NAME.key and NAME.pem. With days below 0 the certificate has expired."""
        extensions = f"subjectAltName={subject_alt_name}\nauthorityKeyIdentifier=keyid\nbasicConstraints=CA:FALSE\n"  # as RFC 5280 requires
        (self.directory / f"{name}.ext").write_text(extensions)
        _openssl("req", "-newkey", *key, "-nodes", "-subj", f"/CN={name}",
                 "-keyout", f"{name}.key", "-out", f"{name}.csr", directory=self.directory)
        _openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", str(days),
                 "-extfile", f"{name}.ext", "-out", f"{name}.pem", directory=self.directory)


class RedisTls:
    """A certificate of the authority, for a redis-server or a Sentinel, and for the clients of this server."""

    def __init__(self, authority, name="redis", clients="no"):
        """clients: the value of the option tls-auth-clients of Redis."""
        self.authority, self.clients = authority, clients
        self.certificate, self.key = authority.directory / f"{name}.pem", authority.directory / f"{name}.key"

    def _settings(self, port):
        return {"port": "0", "tls-port": str(port), "tls-cert-file": str(self.certificate), "tls-key-file": str(self.key),
                "tls-ca-cert-file": str(self.authority.certificate), "tls-auth-clients": self.clients, "tls-replication": "yes",
                "tls-cluster": "yes"}

    def server(self, port):
        return [word for name, value in self._settings(port).items() for word in (f"--{name}", value)]

    def configuration(self, port):
        return "".join(f"{name} {value}\n" for name, value in self._settings(port).items() if name != "tls-cluster")

    def cli(self):
        return ["--tls", "--cacert", str(self.authority.certificate), "--cert", str(self.certificate), "--key", str(self.key)]

    def options(self):
        shown = ["--redis-cert", str(self.certificate), "--redis-key", str(self.key)] if self.clients == "yes" else []
        return ["--redis-ca", str(self.authority.certificate), *shown]

    def wrap(self, link):
        context = ssl.create_default_context(cafile=str(self.authority.certificate))
        context.load_cert_chain(self.certificate, self.key)
        return context.wrap_socket(link, server_hostname="127.0.0.1")


CONFIGURATION = """
daemon off; master_process off; pid nginx.pid; error_log error.log;
events {{ worker_connections 512; }}
http {{
  access_log off;
  client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
  keepalive_timeout {keepalive};
  server {{
    listen 127.0.0.1:{port} ssl{http2};
    ssl_certificate {authority}/{name}.pem; ssl_certificate_key {authority}/{name}.key;
    ssl_session_cache shared:sessions:1m;
    location / {{
      proxy_pass http://127.0.0.1:{receiver}; proxy_http_version 1.1;
      proxy_set_header Connection ""; proxy_set_header X-Protocol $server_protocol;
      proxy_set_header X-Session $ssl_session_reused;
    }}
  }}
}}
"""


class Nginx:
    """TLS in front of receiver, which sees the client's protocol as X-Protocol. X-Session is r if the client has resumed its session."""

    def __init__(self, authority, name, receiver, http2=True, keepalive="75s"):
        self.port = free_port()
        self.directory = scratch.directory("nginx")
        (self.directory / "nginx.conf").write_text(CONFIGURATION.format(
            port=self.port, http2=" http2" if http2 else "", authority=authority.directory, name=name, receiver=receiver.port, keepalive=keepalive))
        self._run()

    def _run(self):
        self.process = subprocess.Popen(["/usr/sbin/nginx", "-p", self.directory, "-c", "nginx.conf", "-e", "error.log"],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until(self._listens, 10, "nginx listens")

    def _listens(self):
        assert self.process.poll() is None, (self.directory / "error.log").read_text()
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
        except OSError:
            return False
        return True

    def reload(self):
        """nginx runs without a master, so this is a new process on the same port."""
        self.stop()
        self._run()

    def url(self, host="127.0.0.1"):
        return f"https://{host}:{self.port}/hook"

    def stop(self):
        processes.end(self.process.pid)
        self.process.wait()
