"""Options from flags, the environment and a file. Invalid options prevent the start."""

import os
import pathlib
import re
import subprocess

import pytest

from duepost import ROOT, run
from patience import until

NEXT = os.environ.get("DUEPOST_NEXT", str(ROOT / "build" / "next" / "duepost"))
NAMES = """listen tokens tls-cert tls-key health-listen share-port redis redis-password-file sentinel-user sentinel-password-file shards data embedded-server config clock durability trust-durability history history-bodies history-max-age
history-max-bytes history-backlog outbox reactors max-in-flight
max-in-flight-topic max-body max-jobs dead-max dead-max-age max-connections max-connections-per-address max-waiting max-bodies header-timeout body-timeout answer-timeout
idempotency-window retry-schedule allow-target egress-proxy receiver-ca prefix log log-format log-level drain-timeout help version print-config""".split()


def configured(*options, extra=None):
    result = run("--print-config", *options, extra=extra)
    assert result.returncode == 0, result.stderr
    return dict(re.findall(r"^([a-z-]+) = (.*)$", result.stdout, re.M))


def test_help_names_every_option():
    result = run("--help")
    assert result.returncode == 0 and result.stderr == ""
    assert [name for name in NAMES if not re.search(rf"--{name}\b", result.stdout)] == []


def test_the_short_help_is_the_help():
    for words in (["-h"], ["--log", "json", "-h"]):
        result = run(*words)
        assert result.returncode == 0 and result.stdout == run("--help").stdout, result.stderr


LIBRARIES = "libmicrohttpd", "GnuTLS", "libcurl", "libev", "hiredis", "OpenSSL", "jansson", "SQLite", "libpq", "libyaml", "libmongoc"


def test_version():
    result = run("--version")
    first, commit, *libraries = result.stdout.splitlines()
    assert result.returncode == 0 and re.fullmatch(r"duepost \d+\.\d+\.\d+", first)
    assert re.fullmatch(r"commit ([0-9a-f]{12}(-dirty)?|unknown|[\w.+-]+)", commit)
    assert sorted(line.split()[0] for line in libraries) == sorted(LIBRARIES)
    assert all(re.fullmatch(r"\S+ \d+(\.\d+)+\S*", line) for line in libraries), libraries


@pytest.mark.parametrize("path,pattern", [
    ("CMakeLists.txt", r"project\(duepost VERSION (\S+)"), ("api/openapi.yaml", r"(?m)^  version: (.+)$"), ("docker/kubernetes.yaml", r"/duepost:(\S+)"),
    ("docs/receivers.md", r"User-Agent: duepost/(\S+)")])
def test_files_show_the_version_of_the_binary(path, pattern):
    version = run("--version").stdout.split()[1]
    assert set(re.findall(pattern, (ROOT / path).read_text())) == {version}


def git(folder, *words):
    return subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@t", *words], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


def test_the_commit_comes_from_git_if_the_sources_are_a_repository(tmp_path):
    def header(folder, *options):
        subprocess.run(["cmake", f"-DSOURCE={folder}", f"-DOUTPUT={out}", *options, "-P", ROOT / "src/server/commit.cmake"], check=True)
        return re.fullmatch(r'#define DUEPOST_COMMIT "(.*)"\n', out.read_text())[1]
    out, outer = tmp_path / "commit.h", tmp_path / "outer"
    (outer / "tarball").mkdir(parents=True)
    (outer / "file").write_text("1")
    assert header(outer) == "unknown"
    git(outer, "init", "--quiet")
    assert header(outer) == "unknown", "no commit yet"
    git(outer, "add", "file")
    git(outer, "commit", "--quiet", "--message", "first")
    commit = git(outer, "rev-parse", "HEAD")[:12]
    git(outer, "tag", "-a", "v1", "-m", "a tag changes nothing")
    assert header(outer) == commit
    written = out.stat().st_mtime_ns
    assert header(outer) == commit and out.stat().st_mtime_ns == written, "nothing is compiled again"
    (outer / "file").write_text("2")
    assert header(outer) == f"{commit}-dirty"
    assert header(outer / "tarball") == "unknown", "the repository around the sources is another one"
    assert header(outer / "tarball", "-DCOMMIT=1a2b3c") == "1a2b3c"
    assert header(outer / "tarball", '-DCOMMIT=a"b') == "unknown"


def test_a_flag_wins_over_the_environment_and_that_over_the_file(tmp_path):
    file = tmp_path / "duepost.conf"
    file.write_text("# a comment\nmax-in-flight = 11\nmax-jobs = 11\nmax-body = 11\n")
    found = configured("--config", str(file), "--max-in-flight", "33", extra={"DUEPOST_MAX_IN_FLIGHT": "22", "DUEPOST_MAX_JOBS": "22"})
    assert (found["max-in-flight"], found["max-jobs"], found["max-body"]) == ("33", "22", "11")
    assert found["max-in-flight-topic"] == "256"


