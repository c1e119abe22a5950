"""The documents: each command and program runs as it stands, and each link leads somewhere."""

import os
import re
import shutil
import subprocess

import pytest

import documents
from duepost import ROOT

GUIDES = sorted((ROOT / "docs").glob("*.md"))
PAGES = [ROOT / name for name in ("README.md", "SECURITY.md", "src/README.md")] + GUIDES

# What script/bootstrap does not bring is run where it is there. tests/interop/documents takes all of them.
LANGUAGES = [language for language, command in documents.COMMANDS.items()
             if language == "python" or shutil.which(command.split()[0])]


@pytest.mark.parametrize("path", GUIDES, ids=lambda path: path.name)
def test_commands_and_programs_run(path):
    page = documents.Page(path, os.environ.get("DUEPOST_TEST_LANGUAGES", " ".join(LANGUAGES)).split())
    page.run()
    for passed_over in page.passed_over:
        print("not run here:", path.name, *passed_over)


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


@pytest.mark.parametrize("picture", sorted((ROOT / "docs").glob("*.picture")), ids=lambda path: path.name)
def test_pictures_are_drawn_from_their_text(picture):
    done = subprocess.run([ROOT / "script" / "draw", "--check", picture], capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 0, done.stderr
