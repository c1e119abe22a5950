"""The README's first two curl lines work as they stand."""

import json
import re
import subprocess
import time

from duepost import LOOPBACK, ROOT, environment
from patience import SLOW, until
from timestamp import to_ms


def curl_lines():
    """The commands of the README's sh blocks that begin with curl, continued lines joined."""
    blocks = re.findall(r"^```sh\n(.*?)^```", (ROOT / "README.md").read_text(), re.M | re.S)
    commands, open_quote = [], False
    for line in "\n".join(blocks).replace("\\\n", " ").splitlines():
        if open_quote:
            commands[-1] += "\n" + line
        elif line.startswith("curl "):
            commands.append(line)
        else:
            continue
        open_quote = commands[-1].count("'") % 2 == 1
    return commands


def test_the_first_two_curl_lines(start, receiver):
    server = start(allow=LOOPBACK + ",localhost")
    commands = curl_lines()[:2]
    assert len(commands) == 2, "the README has no two curl lines"
    answers = []
    for command in commands:
        command = re.sub(r"(http://)?(127\.0\.0\.1|localhost|\[::1\]):7700", server.url, command)
        command = re.sub(r"http://(127\.0\.0\.1|localhost|\[::1\]):(?!%d\b)\d+" % server.port, receiver.url(""), command)
        command = command.replace("curl ", "curl -sS --fail-with-body ", 1)
        result = subprocess.run(["bash", "-c", command], env=environment(), capture_output=True, text=True, timeout=20 * SLOW, check=False)
        assert result.returncode == 0, (command, result.stdout, result.stderr)
        answers.append(result.stdout)
    found = [re.search(r"\{.*\}", answer, re.S) for answer in answers]
    jobs = [json.loads(match[0]) for match in found if match]
    jobs = [job for job in jobs if "jobId" in job and "dueAt" in job]
    assert jobs, answers
    due = to_ms(jobs[0]["dueAt"])
    wait = max(0, due / 1000 - time.time())
    assert wait < 15, "nobody waits that long for a first callback"
    until(lambda: receiver.of(jobs[0]["topic"], jobs[0]["jobId"]), wait + 2, "the callback")
    assert 0 <= receiver.of(jobs[0]["topic"], jobs[0]["jobId"])[0].at_ms - due < 1000 * SLOW
