"""A network namespace in which every address answers. Each connection arrives, whatever its address, and its packets
are counted."""

import collections
import ipaddress
import socket
import struct
import subprocess
import threading

from duepost import Duepost
from name_server import ADDRESS, NameServer
from network import Namespace, Unavailable
from patience import until
import scratch

OWN = ("9.9.9.9", "2620:fe::9")  # the source addresses of the packets
API = ("127.0.0.1", 7700)

# Addresses that are not public. This list is written independently of duepost's own list on purpose.
FORBIDDEN = [ipaddress.ip_network(text) for text in """0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 168.63.129.16/32 169.254.0.0/16
172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4
::/3 4000::/2 8000::/1 2001::/23 2001:db8::/32 2002::/16 3fff::/20""".split()]
NAT64 = ipaddress.ip_network("64:ff9b::/96")


def is_forbidden(text):
    address = ipaddress.ip_address(text)
    if address in NAT64:
        address = ipaddress.ip_address(address.packed[12:])
    return any(address in network for network in FORBIDDEN if network.version == address.version)


class Field(Namespace):
    """Raises Unavailable if the namespace cannot be created. A receiver that a test starts in this network can be
    reached by each public address. Without a receiver, connections are refused, but their packets are counted."""

    def __init__(self, names=None):
        super().__init__()
        self.heard = collections.Counter()  # number of packets, by the peer's address
        self.said = collections.Counter()   # number of bytes within TCP, by the peer's address
        self.started = []
        try:
            self.ip("link set lo up",
                    f"address add {OWN[0]}/32 dev lo", f"route add local 0.0.0.0/0 dev lo src {OWN[0]}",
                    f"address add {OWN[1]}/128 dev lo nodad", f"route add local ::/0 dev lo src {OWN[1]}")
            subprocess.run(["unshare", "--mount", "true"], check=True, capture_output=True)
            with self:
                self._packets = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3))
        except (OSError, subprocess.CalledProcessError) as error:
            self.close()
            raise Unavailable(f"no network of the test's own: {error}") from error
        self._packets.setsockopt(socket.SOL_SOCKET, 33, 1 << 24)  # SO_RCVBUFFORCE
        self._packets.bind(("lo", 0))
        self._packets.settimeout(0.1)
        self._is_over = False
        self._thread = threading.Thread(target=self._listen)
        self._thread.start()
        with self:
            self.name_server = NameServer(names)

    @property
    def through(self):
        """Returns the command prefix that makes a program use the test's name server."""
        resolver = scratch.file("resolv.conf")
        resolver.write_text(f"nameserver {ADDRESS[0]}\n")
        return "unshare", "--mount", "sh", "-c", 'mount --bind "$0" /etc/resolv.conf && exec "$@"', str(resolver)

    def start(self, *options, **named):
        """Starts a duepost in this network, which uses the test's name server. The test can reach this
        duepost only while the test is in the network."""
        with self:
            self.started.append(Duepost(*options, listen="%s:%d" % API, through=self.through, **named))
        self.forbidden()  # at its start, duepost tries its libraries out with a server of its own
        del self.heard["127.0.0.1"]
        return self.started[-1]

    def forbidden(self):
        """Waits until all earlier packets have been counted. Returns {address: number of packets} for the addresses
        that are not public."""
        marker = "9.9.9.10"
        with self, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            before = self.heard[marker]
            sock.sendto(b"", (marker, 9))
        until(lambda: self.heard[marker] > before, 5, "the packet that marks the end")
        dropped = struct.unpack("II", self._packets.getsockopt(263, 6, 8))[1]  # PACKET_STATISTICS
        assert dropped == 0, f"{dropped} packets were not looked at"
        return {address: count for address, count in self.heard.items() if is_forbidden(address)}

    def _listen(self):
        while not self._is_over:
            try:
                self._note(self._packets.recv(200))
            except TimeoutError:
                continue

    def _note(self, packet):
        """Counts a packet, unless it is one between the test and the API, or between the name server and duepost."""
        if packet[0] >> 4 == 4:
            at, protocol = (packet[0] & 15) * 4, packet[9]
            ends = [str(ipaddress.ip_address(packet[12:16])), str(ipaddress.ip_address(packet[16:20]))]
        else:
            at, protocol = 40, packet[6]
            ends = [str(ipaddress.ip_address(packet[8:24])), str(ipaddress.ip_address(packet[24:40]))]
        if protocol == socket.IPPROTO_ICMP and packet[at] == 3:
            return  # the message "unreachable": the packet that it answers was already counted
        ports = struct.unpack(">HH", packet[at:at + 4])
        if not {API, ADDRESS} & set(zip(ends, ports)):
            others = [end for end in ends if end not in OWN]
            self.heard.update(others)
            if protocol == socket.IPPROTO_TCP:
                size = struct.unpack(">H", packet[2:4])[0] if packet[0] >> 4 == 4 else struct.unpack(">H", packet[4:6])[0] + 40
                for end in others:
                    self.said[end] += size - at - (packet[at + 12] >> 4) * 4

    def close(self):
        for each in self.started:
            each.stop()
        if hasattr(self, "name_server"):
            self.name_server.stop()
        if hasattr(self, "_thread"):
            self._is_over = True
            self._thread.join(10)
            self._packets.close()
        super().close()
