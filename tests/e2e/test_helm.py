"""The chart in config/helm without helm: its values, and the pods of tests/helm/rendered, whose commands are started
with their environment. tests/helm/run renders the pods and checks them against the schemas of Kubernetes."""

import json
import os
import pathlib
import re
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile

import jsonschema
import pytest
import yaml

import documents
from duepost import BINARY, LOOPBACK, ROOT, Client, environment, run
from patience import SLOW, until
from postgres_server import PostgresServer
import processes
from redis_server import free_port
from sentinels import Sentinels
from tls import Authority, RedisTls

sys.path.insert(0, str(ROOT / "tests/helm"))

import chart  # noqa: E402

USER = 10001 if os.geteuid() == 0 else os.geteuid()  # the user of the image
PASSWORDS = {"redis": "of-redis", "sentinel": "of-sentinels"}
DRAIN_S, RECORD_S = 30, 18  # maximum time after SIGTERM until attempts end, and then until their outcomes are recorded
LISTENS_WITHIN_S = 60  # maximum time until duepost listens, even if its private Redis has to load its data first
REDIS_USER = ["--user", "duepost", "on", f">{PASSWORDS['redis']}", "~*", "&*", "+@all"]
SENTINEL_USER = (f"user duepost on >{PASSWORDS['sentinel']} resetchannels -@all +auth +ping +sentinel|master "
                 "+sentinel|get-master-addr-by-name +sentinel|replicas")


def rendered(example):
    return list(yaml.safe_load_all((chart.RENDERED / f"{example}.yaml").read_text()))


def one(manifests, kind, component=None):
    return next(each for each in manifests
                if each["kind"] == kind and each["metadata"].get("labels", {}).get("app.kubernetes.io/component") == component)


def workload(manifests):
    return next(each for each in manifests if each["kind"] in ("Deployment", "StatefulSet"))


