"""A Debian or Ubuntu in a directory, in which tests run commands. Each command has its own mounts and processes, in
namespaces that end with its first process, and this process ends with the test. So nothing has to be unmounted or
stopped afterwards, even after a failure. The network is that of the host."""

import hashlib
import os
import pathlib
import queue
import shutil
import signal
import subprocess
import threading
import time
import urllib.request

# The keys are suites, which is what apt calls a release.
DEBIANS = {"bookworm": "Debian 12", "trixie": "Debian 13"}
UBUNTUS = {"noble": "Ubuntu 24.04"}
SYSTEMS = {**DEBIANS, **UBUNTUS}
UBUNTU = "http://archive.ubuntu.com/ubuntu/"
# Debian 12 has no package with the keys of Ubuntu.
UBUNTU_KEYS = UBUNTU + "pool/main/u/ubuntu-keyring/ubuntu-keyring_2023.11.28.1_all.deb"
UBUNTU_KEYS_SHA256 = "36de43b15853ccae0028e9a767613770c704833f82586f28eb262f0311adb8a8"
# Certificates of this host, such as that of a company's proxy. The installation of ca-certificates adds them to those
# of Debian.
LOCAL_AUTHORITIES = pathlib.Path("/usr/local/share/ca-certificates")
NAMESPACES = ["setpriv", "--pdeathsig", "KILL", "--", "unshare", "--mount", "--pid", "--ipc", "--uts", "--fork", "--kill-child=KILL"]

ENTER = r"""
set -eu
root=$1 archives=$2 read_only=$3 writable=$4
shift 4
mount --make-rprivate /
mount --bind "$root" "$root"
if [ -n "$read_only" ]; then
    mount --bind "$root$writable" "$root$writable"
    mount -o remount,bind,ro "$root"
fi
mount -t proc proc "$root/proc"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
for node in null zero full random urandom tty; do
    : >"$root/dev/$node"
    mount --bind "/dev/$node" "$root/dev/$node"
done
mkdir "$root/dev/shm" "$root/dev/pts" "$root/dev/mqueue" "$root/dev/hugepages"
mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=666 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
ln -s fd/0 "$root/dev/stdin"
ln -s fd/1 "$root/dev/stdout"
ln -s fd/2 "$root/dev/stderr"
mount --bind "$archives" "$root/var/cache/apt/archives"
"""
RUN = ENTER + 'exec chroot "$root" "$@"'

# Mounts file systems as a container manager does, and starts systemd. The kernel settings are those of the host and
# read-only; the control groups are private.
BOOT = ENTER + r"""
mount --bind "$root/proc/sys" "$root/proc/sys"
mount -o remount,bind,ro "$root/proc/sys"
mount -t sysfs -o ro sysfs "$root/sys"
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
mount -t tmpfs -o mode=755 tmpfs "$root/run"
cd "$root"
mkdir -p .old
pivot_root . .old
umount --lazy /.old
exec env --ignore-environment container=proof PATH=/usr/sbin:/usr/bin:/sbin:/bin \
    /lib/systemd/systemd --system --log-target=console --unit=basic.target
"""


# How the kernel recognises a program for arm64: the beginning of its ELF header, and a mask of the bits to compare.
ARM64_MAGIC = r"\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00"
ARM64_MASK = r"\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff"
EMULATE = r"""
read -r _
mount --make-rprivate /
mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc
printf '%s' ":duepost-arm64:M::$1:$2:$3:F" >/proc/sys/fs/binfmt_misc/register
echo ready
exec cat
"""


class Failed(Exception):
    pass


class Emulator:
    """Runs programs of arm64 on another processor. The kernel starts QEMU for them in this object's user namespace only, so
    the host stays as it is. Needs Linux 6.7 or newer, whose user namespaces have a binfmt_misc of their own."""

    def __init__(self, qemu):
        self.holder = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "--", "unshare", "--user", "--mount", "sh", "-euc", EMULATE, "sh",
                                        ARM64_MAGIC, ARM64_MASK, qemu], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.namespace = f"/proc/{self.holder.pid}/ns/user"
        deadline = time.monotonic() + 30
        while self.holder.poll() is None and os.readlink(self.namespace) == os.readlink("/proc/self/ns/user"):
            if time.monotonic() > deadline:
                raise Failed("no user namespace within 30 s")
            time.sleep(0.01)
        for name in "uid_map", "gid_map":
            pathlib.Path(f"/proc/{self.holder.pid}/{name}").write_text("0 0 4294967295")
        self.holder.stdin.write("\n")
        self.holder.stdin.flush()
        if self.holder.stdout.readline() != "ready\n":
            raise Failed("the kernel does not let a user namespace emulate a processor; Linux 6.7 does")

    def end(self):
        self.holder.kill()
        self.holder.wait()


