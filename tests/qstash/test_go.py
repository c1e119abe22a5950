"""The unmodified client for Go: each test of tests/qstash/go."""

import os
import re
import subprocess

import pytest

from conftest import CLIENTS, HERE
from patience import SLOW

SOURCES = HERE / "go"
TESTS = [name for file in sorted(SOURCES.glob("*_test.go")) for name in re.findall(r"^func (Test\w+)\(", file.read_text(), re.MULTILINE)]


@pytest.fixture(scope="module")
def tests(tmp_path_factory):
    """Builds the tests with the modules that tests/qstash/install has fetched. A newer Go may have to
    change versions in go.mod, so the build uses copies of go.mod and go.sum."""
    folder = tmp_path_factory.mktemp("go")
    for name in "go.mod", "go.sum":
        (folder / name).write_bytes((SOURCES / name).read_bytes())
    program = folder / "tests"
    subprocess.run(["go", "test", "-mod=mod", f"-modfile={folder / 'go.mod'}", "-c", "-o", program, "."], cwd=SOURCES, check=True, timeout=100 * SLOW,
                   env={**os.environ, "GOMODCACHE": str(CLIENTS / "go"), "GOPROXY": "off", "GOTOOLCHAIN": "local", "GOFLAGS": ""})
    return program


@pytest.mark.parametrize("name", TESTS)
def test_go(tests, server, name):
    run = subprocess.run([tests, "-test.v", "-test.run", f"^{name}$"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60 * SLOW,
                         env={**os.environ, "QSTASH_URL": server.url, "QSTASH_TOKEN": "any", "DUEPOST_TEST_SLOW": str(SLOW)})
    assert run.returncode == 0 and f"--- PASS: {name}".encode() in run.stdout, run.stdout.decode()