def test_an_address_may_have_a_quarter_of_the_connections():
    assert configured()["max-connections-per-address"] == "1024"
    assert configured("--max-connections", "10")["max-connections-per-address"] == "3"
    assert configured("--max-connections-per-address", "0")["max-connections-per-address"] == "0"


def test_a_history_is_kept_with_the_private_redis_only():
    assert configured()["history"] == "sqlite"
    assert configured("--redis", "unix:/tmp/x")["history"] == "off"
    found = configured(extra={"DUEPOST_HISTORY": "postgresql://u:pass@h/db?sslmode=verify-full"})
    assert found["history"] == "postgresql://u:***@h/db?sslmode=verify-full"
    found = configured(extra={"DUEPOST_HISTORY": "mongodb://u:pass@h:27017,i/db?tls=true"})
    assert found["history"] == "mongodb://u:***@h:27017,i/db?tls=true"


def test_a_build_without_mongodb_says_so():
    """The build next is one without libmongoc."""
    if not pathlib.Path(NEXT).exists():
        pytest.skip(f"{NEXT} does not exist; build it with: script/build next")
    result = subprocess.run([NEXT, "--print-config", "--history", "mongodb://u@h/db"], capture_output=True, text=True, check=False)
    assert result.returncode == 2 and "was built without it" in result.stderr and "libmongoc-dev" in result.stderr
    linked = subprocess.run(["ldd", NEXT], capture_output=True, text=True, check=True).stdout
    assert "mongoc" not in linked and "libpq" in linked


def test_the_password_of_the_outbox_is_not_shown():
    assert configured()["outbox"] == "off"
    assert configured(extra={"DUEPOST_OUTBOX": "postgresql://u:pass@h/db"})["outbox"] == "postgresql://u:***@h/db"


def test_a_killed_process_leaves_no_memory_of_libmongoc(start):
    """Otherwise a later process with the same number would print a warning of libmongoc."""
    server = start()
    assert not pathlib.Path(f"/dev/shm/mongoc-{server.pid}").exists()


def test_the_environment_names_the_file(tmp_path):
    file = tmp_path / "duepost.conf"
    file.write_text("max-jobs = 5\n")
    assert configured(extra={"DUEPOST_CONFIG": str(file)})["max-jobs"] == "5"


@pytest.mark.parametrize("options, variable, reason", [
    (["--nonsense"], {}, "nonsense"), (["--max-body", "x"], {}, "max-body"), (["--max-body"], {}, "max-body"),
    (["--listen", "nowhere"], {}, "listen"), (["--listen", "127.0.0.1:99999"], {}, "listen"),
    (["--retry-schedule", "5s never"], {}, "retry-schedule"), (["--drain-timeout", "soon"], {}, "drain-timeout"),
    (["--clock", "sundial"], {}, "--clock: must be redis or manual, not 'sundial'"), ([], {"DUEPOST_CLOCK": "off"}, "DUEPOST_CLOCK"),
    (["--clock", "manual", "--redis", "unix:/tmp/x"], {}, "--clock: manual cannot be combined with redis"),
    (["--durability", "replicated:0"], {}, "durability"), (["--durability", "eternal"], {}, "durability"),
    (["--redis", "http://x"], {}, "redis"), (["--redis", "redis://u:pass@h:1/0"], {}, "password"),
    (["--allow-target", "10.0.0.0/33"], {}, "allow-target"), (["--egress-proxy", "http://h"], {}, "egress-proxy"),
    (["--egress-proxy", "socks5://h:1"], {}, "egress-proxy"), (["--egress-proxy", "http://u:pass@h:1"], {}, "password"),
    (["--outbox", "mysql://h/db"], {}, "must be off or postgresql://"), (["--outbox", "postgresql://u:pass@h/db"], {}, "DUEPOST_OUTBOX"),
    (["--outbox", "postgresql://u@h/db?password=x"], {}, "passfile"),
    (["--history", "mysql://h/db"], {}, "history"), (["--history", "postgresql://u:pass@h/db"], {}, "password"),
    (["--history", "postgresql://u@h/db?password=x"], {}, "passfile"), (["--history", "postgresql://u@h/db?nonsense=1"], {}, "history"),
    (["--history", "mongodb://u:pass@h/db"], {}, "password"), (["--history", "mongodb://h"], {}, "host[:port]/database"),
    (["--history", "mongodb://h/db?tlsCertificateKeyFilePassword=pass@"], {}, "tlsCertificateKeyFilePassword"),
    (["--history", "sqlite:/tmp/x", "--redis", "redis://db.example:6379"], {}, "on this host"),
    (["--history", "sqlite", "--redis", "unix:/tmp/x"], {}, "sqlite:PATH"), (["--history-bodies", "some"], {}, "history-bodies"),
    ([], {"DUEPOST_EGRESS_PROXY": "http://u:pass@h:x"}, "DUEPOST_EGRESS_PROXY"), (["--log-level", "loud"], {}, "log-level"),
    (["--log-format", "xml"], {}, "log-format"), (["--reactors", "0"], {}, "reactors"),
    (["--health-listen", "nowhere"], {}, "health-listen"), (["--max-connections", "0"], {}, "max-connections"),
    (["--header-timeout", "0"], {}, "header-timeout"), (["--max-bodies", "much"], {}, "max-bodies"),
    (["--max-in-flight", "-1"], {}, "max-in-flight"), (["--config", "/nowhere/duepost.conf"], {}, "/nowhere/duepost.conf"),
    (["--redis-password-file", "/nowhere/password", "--redis", "unix:/nowhere"], {}, "/nowhere/password"),
    (["--tokens", "/nowhere/tokens"], {}, "/nowhere/tokens"), (["--tokens", "/dev/null"], {}, "duepost token new"),
    (["--receiver-ca", "/nowhere/ca.pem"], {}, "/nowhere/ca.pem"), (["extra"], {}, "extra"),
    ([], {"DUEPOST_MAX_JOBS": "many"}, "DUEPOST_MAX_JOBS"), ([], {"DUEPOST_LISTEN": "x"}, "DUEPOST_LISTEN"),
], ids=str)
def test_a_wrong_option_stops_the_start_with_its_reason(tmp_path, options, variable, reason):
    result = run("--data", str(tmp_path / "d"), *options, extra={"DUEPOST_LISTEN": "127.0.0.1:0", **variable})
    assert result.returncode == 2, (result.returncode, result.stderr)
    assert reason in result.stderr and "listening" not in result.stdout
    assert "pass@" not in result.stderr


