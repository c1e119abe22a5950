"""duepost apply and duepost diff: a server as a file declares it."""

import json
import subprocess

import pytest
import yaml

import duepost
import scratch
from tokens import TokenFile

WHOLE = """\
# All kinds, in an order that no server would take.
schedules:
  reports/daily: {cron: 0 4 * * *, timezone: Europe/Berlin, job: {group: shops, body: {n: 1.10}, headers: {X-A: b}}}
  reports/often: {every: 15m, startAt: 2030-01-01T00:00:00Z, job: {url: "https://x.example/"}}
topics:
  orders:
    url: https://shop.example/hook?key=${HOOK_KEY}
    limit: stripe          # see below
    rate: {jobs: 100, per: 1m}
    timeout: 0.3
    headers: {X-Token: "${TOKEN}", Content-Type: application/json}
    secrets: ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"]
    windows: [{days: [mon, tue], from: 08:00, to: "20:00", timezone: Europe/Berlin}]
keys:
  orders:
    ada: {maxInFlight: 3}
    "bob, \u20ac": {rate: {jobs: 10, per: 1}}
patterns:
  orders-*: {retention: 1h}
limits:
  stripe:
    maxInFlight: 20
groups:
  shops:
    endpoints:
      north: {url: "https://north.example/hook", headers: {X: y}}
      south: {url: "https://south.example/hook"}
"""
ENVIRONMENT = {"HOOK_KEY": "k-1", "TOKEN": "t-1"}


class Declared:
    """Runs apply and diff on one server and one file."""

    def __init__(self, server, name="duepost.yaml"):
        self.server, self.path, self.extra = server, scratch.directory("declared") / name, dict(ENVIRONMENT)

    def write(self, text):
        self.path.write_text(text if isinstance(text, str) else json.dumps(text))
        return self

    def run(self, command, *options, code=0, source=None):
        done = subprocess.run([duepost.BINARY, command, "-f", "-" if source else str(self.path), *options], capture_output=True, text=True,
                              input=source, env=duepost.environment({"DUEPOST_SERVER": self.server.url, **self.extra}))
        assert done.returncode == code, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
        self.err = done.stderr
        return done.stdout

    def apply(self, *options, **named):
        return self.run("apply", *options, **named)

    def diff(self, *options, **named):
        return self.run("diff", *options, **named)

    def actions(self, *options, command="diff", code=1):
        return [(each["action"], each["kind"], each["name"]) for each in json.loads(self.run(command, "--json", *options, code=code))["changes"]]


@pytest.fixture
def declared(start):
    return Declared(start("--qstash", "on"))


def settings(server, topic):
    answer = server.request("GET", f"/topics/{topic}").expect(200)
    return {name: value for name, value in answer["settings"].items() if answer["from"][name] == "topic"}


def test_all_kinds_in_an_order_that_satisfies_references(declared):
    declared.write(WHOLE)
    made = [("create", kind, name) for kind, name in [
        ("limit", "stripe"), ("pattern", "orders-*"), ("topic", "orders"), ("key", "orders/ada"), ("key", "orders/bob, \u20ac"), ("group", "shops"),
        ("schedule", "reports/daily"), ("schedule", "reports/often")]]
    assert declared.actions() == made and declared.actions("--dry-run", command="apply", code=0) == made
    assert settings(declared.server, "orders") == {}
    assert declared.actions(command="apply", code=0) == made
    server = declared.server
    assert settings(server, "orders")["limit"] == "stripe" and settings(server, "orders")["timeout"] == 0.3
    assert settings(server, "orders")["windows"][0]["from"] == "08:00"
    daily = server.get("/schedules/reports/daily").expect(200)
    assert daily["job"]["group"] == "shops" and daily["job"]["body"] == {"n": 1.10} and daily["timezone"] == "Europe/Berlin"
    assert server.get("/topics/orders/keys/ada").expect(200)["settings"] == {"maxInFlight": 3}
    assert declared.diff().startswith("0 to create, 0 to change, 0 to remove, 8 unchanged\n")
    assert declared.apply("--prune").startswith("0 created, 0 changed, 0 removed, 8 unchanged\n")


