"""config/alerts.yml: each alert fires when it should, uses only metrics that /metrics has, and has a runbook."""

import re
import shutil
import subprocess

import pytest

from duepost import ROOT

ALERTS = (ROOT / "config" / "alerts.yml").read_text()
RUNBOOKS = (ROOT / "docs" / "alerts.md").read_text()


def promtool():
    found = shutil.which("promtool", path=f"{ROOT / 'build' / 'tools'}:/usr/bin")
    if not found:
        pytest.skip("there is no promtool; script/bootstrap brings it")
    return found


def test_promtool_takes_the_alerts(tmp_path):
    shutil.copy(ROOT / "config" / "alerts.yml", tmp_path)
    shutil.copy(ROOT / "tests" / "e2e" / "alerts_test.yml", tmp_path)
    for words in (["check", "rules", "alerts.yml"], ["test", "rules", "alerts_test.yml"]):
        done = subprocess.run([promtool(), *words], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def test_each_alert_is_tested_and_has_a_runbook():
    alerts = re.findall(r"- alert: (\w+)", ALERTS)
    tested = set(re.findall(r"alertname: (\w+)", (ROOT / "tests" / "e2e" / "alerts_test.yml").read_text()))
    assert len(alerts) == len(set(alerts)) and set(alerts) == tested
    assert re.findall(r"runbook: docs/alerts\.md#(\w+)", ALERTS) == [alert.lower() for alert in alerts]
    assert re.findall(r"^## (\w+)$", RUNBOOKS, re.MULTILINE) == alerts


def test_alerts_ask_for_metrics_that_exist(server, outbox_metrics):
    server.schedule(topic="alerts", jobId="a", url="http://127.0.0.1:9/", retry=0)
    server.wait_for_state("alerts", "a", "dead")
    told = set(re.findall(r"^(\w+)", server.get("/metrics").body.decode(), re.MULTILINE))
    asked = set(re.findall(r"\bduepost_\w+", ALERTS))
    assert asked and asked <= told | set(re.findall(r"^(\w+)", outbox_metrics, re.MULTILINE))
