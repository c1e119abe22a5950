"""Hosts for one test, in network namespaces, connected by a router that drops packets on demand. The namespaces have
no names and exist only as long as a process uses them. So the machine's own network does not change, and nothing is
left behind, however the test ends. Each host has one link, to the router. The router drops packets silently, also
those of open connections."""

import ctypes
import os
import pathlib
import subprocess
import threading

CLONE_NEWNET = 0x40000000
OWN = "/proc/thread-self/ns/net"

_libc = ctypes.CDLL(None, use_errno=True)
_thread = threading.local()


class Unavailable(Exception):
    """Raised if this machine, or this user, cannot create such a network."""


def _check(result, what):
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


class Namespace:
    """While a thread is in this namespace, the sockets, processes and threads that it creates belong to the
    namespace."""

    def __init__(self):
        before = os.open(OWN, os.O_RDONLY | os.O_CLOEXEC)
        try:
            _check(_libc.unshare(CLONE_NEWNET), "unshare")
            self.fd = os.open(OWN, os.O_RDONLY | os.O_CLOEXEC)
            _check(_libc.setns(before, CLONE_NEWNET), "setns")
        finally:
            os.close(before)

    def __enter__(self):
        outer = os.open(OWN, os.O_RDONLY | os.O_CLOEXEC)
        _check(_libc.setns(self.fd, CLONE_NEWNET), "setns")
        _thread.__dict__.setdefault("outer", []).append(outer)
        return self

    def __exit__(self, *_):
        outer = _thread.outer.pop()
        _check(_libc.setns(outer, CLONE_NEWNET), "setns")
        os.close(outer)

    @property
    def path(self):
        return f"/proc/{os.getpid()}/fd/{self.fd}"

    def ip(self, *lines):
        """Each line has the arguments of one `ip` command."""
        with self:
            done = subprocess.run(["ip", "-batch", "-"], input="\n".join(lines) + "\n", capture_output=True,
                                  text=True, timeout=30, check=False)
        if done.returncode != 0:
            raise OSError(f"ip: {done.stderr.strip()}")

    def close(self):
        os.close(self.fd)


class Host(Namespace):
    def __init__(self, number):
        super().__init__()
        self.link, self.net = f"host{number}", f"10.77.{number}"
        self.address = f"{self.net}.2"

    def join(self, router):
        router.ip(f"link add {self.link} type veth peer name eth0 netns {self.path}",
                  f"address add {self.net}.1/24 dev {self.link}",
                  f"link set {self.link} up")
        self.ip("link set lo up",
                f"address add {self.address}/24 dev eth0",
                "link set eth0 up",
                f"route add default via {self.net}.1")

    @staticmethod
    def port(usual):
        """Returns the usual port, because no other process in this namespace listens there."""
        return usual


class Network:
    """Raises Unavailable if the network cannot be created."""

    def __init__(self, hosts):
        self.lost = []  # the router's rules that drop packets
        self.hosts, self.router = [], None
        try:
            self._make(hosts)
        except OSError as error:
            self.close()
            raise Unavailable(f"no network of the test's own: {error}") from error

    def _make(self, hosts):
        self.router = Namespace()
        with self.router:
            pathlib.Path("/proc/sys/net/ipv4/ip_forward").write_text("1")
        for number in range(hosts):
            self.hosts.append(Host(number))
            self.hosts[-1].join(self.router)
        self.lose(self.hosts, self.hosts)  # fails now if the kernel does not support rules that drop packets
        self.heal()

    def lose(self, senders, receivers):
        """From now on, the router drops packets from senders to receivers. The other direction is not affected."""
        rules = [f"iif {sender.link} to {receiver.net}.0/24 pref 100 blackhole"
                 for sender in senders for receiver in receivers if sender is not receiver]
        self.router.ip(*("rule add " + rule for rule in rules))
        self.lost += rules

    def part(self, side):
        """From now on, the router drops packets between these hosts and all other hosts, in both directions."""
        others = [host for host in self.hosts if host not in side]
        self.lose(side, others)
        self.lose(others, side)

    def heal(self):
        if self.lost:
            self.router.ip(*("rule delete " + rule for rule in self.lost))
        self.lost = []

    def close(self):
        for namespace in (*self.hosts, self.router):
            if namespace:
                namespace.close()