def test_json_is_the_same_as_yaml(declared):
    declared.write(WHOLE).apply()
    document = yaml.safe_load(WHOLE.replace("08:00", '"08:00"').replace("2030-01-01T00:00:00Z", '"2030-01-01T00:00:00Z"'))
    other = Declared(declared.server, "duepost.json").write(json.dumps(document, indent=1).replace("1.1", "1.10"))
    assert "8 unchanged" in other.diff()
    assert "8 unchanged" in other.diff(source=other.path.read_text())


def test_each_member_old_and_new(declared):
    declared.write(WHOLE).apply()
    text = WHOLE.replace("jobs: 100", "jobs: 200").replace("    timeout: 0.3\n", "    maxInFlight: 7\n").replace("north.example/hook", "north.example/new")
    assert declared.write(text).diff(code=1).splitlines() == [
        "change topic orders", "    rate.jobs  100 -> 200", "    timeout  0.3 -> (none)", "    maxInFlight  (none) -> 7",
        "change group shops", '    endpoints.north.url  "https://north.example/hook" -> "https://north.example/new"',
        "0 to create, 2 to change, 0 to remove, 6 unchanged",
        "1 of the unchanged has values that the server does not show, such as secrets. They are not compared; --write-hidden writes them"]
    declared.apply()
    assert "timeout" not in settings(declared.server, "orders")
    assert "0 to change" in declared.diff()


def test_an_object_without_a_change_is_not_written(declared):
    declared.write(WHOLE).apply()
    before = declared.server.get("/schedules/reports/often").expect(200)
    declared.write(WHOLE.replace("jobs: 100", "jobs: 200")).apply()
    assert declared.server.get("/schedules/reports/often").expect(200) == before
    assert declared.server.log().count("event=schedule_changed") + declared.server.log().count("event=schedule_set") <= 4


def test_hidden_values_are_written_on_demand(declared):
    declared.write(WHOLE).apply()
    declared.extra["TOKEN"] = "t-2"
    out = declared.diff()
    assert "3 of the unchanged have values that the server does not show" in out and "t-2" not in out
    assert declared.actions("--write-hidden") == [("change", "topic", "orders"), ("change", "group", "shops"), ("change", "schedule", "reports/daily")]
    out = declared.apply("--write-hidden")
    assert "t-2" not in out and "k-1" not in out and "whsec_Mf" not in out
    declared.server.request("PATCH", "/topics/orders", '{"delivery":"pull"}', {"Content-Type": "application/json"}).expect(200)


@pytest.mark.parametrize("kind, names", [("limits", {"limits": {}}), ("topics", {"topics": {}}), ("groups", {"groups": None}), ("schedules", {"schedules": {}}), ("patterns", {"patterns": {}}),
                                         ("keys", {"keys": {"orders": {"ada": {"maxInFlight": 3}}}})])
def test_prune_removes_only_of_the_kinds_that_the_file_has(declared, kind, names):
    declared.write(WHOLE.replace("    limit: stripe          # see below\n", "")).apply()
    job = kind != "topics"  # a topic that has settings alone is found, too
    if job:
        declared.server.schedule(topic="orders", jobId="a", delay=3600)
    declared.write(names)
    assert declared.actions(code=0) == []
    removed = {"limits": ["stripe"], "topics": ["orders"], "groups": ["shops"], "schedules": ["reports/often", "reports/daily"], "patterns": ["orders-*"],
               "keys": ["orders/bob, \u20ac"]}[kind]
    expected = [("remove", kind[:-1], name) for name in removed]
    assert declared.actions("--prune") == expected
    assert declared.actions("--prune", command="apply", code=0) == expected
    assert declared.actions("--prune", code=0) == []
    assert not job or declared.server.job("orders", "a")["state"] == "delayed"


def test_removals_come_last_and_in_reverse(declared):
    declared.write(WHOLE).apply()
    declared.write({"limits": {"other": {"maxInFlight": 1}}, "topics": {"orders": {"limit": "other"}}, "groups": {}, "schedules": {}})
    actions = [("create", "limit", "other"), ("change", "topic", "orders"), ("remove", "schedule", "reports/often"), ("remove", "schedule", "reports/daily"),
               ("remove", "group", "shops"), ("remove", "limit", "stripe")]
    assert declared.actions("--prune") == actions
    assert declared.actions("--prune", command="apply", code=0) == actions


