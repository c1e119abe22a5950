"""The documents: each command and program runs exactly as it is shown, and each link has a target."""

import base64
import hashlib
import hmac
import os
import re
import shutil
import subprocess
import warnings

import pytest
import yaml

import documents
from duepost import BINARY, ROOT

GUIDES = sorted((ROOT / "docs").glob("*.md"))
PAGES = [ROOT / name for name in ("README.md", "SECURITY.md", "CONTRIBUTING.md", "src/README.md")] + GUIDES

# Python programs always run. Programs in other languages run if their tool is installed here. tests/interop/documents
# runs all programs.
LANGUAGES = [language for language, command in documents.COMMANDS.items()
             if language == "python" or shutil.which(command.split()[0])]


@pytest.mark.parametrize("path", [ROOT / "README.md", *GUIDES], ids=lambda path: path.name)
def test_commands_and_programs_run(path):
    page = documents.Page(path, os.environ.get("DUEPOST_TEST_LANGUAGES", " ".join(LANGUAGES)).split())
    page.run()
    for line, *missing in page.passed_over:
        warnings.warn(f"not run here: {path.name}:{line}, there is no tool for {' '.join(missing)}; tests/interop/documents runs it", stacklevel=1)


@pytest.mark.parametrize("path", [path for path in GUIDES if "```sh\nscript/server" in path.read_text()], ids=lambda path: path.name)
def test_commands_run_with_only_the_package(path):
    documents.Page(path, ["python"], is_packaged=True).run()


