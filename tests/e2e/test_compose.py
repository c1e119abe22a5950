"""docker/compose-tls.yaml without Docker: the secrets are created as the head of the file says, and the command lines
in it are started with the environment in it. Only ports, hosts and the folders that Docker would mount are
replaced."""

import os
import pathlib
import re
import shutil
import ssl
import stat
import subprocess

import pytest
import yaml

from duepost import BINARY, ROOT, Client
from patience import SLOW, until
import processes
from redis_server import free_port
import scratch

NAME = "docker/compose-tls.yaml"


class Compose:
    """The file, and a copy of the folder docker, where docker/make-secrets has been run."""

    def __init__(self):
        self.directory = scratch.directory("compose")
        shutil.copytree(ROOT / "docker", self.directory / "docker", ignore=shutil.ignore_patterns("secrets", ".env"))
        self.text = (self.directory / NAME).read_text()
        self.make_secrets()
        variables = dict(line.split("=") for line in (self.directory / "docker/.env").read_text().splitlines())
        self.services = yaml.safe_load(re.sub(r"\$\{(\w+):\?[^}]*\}", lambda match: variables[match[1]], self.text))["services"]

    def make_secrets(self):
        assert "#   docker/make-secrets\n" in self.text
        subprocess.run(["docker/make-secrets", "other.example"], cwd=self.directory, env={**os.environ, "DUEPOST": BINARY},
                       timeout=60 * SLOW, check=True)

    def secret(self, name):
        return self.directory / "docker/secrets" / name

    def here(self, service, text):
        """Returns the text, with paths in the container replaced by the folders of this host that would be mounted
        there."""
        for volume in self.services[service]["volumes"]:
            source, target, *mode = volume.split(":")
            if source.startswith("./"):
                assert mode == ["ro"]
                text = text.replace(target, str(self.directory / "docker" / source))
        return text


@pytest.fixture(name="compose", scope="module")
def compose_fixture():
    return Compose()


@pytest.fixture(name="redis_port")
def redis_port_fixture(compose):
    """Starts a Redis with the command line of the service redis."""
    port = free_port()
    words = [compose.here("redis", word) for word in compose.services["redis"]["command"]]
    words[words.index("--tls-port") + 1] = str(port)
    directory = scratch.directory("redis")
    with (directory / "log").open("w") as log, subprocess.Popen(
            [*words, "--bind", "127.0.0.1", "--dir", str(directory)], stdout=log, stderr=log) as process:
        try:
            until(lambda: is_healthy(compose, port), 20, lambda: (directory / "log").read_text())
            yield port
        finally:
            processes.end(process.pid)


def is_healthy(compose, port):
    kind, *words = compose.services["redis"]["healthcheck"]["test"]
    assert kind == "CMD"
    words = [compose.here("redis", word) for word in words]
    words[words.index("-p") + 1] = str(port)
    done = subprocess.run(words, capture_output=True, text=True, timeout=10 * SLOW, check=False)
    return done.returncode == 0 and done.stdout == "PONG\n"


def redis_cli(compose, port, *words):
    return subprocess.run(["redis-cli", "-p", str(port), "--tls", "--cacert", str(compose.secret("ca.pem")), *words],
                          capture_output=True, text=True, timeout=10 * SLOW, check=False).stdout


@pytest.fixture(name="server")
def server_fixture(compose, redis_port, start):
    """Starts duepost with the environment of the service duepost. Here the address of Redis has an IP address instead
    of the name redis, so --redis-server-name gives the name that the certificate must have."""
    variables = {name: compose.here("duepost", value) for name, value in compose.services["duepost"]["environment"].items()}
    address = variables.pop("DUEPOST_REDIS")
    assert "@redis:6379/" in address and variables.pop("DUEPOST_ALLOW_TARGET") in compose.services
    context = ssl.create_default_context(cafile=str(compose.secret("ca.pem")))
    return start("--redis-server-name", "redis", redis=address.replace("redis:6379", f"127.0.0.1:{redis_port}"), extra=variables,
                 tls=context, token=compose.secret("token").read_text().strip())