def test_prune_spares_what_duepost_keeps_for_itself(declared):
    """A queue of QStash is a sibling topic with settings, and a URL group is one, too."""
    declared.server.request("POST", "/v2/queues", '{"queueName":"q","parallelism":2}', {"Content-Type": "application/json"}, check=False).expect(200)
    declared.server.request("POST", "/v2/topics/t/endpoints", '{"endpoints":[{"url":"https://x.example/"}]}', {"Content-Type": "application/json"}, check=False).expect(200)
    declared.write({"topics": {}, "groups": {}, "schedules": {}})
    assert declared.actions("--prune", code=0) == []


@pytest.mark.parametrize("path, kind, document", [
    ("/topics/orders", "topics", {"orders": {"rate": {"jobs": 1, "per": 1}}}), ("/limits/stripe", "limits", {"stripe": {"maxInFlight": 1}}),
    ("/schedules/reports/daily", "schedules", {"reports/daily": {"every": 60, "job": {"url": "https://x.example/"}}})])
def test_a_pause_of_an_operator_stays(declared, path, kind, document):
    declared.write({kind: document}).apply()
    declared.server.request("PATCH", path, '{"paused":true}', {"Content-Type": "application/json"}).expect(200)
    assert declared.actions(code=0) == []
    text = json.dumps({kind: document}).replace("60", "90").replace("1}", "2}")
    assert declared.write(text).actions(command="apply", code=0)[0][0] == "change"
    shown = declared.server.get(path).expect(200)
    assert shown.get("settings", shown)["paused"] is True
    name, = document
    document[name]["paused"] = False
    assert declared.write({kind: document}).actions(command="apply", code=0)[0][0] == "change"
    shown = declared.server.get(path).expect(200)
    assert shown.get("settings", shown).get("paused", False) is False


@pytest.mark.parametrize("text, error", [
    ("topics:\n  orders:\n    rate: {jobs: 1}\n", "duepost.yaml:3: topic orders: rate.per: "),
    ("topics:\n  orders:\n    url: https://x/\n    rat: 3\n", "duepost.yaml:4: topic orders: rat: unknown setting; did you mean rate?"),
    ("topics:\n  orders:\n    timeout: 99h\n", "duepost.yaml:3: topic orders: timeout: "),
    ("topics:\n  or ders: {}\n", "duepost.yaml:2: topic or ders: expected a topic"),
    ("topics:\n  orders-*: {}\n", "duepost.yaml:2: topic orders-*: expected a topic"),
    ("schedules:\n  daily: {}\n", "duepost.yaml:2: schedule daily: expected a schedule as TOPIC/ID"),
    ("schedules:\n  a/b:\n    every: 60\n    job:\n      url: https://x/\n      retry: -1\n", "duepost.yaml:6: schedule a/b: job.retry: "),
    ("topic: {}\n", "duepost.yaml:1: topic: unknown member; did you mean topics?"),
    ("topics: []\n", "duepost.yaml:1: topics: must be an object"),
    ("topics: {a: 3}\n", "duepost.yaml:1: topic a: must be an object"),
    ("groups:\n  g: {endpoints: {}}\n", "group g: endpoints"),
    ("limits:\n  a: {}\n  a: {}\n", "duepost.yaml:3: "),
    ("limits: {a: {\n", "duepost.yaml:2: "),
    ("limits: &a\n  b: {}\ntopics: *c\n", "duepost.yaml:3: "),
    ("limits: !x {}\n", "duepost.yaml:1: tags are not supported"),
    ("limits: {}\n---\nlimits: {}\n", "duepost.yaml:3: expected one document"),
    ("limits: &a {b: *a}\n", "nests too deep"),
    ("topics:\n  a:\n    note: ${NOT_THERE}\n", "duepost.yaml:3: the environment has no variable NOT_THERE"),
    ('{"limits": {}\n, "topics": {"a": {"rate":\n 3}}}', "duepost.yaml:3: topic a: rate: must be an object"),
    ('{"limits": {},\n}', "duepost.yaml:2: "),
    ("", "duepost.yaml is empty"),
    ("# nothing\n", "duepost.yaml is empty"),
    ("just a text\n", "expected an object with limits"),
])
def test_a_wrong_file_names_file_line_and_member(declared, text, error):
    declared.write(text)
    assert declared.apply(code=2) == ""
    assert error in declared.err


