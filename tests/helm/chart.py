"""The chart in config/helm and its manifests, for tests/helm/run and tests/e2e/test_helm.py."""

import hashlib
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHART = ROOT / "config/helm"
HERE = ROOT / "tests/helm"
RENDERED = HERE / "rendered"
EXAMPLES = sorted(path.stem for path in (CHART / "examples").glob("*.yaml"))
RELEASE = "jobs"
TOKEN = "dp_" + "0" * 61  # the token whose digest is in tests/helm/tokens
# Manifests that only quote these files are not stored in tests/helm/rendered, because the files change more often
# than the chart. values.schema.json changes with each new option, and does not affect the rendered manifests.
QUOTED = ("alerts.yml", "grafana.json")
QUOTING = ("ConfigMap", "PrometheusRule")
NOT_RENDERED = (*QUOTED, "values.schema.json")


def arguments(example):
    """Returns the arguments of helm for an example, except the path of the chart."""
    found = ["--values", str(CHART / "examples" / f"{example}.yaml")]
    if example == "private-redis":
        found += ["--set-file", f"secret.data.tokens={HERE / 'tokens'}"]
    return found


def digest():
    """Returns the SHA-256 of the files from which the manifests are rendered."""
    sums = hashlib.sha256()
    for path in sorted([*CHART.rglob("*"), HERE / "tokens"]):
        if path.is_file() and path.name not in NOT_RENDERED:
            sums.update(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes() + b"\0")
    return sums.hexdigest()


def head():
    return f"# Written by tests/helm/run --write from a chart with the SHA-256 {digest()}\n"
