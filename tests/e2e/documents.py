"""Runs a page of the documents: its commands and programs in their order, against the servers that the page itself
starts. A page must be written like this:

- A block marked `sh` is run by bash in a directory of the page's own. Exported variables last to the end of the page.
- A `text` block that follows an `sh` block is the output of its commands, and is compared whole. A `json` block is
such an output, too, and is compared without white space.
  Times, ids, signatures, durations and pids may differ; `…` stands for any text. Alone on a line, it stands for any
  number of lines.
- A block that only reads is repeated until it prints the expected output, for at most PATIENCE seconds.
- A command that prints "duepost listening on http://…", "receiver on http://…", "worker on http://…", "application on
  http://…", or what redis-server and PHP print when they are ready, is a server and keeps running: duepost and Redis
  to the end of the page, the others to the end of their section, or to the end of the page if no `##` came before
  them.
- `<!-- output of COMMAND -->` before a `text` block: these lines appear in the output of that server.
- `<!-- not run here: WHY -->` before an `sh` block: WHY names the file that runs or checks this block.
- A block of a programming language begins with a comment that has the name of its file. It is run at once, unless an
  `sh` block of its section names that file. If its tool is missing, the block is skipped. If an `sh` block is
  skipped, the rest of its section is skipped, too.
- `npm install` gives the packages that tests/qstash/install has fetched. Without these packages, npm counts as a
  missing tool.
- Ports of the documents become free ports of the host.
- A packaged page runs the commands that a reader of the package runs. Instead of `script/server`, it runs the last
  `duepost dev ...` that the text before the block names; instead of `script/receiver PORT`, `duepost receive PORT`. `duepost
  dev` has the receiver at port 9000, too."""

import contextlib
import dataclasses
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time
import urllib.error
import urllib.request

from duepost import BINARY, ROOT, environment
from patience import SLOW
from redis_server import free_port, release_port
import processes
import scratch

PATIENCE = 20  # seconds
PORTS = ("7700", "7701", "7702", "9000", "9001", "9002", "6379", "6380", "9090")
COMMANDS = {"python": "python3", "js": "node", "go": "go run", "php": "php", "java": "java"}
FILE_NAME = re.compile(r"(?:#|//|<\?php //|package main //) ?([\w.-]+\.(?:py|mjs|go|php|java))$")
IS_SERVER = re.compile(r"(?:duepost listening|receiver|worker|application) on https?://\S+:(\d+)\n|Ready to accept connections|Development Server \(\S+\) started")
IS_LISTENING = re.compile(r"duepost listening on https?://\S+:(\d+)\n")
ONLY_READS = re.compile(r"(duepost (show|why|dead|jobs|attempts|topics|receivers|history export)\b|curl -s http|sleep |(cat|sort|tail -n 1) \S+$)")
VARIES = [(re.compile(pattern), word) for pattern, word in [
    (r"\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)", "<time>"),
    (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?", "<time>"),
    (r"\b\d\d:\d\d:\d\d\.\d{3}Z?", "<clock>"),
    (r"\bmsg_[0-9a-f]{32}", "<message>"),
    (r"\bv1,[A-Za-z0-9+/]{43}=", "<signature>"),
    (r"\b[0-9a-f]{16,64}\b", "<hex>"),
    (r"\b1[789]\d{11}\b", "<ms>"),
    (r"\b1[789]\d{8}\b", "<s>"),
    (r'("durationMs": ?|\b(?:late_)?ms=|\bpid=)\d+', r"\1<n>"),
    (r"\b(?:\d+ (?:d|h|min) )*\d+(?:\.\d+)? (?:ms|s|min|h|d)\b", "<duration>"),
    (r"\bdue (?:now|in <duration>|<duration> ago)", "due <when>"),
    (r" {2,}", "  "),
]]


@dataclasses.dataclass
class Block:
    line: int
    section: int
    language: str
    directive: str
    text: str

    @property
    def file_name(self):
        match = FILE_NAME.match(self.text.split("\n", 1)[0])
        return match and match[1]


def blocks(path):
    found, section, directive, lines = [], 0, "", path.read_text().splitlines()
    number = 0
    while number < len(lines):
        line = lines[number]
        if line.startswith("## "):
            section += 1
        match = re.fullmatch(r"```(\w*)", line)
        if match:
            end = lines.index("```", number + 1)
            found.append(Block(number + 1, section, match[1], directive, "\n".join(lines[number + 1:end]) + "\n"))
            number = end
        if line.strip():
            comment = re.fullmatch(r"<!-- (.*) -->", line)
            directive = comment[1] if comment else ""
        number += 1
    return found


def generalised(text):
    for pattern, word in VARIES:
        text = pattern.sub(word, text)
    return text


def matches(expected, actual, is_json):
    """Returns whether actual matches the output on the page."""
    expected, actual = generalised(expected), generalised(actual)
    if is_json:
        expected, actual = re.sub(r"\s+", "", expected), re.sub(r"\s+", "", actual)
        return re.fullmatch(re.escape(expected).replace("…", ".*"), actual, re.S)
    pattern = "\n".join(r"(?:.*\n)*?(?:.*)" if line.strip() == "…" else re.escape(line.rstrip()).replace("…", ".*")
                        for line in expected.rstrip("\n").split("\n"))
    return re.fullmatch(pattern, "\n".join(line.rstrip() for line in actual.rstrip("\n").split("\n")))


@dataclasses.dataclass
class Server:
    process: subprocess.Popen
    output: pathlib.Path
    command: str
    section: int
    port: str
    is_dev: bool
    read_to: int = 0

    def end(self):
        """Ends all processes of the server's group, because the shell that started the server ends before the
        server does. A second SIGTERM ends a duepost at once."""
        deadline = time.monotonic() + 20 * SLOW
        while pids := processes.members_of(self.process.pid):
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGTERM if time.monotonic() < deadline else signal.SIGKILL)
            time.sleep(0.02)
        self.process.wait()


