"""Paths: the build to test, and the folders whose modules are shared."""

import os
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[1]
BUILD = pathlib.Path(os.environ.get("FAULT_BUILD", ROOT / "build" / "fault"))
BINARY = BUILD / "duepost"


def _source():
    cache = BUILD / "CMakeCache.txt"
    found = re.search(r"^CMAKE_HOME_DIRECTORY:INTERNAL=(.*)$", cache.read_text(), re.M) if cache.exists() else None
    return pathlib.Path(found[1]) if found else ROOT


SCRIPTS = _source() / "src" / "store" / "scripts"

for folder in (ROOT / "tests" / "e2e", ROOT / "tests" / "model"):
    sys.path.append(str(folder))


def tool(name):
    """Returns the path of a program or preload of the tests."""
    return str(BUILD / "tests" / "fault" / name)