class Pod:
    """Runs the container duepost of a workload on this host, as the user of the image. secrets: {name: {key: text}}.
    changes: {variable: value}, for variables that need another value on this host."""

    def __init__(self, manifests, secrets, changes, tls=None):
        self.manifests, self.secrets, self.tls = manifests, dict(secrets), tls
        for each in manifests:
            if each["kind"] == "Secret":
                self.secrets[each["metadata"]["name"]] = each["stringData"]
        self.spec = workload(manifests)["spec"]["template"]["spec"]
        self.container, = self.spec["containers"]
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="duepost-test-"))
        self.directory.chmod(0o755)
        self.ports = {each["name"]: free_port() for each in self.container["ports"]}
        self.mounts = {each["mountPath"]: self._mount(each["name"]) for each in self.container["volumeMounts"]}
        self.process = None
        self._start({**self._variables(), **changes})

    def _mount(self, name):
        """Creates a folder as the kubelet does: it belongs to root, and to the group of the pod."""
        folder = self.directory / name
        folder.mkdir()
        for volume in self.spec["volumes"]:
            if volume["name"] == name:
                for source in volume["projected"]["sources"]:
                    for item in source["secret"]["items"]:
                        (folder / item["path"]).write_text(self.secrets[source["secret"]["name"]][item["key"]])
                        (folder / item["path"]).chmod(volume["projected"]["defaultMode"])
        if USER != os.geteuid():
            for path in (folder, *folder.iterdir()):
                os.chown(path, 0, self.spec["securityContext"]["fsGroup"])
        folder.chmod(0o2775)
        return folder

    def _variables(self):
        variables = {}
        for each in self.container["env"]:
            if "valueFrom" in each:
                place = each["valueFrom"]["secretKeyRef"]
                variables[each["name"]] = self.secrets[place["name"]][place["key"]]
            else:
                variables[each["name"]] = each["value"]
        for port in self.container["ports"]:
            variables = {name: re.sub(rf"^0\.0\.0\.0:{port['containerPort']}$", f"0.0.0.0:{self.ports[port['name']]}", value)
                         for name, value in variables.items()}
        for path, folder in self.mounts.items():
            variables = {name: value.replace(path, str(folder)) for name, value in variables.items()}
        return variables

    def _start(self, variables):
        binary = shutil.copy(BINARY, self.directory / "duepost")
        user = self.spec["securityContext"]["runAsUser"]
        through = ["setpriv", "--reuid", str(user), "--regid", str(user), "--clear-groups", "--no-new-privs"] if USER == user else []
        with (self.directory / "log").open("w") as log:
            self.process = subprocess.Popen([*through, binary], env=environment(variables), stdout=log, stderr=log, cwd="/")
        try:
            self.await_ready()
        except BaseException:
            self.stop()
            raise

    def log(self):
        return (self.directory / "log").read_text()

    def client(self, port, token=None):
        return Client("127.0.0.1", self.ports[port], token, self.tls)

    def probe(self, name):
        target = self.container[name]["httpGet"]
        assert target["scheme"] == ("HTTPS" if self.tls else "HTTP")
        try:
            return self.client(target["port"]).get(target["path"]).status
        except OSError:
            return None

    def await_ready(self):
        until(lambda: self.process.poll() is None and self.probe("readinessProbe") == 200, 30, self.log)

    def terminate(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(20 * SLOW)

    def stop(self):
        if self.process.poll() is None:
            processes.end(self.process.pid)
            self.process.wait()
        for pid in processes.redis_servers_of(self.directory / "data/data"):
            processes.end(pid)
        shutil.rmtree(self.directory, ignore_errors=True)


@pytest.fixture(name="pod")
def pod_fixture():
    started = []

    def start(*words, **named):
        started.append(Pod(*words, **named))
        return started[-1]
    yield start
    for each in started:
        each.stop()


@pytest.fixture(name="authority", scope="module")
def authority_fixture():
    made = Authority()
    for name in "redis", "duepost":
        made.issue(name, "IP:127.0.0.1")
    return made


def tokens():
    return (chart.HERE / "tokens").read_text()


def delivers(pod, receiver, topic):
    """Checks the pod: requests its probes, runs the test of the chart, and delivers a job."""
    assert pod.probe("startupProbe") == pod.probe("livenessProbe") == 200
    client = pod.client("http", chart.TOKEN)
    client.schedule(topic=topic, jobId="a", url=receiver.url(), body={"n": 1})
    until(lambda: (client.job(topic, "a") or {"state": "gone"})["state"] in ("gone", "delivered"), 20, pod.log)  # delivered: with a history
    assert receiver.of(topic, "a")[0].body == b'{"n": 1}'
    assert pod.client("http").post({"topic": topic, "url": receiver.url()}).status == 401
    test = one(pod.manifests, "Pod")["spec"]["containers"][0]["command"]
    service = one(pod.manifests, "Service")
    url = f"{'https' if pod.tls else 'http'}://{service['metadata']['name']}:{service['spec']['ports'][0]['port']}/readyz"
    assert test[-1] == url
    here = url.replace(f"//{service['metadata']['name']}:{service['spec']['ports'][0]['port']}", f"//127.0.0.1:{pod.ports['http']}")
    assert json.loads(subprocess.run([*test[:-1], here], capture_output=True, timeout=20 * SLOW, check=True).stdout)["ready"] is True
    assert pod.client("health").get("/metrics").status == 401


def test_a_private_redis_keeps_its_jobs_on_the_volume(pod, receiver, topic):
    started = pod(rendered("private-redis"), {}, {"DUEPOST_ALLOW_TARGET": LOOPBACK})
    delivers(started, receiver, topic)
    claim, = workload(started.manifests)["spec"]["volumeClaimTemplates"]
    assert (started.directory / claim["metadata"]["name"]).stat().st_uid != USER or USER == os.geteuid()
    started.client("http", chart.TOKEN).schedule(topic=topic, jobId="later", url=receiver.url(), delay=3600)
    assert started.terminate() == 0
    started._start({**started._variables(), "DUEPOST_ALLOW_TARGET": LOOPBACK})
    assert started.client("http", chart.TOKEN).job(topic, "later")["state"] == "delayed"
    assert started.terminate() == 0


def test_a_redis_with_a_password(pod, redis, receiver, topic):
    behind = redis(tcp=True, options=REDIS_USER)
    manifests = rendered("redis")
    address = next(each["value"] for each in workload(manifests)["spec"]["template"]["spec"]["containers"][0]["env"]
                   if each["name"] == "DUEPOST_REDIS")
    started = pod(manifests, {"duepost": {"tokens": tokens(), "redis-password": PASSWORDS["redis"]}},
                  {"DUEPOST_REDIS": address.replace("redis:6379", behind.place), "DUEPOST_ALLOW_TARGET": LOOPBACK})
    delivers(started, receiver, topic)
    assert b"user=duepost" in behind.command("CLIENT", "LIST")
    assert started.terminate() == 0


def test_everything_together(pod, authority, receiver, topic):
    """Sentinels and Redis with TLS and passwords, https, signatures, and a history in PostgreSQL."""
    def read(name):
        return (authority.directory / name).read_text()
    behind = Sentinels(tls=RedisTls(authority), options=REDIS_USER, lines=["requirepass of-tests", SENTINEL_USER], login=["of-tests"])
    postgres = PostgresServer()
    try:
        postgres.directory.chmod(0o755)
        secrets = {
            "duepost": {"tokens": tokens(), "redis-password": PASSWORDS["redis"], "sentinel-password": PASSWORDS["sentinel"],
                        "redis-ca.pem": read("ca.pem"), "signing-secret": "whsec_c2VjcmV0IG9mIDMyIGJ5dGVzLCBvciBtb3Jl\n",
                        "history": postgres.create("duepost")},
            "duepost-tls": {"tls.crt": read("duepost.pem"), "tls.key": read("duepost.key")}}
        manifests = rendered("everything")
        started = pod(manifests, secrets, {"DUEPOST_REDIS": behind.address.replace("://", "://duepost@"), "DUEPOST_ALLOW_TARGET": LOOPBACK},
                      tls=ssl.create_default_context(cafile=str(authority.certificate)))
        delivers(started, receiver, topic)
        assert "webhook-signature" in {name.lower() for name in receiver.of(topic, "a")[0].headers}
        client = started.client("http", chart.TOKEN)
        # The path is served only if duepost has got "on" for --qstash, and not the boolean that YAML reads in this word.
        assert client.request("GET", "/v2/queues", check=False).status == 200
        until(lambda: postgres.psql("SELECT count(*) FROM duepost_jobs", "duepost") == "1\n", 20, "the job is in the history")
        metrics = started.client("health", chart.TOKEN).get("/metrics").body.decode()
        for each in one(manifests, "HorizontalPodAutoscaler")["spec"]["metrics"]:
            assert "external" not in each or re.search(rf"^{each['external']['metric']['name']} ", metrics, re.M)
        assert started.terminate() == 0
        for password in PASSWORDS.values():
            assert password not in started.log()
    finally:
        postgres.stop()
        behind.stop()


def selects(selector, labels):
    return selector.items() <= labels.items()


@pytest.mark.parametrize("example", chart.EXAMPLES)
def test_manifests_fit_each_other(example):
    manifests = rendered(example)
    labels = workload(manifests)["spec"]["template"]["metadata"]["labels"]
    spec = workload(manifests)["spec"]["template"]["spec"]
    container, = spec["containers"]
    ports = {each["name"] for each in container["ports"]}
    assert selects(workload(manifests)["spec"]["selector"]["matchLabels"], labels)
    test = one(manifests, "Pod")["metadata"]["labels"]
    for service in (each for each in manifests if each["kind"] == "Service"):
        assert selects(service["spec"]["selector"], labels) and not selects(service["spec"]["selector"], test)
        assert {each["targetPort"] for each in service["spec"]["ports"]} <= ports
    health = one(manifests, "Service", "health")
    for each in manifests:
        if each["kind"] in ("PodDisruptionBudget", "NetworkPolicy"):
            selector = each["spec"].get("selector") or each["spec"]["podSelector"]
            assert selects(selector["matchLabels"], labels) and not selects(selector["matchLabels"], test)
        if each["kind"] == "NetworkPolicy":
            assert {port["port"] for rule in each["spec"]["ingress"] for port in rule["ports"]} == ports
        if each["kind"] == "HorizontalPodAutoscaler":
            target = each["spec"]["scaleTargetRef"]
            assert (target["kind"], target["name"]) == (workload(manifests)["kind"], workload(manifests)["metadata"]["name"])
            assert "replicas" not in workload(manifests)["spec"]
        if each["kind"] == "ServiceMonitor":
            assert selects(each["spec"]["selector"]["matchLabels"], health["metadata"]["labels"])
            assert not selects(each["spec"]["selector"]["matchLabels"], one(manifests, "Service")["metadata"]["labels"])
            assert {endpoint["port"] for endpoint in each["spec"]["endpoints"]} == {port["name"] for port in health["spec"]["ports"]}
        if each["kind"] == "Ingress":
            for rule in each["spec"]["rules"]:
                backend = rule["http"]["paths"][0]["backend"]["service"]
                assert backend["name"] == one(manifests, "Service")["metadata"]["name"]
                assert backend["port"]["name"] in {port["name"] for port in one(manifests, "Service")["spec"]["ports"]}
    assert spec["serviceAccountName"] == one(manifests, "ServiceAccount")["metadata"]["name"]
    assert container["startupProbe"]["periodSeconds"] * container["startupProbe"]["failureThreshold"] >= 2 * LISTENS_WITHIN_S
    command, seconds = container["lifecycle"]["preStop"]["exec"]["command"]
    assert command == "sleep" and spec["terminationGracePeriodSeconds"] >= int(seconds) + DRAIN_S + RECORD_S


def schema():
    return json.loads((chart.CHART / "values.schema.json").read_text())


def values():
    return yaml.safe_load((chart.CHART / "values.yaml").read_text())


def test_rendered_manifests_are_those_of_the_chart():
    for example in chart.EXAMPLES:
        assert (chart.RENDERED / f"{example}.yaml").read_text().startswith(chart.head()), "run tests/helm/run --write"


def test_the_chart_has_the_version_of_duepost():
    version = re.search(r"^project\(duepost VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(), re.M)[1]
    metadata = yaml.safe_load((chart.CHART / "Chart.yaml").read_text())
    assert metadata["version"] == metadata["appVersion"] == version
    for example in chart.EXAMPLES:
        for each in rendered(example):
            for container in each["spec"].get("template", {"spec": {}})["spec"].get("containers", []) if "spec" in each else []:
                assert container["image"].endswith(f":{version}")


def test_the_schema_names_each_option_that_the_chart_does_not_set():
    options = re.findall(r"^#?([a-z][a-z-]*) =", run("--print-reference").stdout, re.M)
    own = {"listen", "health-listen", "data"}
    assert own <= set(options)
    assert schema()["definitions"]["optionName"]["enum"] == [name for name in options if name not in own], "write these names there"


def test_values_are_as_the_schema_has_them():
    jsonschema.Draft7Validator.check_schema(schema())
    jsonschema.validate(values(), schema())
    assert set(values()) == set(schema()["properties"]) - {"global"}
    for name, part in values().items():
        known = schema()["properties"][name].get("properties")
        if known and isinstance(part, dict) and name != "resources":
            assert set(part) == set(known), name
    for example in chart.EXAMPLES:
        jsonschema.validate(yaml.safe_load((chart.CHART / "examples" / f"{example}.yaml").read_text()), schema())


def test_the_values_in_the_guide_are_as_the_schema_has_them():
    blocks = [block for block in documents.blocks(ROOT / "docs/kubernetes.md") if block.language == "yaml"]
    read = [yaml.safe_load(block.text) for block in blocks]
    assert any("options" in each for each in read)
    for each in read:
        jsonschema.validate(each, {} if "externalRules" in each else schema())


@pytest.mark.parametrize("wrong", [
    {"options": {"max-bodi": 1}}, {"options": {"data": "/x"}}, {"options": {"max-body": ["1"]}}, {"secretFiles": {"tokens": "tokens"}},
    {"replicas": -1}, {"replicaCount": 2}, {"service": {"type": "None"}}, {"autoscaling": {"overdueSeconds": 0}}], ids=str)
def test_the_schema_refuses(wrong):
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(wrong, schema())