def test_all_errors_of_a_file_are_listed_before_anything_is_sent(declared):
    declared.write("limits:\n  a: {maxInFlight: 1}\n  b: {maxInFlight: -1}\ntopics:\n  c: {rate: 3}\n")
    declared.apply(code=2)
    assert ":3: limit b: maxInFlight: " in declared.err and ":5: topic c: rate: " in declared.err and "2 errors; nothing was sent" in declared.err
    assert declared.server.get("/limits").expect(200)["limits"] == []


def test_aliases_are_bounded(declared):
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"] + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    declared.write("\n".join(lines))
    declared.apply(code=2)
    assert "with its aliases is too large" in declared.err


def test_an_alias_is_a_copy(declared):
    declared.write("topics:\n  a: &common {maxInFlight: 3}\n  b: *common\n").apply()
    assert settings(declared.server, "a") == settings(declared.server, "b") == {"maxInFlight": 3}


def test_texts_and_variables(declared):
    declared.extra["N"] = "a\"b\\c"
    declared.write("schedules:\n  a/b:\n    every: 60\n    job:\n      url: https://x.example/\n      body: ['${N}', '$${N}', '${n-1}', '$', \"${N\", yes, 010, '1', 1e3, ~]\n").apply()
    assert declared.server.get("/schedules/a/b").expect(200)["job"]["body"] == ['a"b\\c', "${N}", "${n-1}", "$", "${N", "yes", "010", "1", 1000.0, None]
    assert "1 unchanged" in declared.diff()


def test_a_failure_in_the_middle_says_what_was_done(declared):
    """The limit of a topic does not exist, which only the server can see."""
    declared.write("topics:\n  a: {maxInFlight: 1}\n  b:\n    limit: nowhere\n  c: {maxInFlight: 1}\n")
    out = declared.apply(code=1)
    assert out.splitlines() == ["create topic a", "    maxInFlight  1", "1 created, 0 changed, 0 removed, 0 unchanged"]
    assert "duepost.yaml:3: topic b: 4" in declared.err and "nowhere" in declared.err
    declared.write("limits: {nowhere: {maxInFlight: 9}}\n" + declared.path.read_text())
    assert declared.actions(command="apply", code=0) == [("create", "limit", "nowhere"), ("create", "topic", "b"), ("create", "topic", "c")]


def test_rights(start):
    tokens = TokenFile()
    admin, reader, shop = tokens.add("admin"), tokens.add("reader", ["read"]), tokens.add("shop", ["read", "admin"], topics="shop-*")
    server = start("--tokens", str(tokens.path), token=admin)
    declared = Declared(server).write("topics:\n  shop-a: {maxInFlight: 1}\n  other: {maxInFlight: 1}\n")
    declared.extra["DUEPOST_TOKEN"] = reader
    assert len(declared.actions()) == 2
    declared.apply(code=1)
    assert "403" in declared.err
    declared.extra["DUEPOST_TOKEN"] = shop
    declared.diff(code=2)
    assert "403" in declared.err or "404" in declared.err
    declared.write("topics:\n  shop-a: {maxInFlight: 1}\n")
    assert declared.actions("--prune", command="apply", code=0) == [("create", "topic", "shop-a")]


def test_usage(declared):
    done = subprocess.run([duepost.BINARY, "apply"], capture_output=True, text=True, env=duepost.environment({"DUEPOST_SERVER": declared.server.url}))
    assert done.returncode == 2 and "expected -f FILE" in done.stderr
    declared.path = declared.path.with_name("nowhere.yaml")
    declared.diff(code=2)
    assert "cannot read" in declared.err
    declared.server.stop()
    declared.path.write_text("limits: {a: {}}\n")
    declared.diff(code=2)
    declared.apply(code=1)