class Process:
    """A process that runs in a root, or on this host. The process's lines of output are kept."""

    def __init__(self, command, **options):
        self.popen = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT, text=True, errors="replace", **options)
        self.text, self._lines = [], queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self.popen.stdout:
            self.text.append(line)
            self._lines.put(line.rstrip("\n"))
        self._lines.put(None)

    def line_with(self, words, seconds):
        """Waits for the next line of output that contains words, and returns it."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                line = self._lines.get(timeout=max(0, deadline - time.monotonic()))
            except queue.Empty:
                raise Failed(f"no line with {words!r} within {seconds} s") from None
            if line is None:
                raise Failed(f"ended without a line with {words!r}:\n{self.tail()}")
            if words in line:
                return line

    def all_text(self):
        self._reader.join(10)
        return "".join(self.text)

    def tail(self):
        return "".join(self.text[-30:])

    def first_process(self):
        """Returns the host's pid of the process that has pid 1 in the root."""
        pid = self.popen.pid
        children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return int(children[0])

    def terminate(self, seconds=60):
        """Sends SIGTERM to the first process, and returns its exit code."""
        os.kill(self.first_process(), signal.SIGTERM)
        return self.popen.wait(seconds)

    def end(self):
        self.popen.kill()
        self.popen.wait()


class Roots:
    """Creates roots. All are copies of one debootstrap, which is kept for the next run. With an emulator, the roots are
    for arm64, otherwise for this host's processor."""

    def __init__(self, place, suite, log, emulator=None):
        self.place, self.suite, self.log, self.emulator = place, suite, log, emulator
        self.archives = place / "archives"
        self.archives.mkdir(parents=True, exist_ok=True)
        self.made = []

    def _call(self, *command):
        self.log.write(f"+ {' '.join(map(str, command))}\n")
        self.log.flush()
        if subprocess.run(command, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, check=False).returncode:
            raise Failed(f"{command[0]} failed")

    def _sources(self):
        """Returns the sources of packages as [(address, release)]. For Debian, these are the sources of this host's
        apt, with the suite in place of the host's release."""
        if self.suite in UBUNTUS:
            return [(UBUNTU, self.suite + part) for part in ("", "-updates", "-security")]
        lines = subprocess.run(["apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE) $(COMPONENT)", "Created-By: Packages"],
                               capture_output=True, text=True, check=True).stdout.splitlines()
        found = []
        for address, release, component in (line.split()[:3] for line in lines):
            suite, dash, part = release.partition("-")
            if suite in DEBIANS and part in ("", "updates", "security") and component == "main":
                found.append((address, self.suite + dash + part))
        if self.suite not in [release for _, release in found]:
            raise Failed("this host's apt has no source of Debian 12 or 13; run apt-get update")
        return sorted(set(found))

    def _ubuntu_keys(self):
        """Returns the file with the keys that sign Ubuntu's packages."""
        package, folder = self.place / "ubuntu-keyring.deb", self.place / "ubuntu-keyring"
        with urllib.request.urlopen(UBUNTU_KEYS, timeout=60) as answer:
            package.write_bytes(answer.read(1_000_000))
        if hashlib.sha256(package.read_bytes()).hexdigest() != UBUNTU_KEYS_SHA256:
            raise Failed(f"{UBUNTU_KEYS} has not the SHA-256 {UBUNTU_KEYS_SHA256}")
        self._call("dpkg-deb", "--extract", package, folder)
        return folder / "usr/share/keyrings/ubuntu-archive-keyring.gpg"

    def _base(self):
        return self.place / f"base-{self.suite}{'-arm64' if self.emulator else ''}.tar"

    def make_base(self):
        """Returns True if the base had to be created."""
        base = self._base()
        if base.exists():
            return False
        sources, work = self._sources(), self.place / "base"
        shutil.rmtree(work, ignore_errors=True)
        is_ubuntu = self.suite in UBUNTUS
        keys, components = ([f"--keyring={self._ubuntu_keys()}"], "main universe") if is_ubuntu else ([], "main")
        foreign = ["--foreign", "--arch=arm64"] if self.emulator else []
        self._call("debootstrap", "--variant=minbase", *foreign, *keys, self.suite, work,
                   next(address for address, release in sources if release == self.suite),
                   *(["gutsy"] if is_ubuntu else []))  # debootstrap's script for all later Ubuntus; Debian 12 lacks the newest
        if foreign:  # with this variable, debootstrap creates no device files, which a user namespace forbids
            Root(self, work, work / "var/cache/apt/archives").run("/debootstrap/debootstrap", "--second-stage", environment={"container": "lxc"})
        for path in (work / "etc/apt/sources.list.d").glob("*"):
            path.unlink()
        (work / "etc/apt/sources.list").write_text("".join(f"deb {address} {release} {components}\n" for address, release in sources))
        settings = subprocess.run(["apt-config", "dump", "--no-empty", "Acquire::http", "Acquire::https", "Acquire::Check-Valid-Until",
                                   "Acquire::Check-Date"], capture_output=True, text=True, check=True).stdout
        (work / "etc/apt/apt.conf.d/90host").write_text(settings)
        policy = work / "usr/sbin/policy-rc.d"  # as in a container, the installation of a package starts no service
        policy.write_text("#!/bin/sh\nexit 101\n")
        policy.chmod(0o755)
        self._call("tar", "--create", "--file", f"{base}.part", "--directory", work, "--numeric-owner", "--xattrs", ".")
        os.rename(f"{base}.part", base)
        shutil.rmtree(work)
        return True

    def make(self, name):
        return self.make_of(self._base(), name)

    def make_of(self, archive, name):
        """Returns a new root with the files of an archive."""
        root = Root(self, self.place / "roots" / name)
        shutil.rmtree(root.path, ignore_errors=True)
        root.path.mkdir(parents=True)
        self._call("tar", "--extract", "--file", archive, "--directory", root.path, "--numeric-owner", "--xattrs")
        # debootstrap does not write these files. On a usual system, an installer or a container manager writes them.
        shutil.copy("/etc/resolv.conf", root.path / "etc/resolv.conf")
        (root.path / "etc/hosts").write_text("127.0.0.1 localhost clean-root\n::1 localhost ip6-localhost ip6-loopback\n")
        if LOCAL_AUTHORITIES.is_dir():
            shutil.copytree(LOCAL_AUTHORITIES, root.path / LOCAL_AUTHORITIES.relative_to("/"), dirs_exist_ok=True)

        self.made.append(root)
        return root

    def remove(self):
        for root in self.made:
            for process in root.started:
                if process.popen.poll() is None:
                    process.end()
            shutil.rmtree(root.path, ignore_errors=True)