def anchors(path):
    """Returns the anchors that GitHub creates from headings."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```", "", path.read_text(), flags=re.M | re.S), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path):
    for target in re.findall(r"\]\(([^)\s]+)\)|srcset=\"([^\"]+)\"", path.read_text()):
        target = target[0] or target[1]
        if re.match(r"https?://|mailto:", target):
            continue
        name, _, anchor = target.partition("#")
        there = (path.parent / name).resolve() if name else path
        assert there.exists(), f"{path.name}: {target}"
        assert not anchor or anchor in anchors(there), f"{path.name}: {target}"


def helps():
    def of(*words):
        return subprocess.run([BINARY, *words], capture_output=True, text=True, timeout=30, check=True).stdout
    commands = re.findall(r"^  ([a-z]\S*) ", of("help"), re.M)
    return commands, of("--help") + "".join(of(command, "-h") for command in commands if command != "help")


# OTHER_OPTIONS are the options in the documents that the help of duepost does not have. They belong to script/test,
# script/receiver and apt-get, except for --print-reference and --print-man, which the help leaves out.
TABLES = {"duepost_audit", "duepost_jobs", "duepost_labels", "duepost_meta"}  # the documents also name these tables of the history, with OTHERS
OTHERS = ("duepost_outbox", "duepost_relay", "duepost_server")  # tables and metrics of the outbox; a fixture of the client for Python
OTHER_OPTIONS = {"--all", "--ask", "--no-install-recommends", "--print-man", "--print-reference", "--without-image"}


def test_commands_options_and_metrics_that_are_named_exist(server):
    commands, text = helps()
    options = set(re.findall(r"--[a-z][a-z-]+", text)) | OTHER_OPTIONS
    metrics = set(re.findall(r"^# TYPE (\w+)", server.get("/metrics").body.decode(), re.M)) | TABLES
    for path in PAGES:
        prose = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.M | re.S)
        for code in re.findall(r"`([^`]+)`", prose):
            named = re.match(r"duepost ([a-z][\w-]*)", code)
            assert not named or named[1] in commands, f"{path.name}: {code}"
            if code.startswith(("--", "duepost ")):
                assert not (unknown := set(re.findall(r"--[a-z][a-z-]+", code)) - options), f"{path.name}: {unknown}"
            metric = re.match(r"(duepost_[a-z_]+)", code)
            assert not metric or metric[1] in metrics or metric[1].startswith(OTHERS), f"{path.name}: {code}"


def test_the_readme_names_each_guide():
    text = (ROOT / "README.md").read_text()
    assert [path.name for path in GUIDES if f"(docs/{path.name})" not in text] == []


@pytest.mark.parametrize("name, lines", [("README.md", 110), ("src/README.md", 120)])
def test_an_overview_is_short(name, lines):
    assert len((ROOT / name).read_text().splitlines()) <= lines


@pytest.mark.parametrize("picture", sorted((ROOT / "docs").glob("*.picture")), ids=lambda path: path.name)
def test_pictures_are_drawn_from_their_text(picture):
    done = subprocess.run([ROOT / "script" / "draw", "--check", picture], capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 0, done.stderr


def test_the_kubernetes_manifest_starts_a_duepost_that_its_probes_like(redis, start, tmp_path):
    manifests = list(yaml.safe_load_all((ROOT / "docker" / "kubernetes.yaml").read_text()))
    deployment = next(each for each in manifests if each["kind"] == "Deployment")["spec"]
    service = next(each for each in manifests if each["kind"] == "Service")["spec"]
    container, = deployment["template"]["spec"]["containers"]
    port, = container["ports"]
    assert service["ports"][0]["targetPort"] == port["name"]
    assert service["selector"].items() <= deployment["template"]["metadata"]["labels"].items() == deployment["selector"]["matchLabels"].items()
    variables = {each["name"]: each["value"] for each in container["env"]}
    assert variables.pop("DUEPOST_LISTEN").endswith(f":{port['containerPort']}")
    (tmp_path / "tokens").write_text(subprocess.run([BINARY, "token", "new", "shop", "scopes=read"], capture_output=True, text=True,
                                                    check=True).stdout.splitlines()[-1] + "\n")
    (tmp_path / "redis-password").write_text("secret\n")
    mount, = container["volumeMounts"]
    variables = {name: value.replace(mount["mountPath"], str(tmp_path)) for name, value in variables.items()}
    node = redis(tcp=True, password="secret")
    assert variables.pop("DUEPOST_REDIS") == "redis://redis:6379/0"
    server = start(redis=f"redis://{node.place}/0", allow=None, extra=variables, listen="0.0.0.0:0")
    for probe in "livenessProbe", "readinessProbe":
        target = container[probe]["httpGet"]
        assert target["port"] == port["name"]
        assert server.get(target["path"]).status == 200


@pytest.mark.parametrize("path", [ROOT / "README.md", *GUIDES], ids=lambda path: path.name)
def test_each_output_that_a_page_shows_is_compared(path):
    """Each text or json block follows the commands whose output it shows, or names the server that prints it."""
    before = None
    for block in documents.blocks(path):
        if block.language in ("text", "json"):
            is_output = before and before.language == "sh" and before.section == block.section and not before.directive
            assert is_output or block.directive.startswith("output of "), f"{path.name}:{block.line}"
        assert block.language in {"sh", "text", "json", "http", "nginx", "haproxy", "caddy", "sql", "mongosh", "yaml", *documents.COMMANDS}, f"{path.name}:{block.line}"
        before = block


def test_the_request_that_the_guide_to_receivers_shows_is_signed():
    text = (ROOT / "docs" / "receivers.md").read_text()
    head, body = re.search(r"^```http\n(.*?)\n\n(.*?)\n```", text, re.M | re.S).groups()
    headers = dict(line.split(": ", 1) for line in head.split("\n")[1:])
    key = base64.b64decode(re.search(r"Here the key is `whsec_([^`]+)`", text)[1])
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.{body}"
    assert headers["webhook-signature"] == "v1," + base64.b64encode(hmac.digest(key, signed.encode(), hashlib.sha256)).decode()


def test_the_guides_are_complete():
    """The guides describe each key in Redis, each setting of a topic, each reason of a death, and each answer of GET
    /jobs/.../why."""
    guides = {path.name: path.read_text() for path in GUIDES}
    contract = yaml.safe_load((ROOT / "api" / "openapi.yaml").read_text())
    schemas = contract["components"]["schemas"]
    why = contract["paths"]["/jobs/{topic}/{jobId}/why"]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
    scripts = "".join(path.read_text() for path in (ROOT / "src" / "store" / "scripts").rglob("*.lua"))
    wanted = {
        "redis.md": set(re.findall(r"\bbase \.\. '([a-z_]+)", scripts)) - {"never"},  # check.lua: the name of a key that never exists
        "topics.md": set(schemas["Settings"]["properties"]) | set(schemas["Job"]["properties"]["reason"]["enum"]),
        "repair.md": set(why["properties"]["why"]["enum"]),
    }
    missing = {(name, word) for name, words in wanted.items() for word in words if not re.search(rf"`{word}\b", guides[name])}
    assert missing == set()


# Each line of docs/limits.md begins with the first text and has the second one: the bound of the contract, at this path below its schemas.
BOUNDS = [
    ("`jobId`", "{} bytes", "OwnJobId.maxLength"), ("`key`", "{} bytes", "LaneKey.maxLength"), ("`url`", "{} bytes", "NewJob.url.maxLength"),
    ("`headers`", "{},", "NewJob.headers.maxProperties"), ("`labels`", "{}, of", "NewJob.labels.maxItems"), ("`labels`", "of {} bytes", "Label.maxLength"),
    ("`retry`", "{} retries", "NewJob.retrySchedule.maxItems"), ("`timeout`", "1 hour", "NewJob.timeout.maximum=3600"),
    ("`priority`", "0 to {}", "NewJob.priority.maximum"), ("page of a list", "{} jobs", "JobList.jobs.maxItems"),
    ("jobs of one lease", "{} |", "NewLease.max.maximum"), ("a worker's lease", "12 hours", "NewLease.lease.maximum=43200"),
    ("`rate`", "{} jobs", "Rate.jobs.maximum"), ("`rate`", "7 days", "Rate.per.maximum=604800"), ("`batch`", "{} jobs", "Batch.size.maximum"),
    ("`batch`", "4 MiB", "Batch.maxBytes.maximum=4194304"), ("`batch`", "60 s", "Batch.wait.maximum=60"), ("`secrets`", "{} |", "Settings.secrets.maxItems"),
    ("`windows`", "{} |", "NewSchedule.windows.maxItems"), ("endpoints of a group", "{} |", "Group.endpoints.maxProperties"),
    ("steps of a workflow", "{} |", "Workflow.elements.maxItems"), ("`retention`", "90 days", "Settings.retention.maximum=7776000"),
    ("jobs in one", "{},", "JobResults.results.maxItems"),
]


@pytest.mark.parametrize("line, shown, path", BOUNDS, ids=lambda text: text.strip("`"))
def test_the_page_of_limits_has_the_bounds_of_the_contract(line, shown, path):
    path, _, expected = path.partition("=")
    name, *members, bound = path.split(".")
    schema = yaml.safe_load((ROOT / "api" / "openapi.yaml").read_text())["components"]["schemas"][name]
    for member in members:
        schema = schema["properties"][member]
    assert not expected or schema[bound] == int(expected)
    rows = [row for row in (ROOT / "docs" / "limits.md").read_text().splitlines() if row.startswith(f"| {line}")]
    assert any(shown.format(f"{schema[bound]:,}") in row for row in rows), (rows, schema[bound])
