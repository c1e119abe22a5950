"""A private PostgreSQL, on a unix socket in its own folder, and optionally also on a port with TLS."""

import contextlib
import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import tempfile

from patience import SLOW, until
from redis_server import free_port
import processes


def _user():
    """Returns the user for PostgreSQL, which refuses root."""
    if os.geteuid() != 0:
        return {}
    user = pwd.getpwnam("postgres")
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


class PostgresServer:
    """A server that starts at once. stop() and start() keep its data."""

    def __init__(self, tls=None):
        """tls: certificate and key. The port then serves clients with TLS only."""
        self.programs = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"))[-1]
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="duepost-test-"))
        if "user" in _user():
            os.chown(self.directory, _user()["user"], _user()["group"])
        self.data = self.directory / "data"
        subprocess.run([self.programs / "initdb", "--pgdata", self.data, "--username=postgres", "--auth=trust", "--no-sync",
                        "--encoding=UTF8", "--locale=C"], check=True, stdout=subprocess.DEVNULL, cwd="/", **_user())
        self.process, self.port, self.options = None, None, ["-c", "listen_addresses="]
        if tls:
            self._serve_tls(*tls)
        self.start()

    def _serve_tls(self, certificate, key):
        """PostgreSQL refuses a key that others may read."""
        copies = [self.directory / "server.pem", self.directory / "server.key"]
        for source, copy in zip((certificate, key), copies):
            shutil.copy(source, copy)
            copy.chmod(0o600)
            if "user" in _user():
                os.chown(copy, _user()["user"], _user()["group"])
        (self.data / "pg_hba.conf").write_text("local all all trust\nhostssl all all 127.0.0.1/32 trust\n")
        self.port = free_port()
        self.options = ["-c", "listen_addresses=127.0.0.1", "-c", f"port={self.port}", "-c", "ssl=on", "-c", f"ssl_cert_file={copies[0]}",
                        "-c", f"ssl_key_file={copies[1]}"]

    def tls_url(self, **parameters):
        query = "&".join(f"{name}={value}" for name, value in parameters.items())
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres?{query}"

    @property
    def url(self):
        return self._url_of("postgres")

    def _url_of(self, database):
        return f"postgresql://postgres@/{database}?host={self.directory}" + (f"&port={self.port}" if self.port else "")

    def create(self, database):
        self.psql(f'CREATE DATABASE "{database}"', "postgres")
        return self._url_of(database)

    def psql(self, sql, database):
        """Returns the rows as text, with | between the columns."""
        asked = subprocess.run([self.programs / "psql", "--no-psqlrc", "-qtA", "-v", "ON_ERROR_STOP=1", self._url_of(database), "-c", sql],
                               capture_output=True, text=True, timeout=20 * SLOW, check=False)
        assert asked.returncode == 0, asked.stderr
        return asked.stdout

    def start(self):
        self._begin()
        until(self._answers, 30, "PostgreSQL answers")

    def _answers(self):
        """After a kill, PostgreSQL does not start while another process has the number of the one that was killed."""
        if self.process.poll() is not None:
            self._begin()
        return self._ask("SELECT 1").returncode == 0

    def _begin(self):
        self.process = subprocess.Popen(
            [self.programs / "postgres", "-D", self.data, "-k", self.directory, *self.options, "-c", "shared_buffers=16MB",
             "-c", "max_connections=20"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/", start_new_session=True, **_user())

    def _ask(self, sql):
        return subprocess.run([self.programs / "psql", self.url, "-At", "-F", "\t", "-c", sql],
                              capture_output=True, text=True, timeout=20 * SLOW, check=False)

    def rows(self, sql):
        asked = self._ask(sql)
        return None if asked.returncode else [tuple(line.split("\t")) for line in asked.stdout.splitlines()]

    def kill(self):
        for pid in processes.members_of(self.process.pid):
            processes.end(pid)
        self.process.wait()

    def quit(self):
        """Immediate stop: the next start recovers, as after a crash."""
        os.kill(self.process.pid, signal.SIGQUIT)
        self.process.wait(30 * SLOW)

    def kill_all(self):
        """Kills each process, as a power cut would. kill() ends only the first one, and the others notice it."""
        os.kill(self.process.pid, signal.SIGSTOP)
        for pid in [*self._children(), self.process.pid]:
            processes.end(pid)
        self.process.wait()

    def kill_postmaster(self):
        """Kills the first process, and waits until the others have noticed it."""
        children = self._children()
        processes.end(self.process.pid)
        self.process.wait()
        until(lambda: not any(map(processes.is_alive, children)), 30, "the end of the other processes")

    def _children(self):
        return list(map(int, pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()))

    def crash_session(self, where):
        """Kills the process of a session. PostgreSQL then ends all sessions and recovers."""
        pids = self.psql(f"SELECT pid FROM pg_stat_activity WHERE {where} AND pid <> pg_backend_pid()", "postgres").split()
        for pid in pids[:1]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
        return bool(pids)

    def freeze(self):
        self._signal(signal.SIGSTOP)

    def thaw(self):
        self._signal(signal.SIGCONT)

    def _signal(self, number):
        """Signals each process of PostgreSQL, because each backend has its own process group. A backend may
        end as soon as it is resumed."""
        os.kill(self.process.pid, number) # the postmaster is stopped first, so that it starts no new backend
        for pid in self._children():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def stop(self):
        self.kill()
        shutil.rmtree(self.directory, ignore_errors=True)
