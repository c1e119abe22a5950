"""The guide to workflows: its commands and programs run exactly as they are shown, with the unmodified clients."""

import documents
from duepost import ROOT


def test_the_guide_to_workflows_runs():
    page = documents.Page(ROOT / "docs/workflows.md", ["python", "js", "npm"])
    page.run()
    assert page.passed_over == []