class Page:
    def __init__(self, path, languages, is_packaged=False):
        """languages: the programming languages whose programs are run on this host."""
        self.path, self.blocks, self.languages, self.is_packaged = path, blocks(path), set(languages), is_packaged
        self.place = scratch.directory("page")
        self.tree, self.programs, self.home = self.place / "duepost", self.place / "bin", self.place / "home"
        self.ports = {name: str(free_port()) for name in PORTS}
        self.servers, self.passed_over, self.left_out = [], [], None
        self._make_tree()
        self.environment = environment({
            "PATH": f"{self.programs}:{os.environ['PATH']}", "HOME": str(self.home), "LC_ALL": "C.UTF-8",
            "DUEPOST_LISTEN": f"127.0.0.1:{self.ports['7700']}", "DUEPOST_SERVER": f"http://127.0.0.1:{self.ports['7700']}",
            **self._go_caches()})

    def _make_tree(self):
        """Makes a copy of the source tree, so that the page writes nothing into the real tree. In the copy, the
        scripts that install and build do nothing."""
        for directory in self.tree / "build/release", self.programs, self.home:
            directory.mkdir(parents=True)
        for name in ("api", "config", "docker", "docs", "src", "tests", "README.md"):
            (self.tree / name).symlink_to(ROOT / name)
        shutil.copytree(ROOT / "script", self.tree / "script")
        for name in ("bootstrap", "build"):
            (self.tree / "script" / name).write_text("#!/bin/sh\n")
        receiver = self.tree / "script/receiver"
        receiver.write_text(self._in_ports(receiver.read_text()))
        (self.tree / "build/release/duepost").symlink_to(BINARY)
        (self.programs / "duepost").symlink_to(BINARY)
        npm = self.programs / "npm"
        npm.write_text(f"#!/bin/sh\nln -s {ROOT}/build/qstash-clients/node_modules\n")
        npm.chmod(0o755)
        (self.programs / "python3").symlink_to("/usr/bin/python3")

    @staticmethod
    def _go_caches():
        if not shutil.which("go"):
            return {}
        names = ("GOCACHE", "GOPATH")
        values = subprocess.run(["go", "env", *names], capture_output=True, text=True, check=True).stdout.split("\n")
        return {**dict(zip(names, values)), "GOTOOLCHAIN": "local"}

    # ---- each port in the text of a page stands for a free port of the host ----

    def _in_ports(self, text):
        return re.sub(r"\b(%s)\b" % "|".join(PORTS), lambda match: self.ports[match[1]], text)

    def _in_document(self, text):
        for name, port in self.ports.items():
            text = re.sub(rf"\b{port}\b", name, text)
        return text.replace(str(self.tree), "/home/ada/duepost").replace(str(self.home), "/home/ada").replace(str(self.place), "/tmp")

    def _fail(self, block, what):
        logs = "".join(f"\n--- {server.command}:\n{server.output.read_text()[-1500:]}" for server in self.servers)
        raise AssertionError(f"{self.path.name}:{block.line}: {what}{logs}")

    # ---- running ----

    def run(self):
        try:
            for index, block in enumerate(self.blocks):
                for server in [each for each in self.servers if each.section not in (0, block.section)]:
                    self._end(server)
                after = self.blocks[index + 1] if index + 1 < len(self.blocks) else None
                self._run_block(block, after)
        finally:
            for server in reversed(list(self.servers)):
                self._end(server)
            for port in self.ports.values():
                release_port(int(port))

    def _end(self, server):
        self.servers.remove(server)
        server.end()

    def _run_block(self, block, after):
        if block.section == self.left_out:
            return
        if block.directive.startswith("not run here: "):
            self._check_is_run_elsewhere(block)
        elif block.language == "sh":
            self._run_commands(block, self._output_of(block, after))
        elif block.language in COMMANDS:
            self._run_program(block)
        elif block.directive.startswith("output of "):
            self._await_lines(block)

    @staticmethod
    def _output_of(block, after):
        is_output = after and after.language in ("text", "json") and not after.directive and after.section == block.section
        return after if is_output else None

    def _check_is_run_elsewhere(self, block):
        places = re.findall(r"[\w./-]+", block.directive.removeprefix("not run here: "))
        if not any("/" in place and (ROOT / place).exists() for place in places):
            self._fail(block, f"'{block.directive}' names no file of the tree")

    def _needs(self, text):
        """Returns the languages of the programs that these commands run, and npm if they use it."""
        found = {language for language, command in COMMANDS.items()
                 if re.search(rf"^{command.split()[0]} .*\.(py|mjs|go|php|java)\b", text, re.M)}
        return found | ({"npm"} if re.search("^npm install ", text, re.M) else set())

    def _run_commands(self, block, expected):
        missing = self._needs(block.text) - self.languages
        if missing:
            self.passed_over.append((block.line, *missing))
            self.left_out = block.section if block.language == "sh" else None
            return
        deadline = time.monotonic() + PATIENCE * SLOW
        reads = [line for line in block.text.splitlines() if line and line[0] not in " '})#"]
        repeats = expected and all(ONLY_READS.match(line) for line in reads)
        while True:
            status, output = self._bash(block)
            fits = not expected or matches(expected.text, output, expected.language == "json")
            if fits and status in (0, None):
                return
            if not repeats or time.monotonic() > deadline:
                break
            time.sleep(0.05)
        self._fail(block, f"exit status {status}, printed:\n{output}" + ("" if fits else f"not:\n{expected.text}"))

    def _packaged(self, block):
        """Returns the text of a block with the command of the package instead of script/server or script/receiver."""
        script, _, words = block.text.strip().partition(" ")
        if not self.is_packaged or script not in ("script/server", "script/receiver"):
            return block.text
        if script == "script/receiver":
            return f"duepost receive {words}\n"
        before = "\n".join(self.path.read_text().splitlines()[:block.line])
        named = re.findall(r"`(duepost dev\b[^`]*)`", before)
        if not named or (words and words not in named[-1]):
            self._fail(block, "the text before it does not name the command of the package, duepost dev")
        command, _, options = named[-1].partition(" -- ")
        place = "" if "--receiver-listen" in command else " --receiver-listen 127.0.0.1:9000"
        return f"{command}{place} -- --listen 127.0.0.1:7700 {options}\n"

    def _bash(self, block):
        """Returns (exit status, output). If the block starts a server, which keeps running, the status is None."""
        text = self._packaged(block)
        if text == "duepost receive \n" and (dev := next((each for each in self.servers if each.is_dev), None)):
            self.servers.append(dataclasses.replace(dev, command=block.text.strip()))
            return None, ""
        variables = self.place / "variables"
        script = self.place / "script"
        script.write_text(f"[ ! -e {variables} ] || . {variables}\nset -euo pipefail\n{self._in_ports(text)}\n"
                          f"declare -px | grep -vE '^declare -x (PWD|OLDPWD|SHLVL)=' >{variables}\n")
        output = scratch.file("output")
        with output.open("w") as out:
            process = subprocess.Popen(["bash", script], cwd=self.tree, env=self.environment, stdin=subprocess.DEVNULL,
                                       stdout=out, stderr=subprocess.STDOUT, start_new_session=True)
        deadline = time.monotonic() + 180 * SLOW  # long, because Go compiles its standard library at the first run
        while process.poll() is None:
            is_dev = text.startswith("duepost dev")
            match = (IS_LISTENING if is_dev else IS_SERVER).search(output.read_text(errors="replace"))
            if match:
                self._keep(Server(process, output, block.text.strip(), block.section, match[1], is_dev))
                return None, self._in_document(output.read_text(errors="replace"))
            if time.monotonic() > deadline:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                self._fail(block, f"does not end:\n{output.read_text(errors='replace')}")
            time.sleep(0.01)
        return process.returncode, self._in_document(output.read_text(errors="replace"))

    def _keep(self, server):
        self.servers.append(server)
        output = server.output.read_text()
        if re.search("duepost listening on|Ready to accept connections", output):
            server.section = 0
        if "duepost listening on" in output:
            self._await_ready(server)

    def _await_ready(self, server):
        deadline = time.monotonic() + PATIENCE * SLOW
        while True:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/readyz", timeout=5 * SLOW):
                    return
            except (urllib.error.HTTPError, OSError):
                assert time.monotonic() < deadline, f"{server.command} does not get ready:\n{server.output.read_text()}"
                time.sleep(0.02)

    def _run_program(self, block):
        if not block.file_name:
            self._fail(block, "the first line of a program is a comment with the name of its file")
        (self.tree / block.file_name).write_text(self._in_ports(block.text))
        is_named = any(other.language == "sh" and other.section == block.section and block.file_name in other.text
                       for other in self.blocks)
        if not is_named:
            command = f"{COMMANDS[block.language]} {block.file_name}\n"
            self._run_commands(dataclasses.replace(block, text=command), None)

    def _await_lines(self, block):
        command = block.directive.removeprefix("output of ")
        server = next((server for server in reversed(self.servers) if server.command == command), None)
        if not server:
            self._fail(block, f"there is no server {command}")
        deadline = time.monotonic() + PATIENCE * SLOW
        wanted = ".*" + "(?:.*\n)*?.*".join(re.escape(generalised(line.strip())).replace("…", ".*")
                                            for line in block.text.strip().split("\n"))
        while True:
            came = generalised(self._in_document(server.output.read_text(errors="replace"))[server.read_to:])
            if re.search(wanted, came):
                server.read_to = len(self._in_document(server.output.read_text(errors="replace")))
                return
            if time.monotonic() > deadline:
                self._fail(block, f"{command} did not print\n{block.text}")
            time.sleep(0.02)
