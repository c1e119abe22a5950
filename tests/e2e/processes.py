"""Stops the processes that tests have started, by pid."""

import os
import pathlib
import signal

from patience import until


def is_alive(pid):
    """Returns whether the process is alive; a zombie is not."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def end(pid):
    try:
        os.kill(pid, signal.SIGCONT)
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    until(lambda: not is_alive(pid), 10, f"end of process {pid}")


def members_of(group):
    """Returns the pids of a process group that are alive."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if words[0] != "Z" and int(words[2]) == group:
                found.append(int(entry.name))
    return found


def naming(text):
    """Returns the pids of processes whose command line contains text."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and text.encode() in (entry / "cmdline").read_bytes() and is_alive(int(entry.name)):
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def redis_servers_of(directory):
    """Returns the pids of redis-servers whose working directory is the directory, or whose command line names
    it."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if not os.readlink(entry / "exe").rpartition("/")[2].startswith(("redis-", "valkey-")):
                continue
            line = (entry / "cmdline").read_bytes().decode(errors="replace")
            if os.readlink(entry / "cwd").startswith(str(directory)) or str(directory) in line:
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def ports_of(pid):
    inodes = set()
    for fd in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        try:
            inodes.add(os.readlink(fd).removeprefix("socket:[").removesuffix("]"))
        except OSError:
            continue
    rows = [line.split() for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return {int(row[1].rpartition(":")[2], 16) for row in rows if row[9] in inodes}