class Root:
    def __init__(self, roots, path, archives=None):
        self.roots, self.path, self.archives, self.started = roots, path, archives or roots.archives, []

    def _enter(self, program, command, writable):
        user = ["nsenter", f"--user={self.roots.emulator.namespace}", "--"] if self.roots.emulator else []
        return [*user, *NAMESPACES, "sh", "-c", program, "sh", str(self.path), str(self.archives), "yes" if writable else "", writable, *command]

    def start(self, *command, environment=None, cwd="/", user=None, writable=""):
        """user: "uid:gid", as names or numbers. writable: the only writable directory in a read-only root."""
        if user:
            uid, gid = user.split(":")
            command = ("setpriv", f"--reuid={uid}", f"--regid={gid}", "--clear-groups", "--no-new-privs", "--bounding-set=-all", "--", *command)
        variables = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root",
                     "LANG": "C.UTF-8", **(environment or {})}
        command = ("env", "--ignore-environment", f"--chdir={cwd}", *(f"{name}={value}" for name, value in variables.items()), *command)
        self.started.append(Process(self._enter(RUN, command, writable)))
        return self.started[-1]

    def boot(self):
        self.started.append(Process(self._enter(BOOT, (), "")))
        return self.started[-1]

    def run(self, *command, seconds=900, **named):
        self.roots.log.write(f"+ in {self.path.name}: {' '.join(command)}\n")
        self.roots.log.flush()
        process = self.start(*command, **named)
        try:
            code = process.popen.wait(seconds)
        except subprocess.TimeoutExpired:
            raise Failed(f"{' '.join(command)[:60]}: not within {seconds} s\n{process.tail()}") from None
        finally:
            process.end()
        text = process.all_text()
        self.roots.log.write(text)
        if code:
            raise Failed(f"{' '.join(command)[:60]}: exit {code}\n{process.tail()}")
        return text

    def install(self, *packages):
        self.run("sh", "-c", 'apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install --yes --no-install-recommends "$@"',
                 "sh", *packages)

    def files(self, *but):
        """Returns {path: type and mode}, without the logs and databases of packaging tools."""
        notes = ("./var/cache", "./var/log", "./var/lib/dpkg", "./var/lib/apt", "./tmp", "./run", "./root", *but)
        found = {}
        for folder, folders, names in os.walk(self.path):
            for name in [*folders, *names]:
                path = pathlib.Path(folder, name)
                inside = f"./{path.relative_to(self.path)}"
                if not inside.startswith(notes):
                    found[inside] = oct(path.lstat().st_mode)
        return found
