"""The documents: each command and program runs as it stands, and each link leads somewhere."""

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

# Programs in languages that script/bootstrap does not install run where their tool exists. tests/interop/documents runs all.
LANGUAGES = [language for language, command in documents.COMMANDS.items()
             if language == "python" or shutil.which(command.split()[0])]


@pytest.mark.parametrize("path", [ROOT / "README.md", *GUIDES], ids=lambda path: path.name)
def test_commands_and_programs_run(path):
    page = documents.Page(path, os.environ.get("DUEPOST_TEST_LANGUAGES", " ".join(LANGUAGES)).split())
    page.run()
    for line, *missing in page.passed_over:
        warnings.warn(f"not run here: {path.name}:{line}, there is no tool for {' '.join(missing)}; tests/interop/documents runs it", stacklevel=1)


def anchors(path):
    """As GitHub makes them from headings."""
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


def test_the_readme_names_each_guide():
    text = (ROOT / "README.md").read_text()
    assert [path.name for path in GUIDES if f"(docs/{path.name})" not in text] == []


@pytest.mark.parametrize("name", ["README.md"])
def test_an_overview_is_short(name):
    assert len((ROOT / name).read_text().splitlines()) <= 120


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