def test_a_job_comes_over_https_with_a_token_and_is_kept_by_a_redis_with_tls(compose, server, redis_port, receiver, topic):
    assert server.get("/readyz").expect(200)["durability"]["inForce"] == "fsync"
    server.schedule(topic=topic, jobId="a", url=receiver.url(), body={"order": 1041})
    server.wait_for_state(topic, "a", None)
    assert receiver.of(topic, "a")[0].body == b'{"order": 1041}'
    assert server.with_token(None).post({"topic": topic, "url": receiver.url()}).status == 401
    for name in "localhost", "other.example":
        with server.connect() as link:
            assert ("DNS", name) in link.getpeercert()["subjectAltName"]
    with pytest.raises(ssl.SSLError):
        Client(server.host, server.port, tls=ssl.create_default_context()).get("/healthz")
    assert redis_cli(compose, redis_port, "GET", "duepost:x").startswith("NOAUTH")
    assert redis_cli(compose, redis_port, "--user", "health", "--pass", "none", "--no-auth-warning", "GET", "duepost:x").startswith("NOPERM")


def test_certificates_are_renewed_while_it_runs(compose, server, receiver, topic):
    """docker/make-secrets makes new certificates. They are from the same CA as before, and token and password stay
    the same."""
    def number():
        with server.connect() as link:
            return link.getpeercert()["serialNumber"]
    before, variables = number(), compose.directory / "docker/.env"
    with variables.open("a") as file:
        file.write("OF_OTHERS=1\n")
    compose.make_secrets()
    assert sorted(variables.read_text().splitlines()) == ["OF_OTHERS=1", f"SECRETS_GROUP={os.getgid()}"]
    server.reload()
    assert number() != before
    server.schedule(topic=topic, jobId="a", url=receiver.url())
    server.wait_for_state(topic, "a", None)


def test_each_service_reads_its_own_folder_and_no_user_but_the_group_reads_it(compose):
    assert {path.name for path in compose.secret("duepost").iterdir()} == {"ca.pem", "redis-password", "tls.key", "tls.pem", "tokens"}
    assert {path.name for path in compose.secret("redis").iterdir()} == {"ca.pem", "tls.key", "tls.pem", "users.acl"}
    for path in compose.directory.glob("docker/secrets/**/*"):
        assert not stat.S_IMODE(path.stat().st_mode) & 0o007, path
    for name in "ca.key", "token":
        assert stat.S_IMODE(compose.secret(name).stat().st_mode) == 0o600
    users = compose.secret("redis/users.acl").read_text()
    assert compose.secret("duepost/redis-password").read_text().strip() not in users
    for service in "duepost", "redis":
        assert compose.services[service]["user"].endswith(f":{os.getgid()}")


@pytest.mark.parametrize("name", ["docker/compose.yaml", NAME])
def test_the_secrets_of_a_compose_file_are_not_committed(name):
    text = (ROOT / name).read_text()
    sources = [line.strip("/") for line in (ROOT / ".gitignore").read_text().splitlines() if line.startswith("/docker/")]
    for path in re.findall(r"(?:-|file:) \./([\w/]+)", text):
        assert any(pathlib.PurePosixPath("docker", path).is_relative_to(source) for source in sources), path


def test_the_healthcheck_of_the_image_works_over_https(server):
    """The command of the healthcheck runs with the variables that the image and the service set."""
    command = re.search(r"^HEALTHCHECK .*?CMD (.*?[^\\])\n", (ROOT / "docker/Dockerfile").read_text(), re.M | re.S)[1]
    variables = {"DUEPOST_LISTEN": f"0.0.0.0:{server.port}", "DUEPOST_TLS_CERT": "/set", "PATH": os.environ["PATH"]}
    assert subprocess.run(["sh", "-c", command], env=variables, timeout=20 * SLOW, check=False).returncode == 0
    variables.pop("DUEPOST_TLS_CERT")
    assert subprocess.run(["sh", "-c", command], env=variables, timeout=20 * SLOW, check=False).returncode != 0