@pytest.mark.parametrize("line", ["nonsense = 1", "max-body = x", "[section]", "max-body"])
def test_a_wrong_line_is_named_with_file_and_number(tmp_path, line):
    file = tmp_path / "duepost.conf"
    file.write_text(f"# fine\nmax-jobs = 5\n{line}\n")
    result = run("--config", str(file), "--data", str(tmp_path / "d"))
    assert result.returncode == 2 and f"{file}:3" in result.stderr, result.stderr


def test_an_unknown_variable_is_a_warning(start):
    server = start(extra={"DUEPOST_COLOUR": "violet"})
    assert "DUEPOST_COLOUR" in server.log() and "violet" not in server.log()


@pytest.mark.parametrize("text, ms", [("500ms", 500), ("2s", 2000), ("3m", 180000), ("1h", 3600000), ("2d", 172800000), ("7", 7000),
                                      ("0.5", 500)])
def test_durations(start, topic, text, ms):
    server = start("--retry-schedule", text)
    server.schedule(topic=topic, jobId="a", url="http://127.0.0.1:9/", delay=60)
    assert server.job(topic, "a")["retrySchedule"] == [ms / 1000]


def test_the_data_directory_comes_from_the_environment(start, tmp_path):
    for variable, place in (("STATE_DIRECTORY", tmp_path / "s"), ("XDG_STATE_HOME", tmp_path / "x" / "duepost")):
        value = place if variable == "STATE_DIRECTORY" else place.parent
        assert configured(extra={variable: str(value)})["data"] == str(place)
    assert configured(extra={"HOME": str(tmp_path)})["data"] == str(tmp_path / ".local/state/duepost")


def test_the_log_goes_to_a_file_when_asked(start, tmp_path):
    file = tmp_path / "duepost.log"
    server = start("--log", str(file))
    until(lambda: file.exists() and file.read_text(), 5, "a log line")
    assert server.log() == ""


@pytest.mark.parametrize("options, url", [(["--listen", "0.0.0.0:0"], "http://0.0.0.0:"), (["--listen", "127.0.0.1:0", "--health-listen", "[::]:0"], "http://[::]:")])
def test_a_manual_clock_is_refused_if_other_hosts_could_turn_it(tmp_path, options, url):
    tokens = tmp_path / "tokens"
    tokens.write_text(f"ops sha256:{'0' * 64} scopes=admin\n")
    result = run("--clock", "manual", "--tokens", str(tokens), "--data", str(tmp_path / "d"), *options)
    assert result.returncode == 1 and "listening" not in result.stdout, result.stderr
    assert url in result.stderr and "which --clock manual does not allow" in result.stderr
