"""The network in which other tests drop packets."""

import socket

import pytest

import network


def is_reached(sender, receiver, host):
    """A packet from a process in this namespace arrives."""
    sender.sendto(b"", receiver.getsockname())
    try:
        return receiver.recvfrom(1)[1][0] == host.address
    except TimeoutError:
        return False


def test_a_network_drops_the_chosen_packets():
    """Packets are dropped in one direction, or between two sides, and nowhere else."""
    try:
        net = network.Network(3)
    except network.Unavailable as why:
        pytest.skip(str(why))
    sockets = []
    try:
        for host in net.hosts:
            with host:
                sockets.append(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
            sockets[-1].bind((host.address, 0))
            sockets[-1].settimeout(0.1)

        def lost():
            return {(a, b) for a in range(3) for b in range(3) if not is_reached(sockets[a], sockets[b], net.hosts[a])}
        assert lost() == set()
        net.lose([net.hosts[0]], net.hosts[1:])
        assert lost() == {(0, 1), (0, 2)}
        net.heal()
        net.part([net.hosts[1]])
        assert lost() == {(0, 1), (1, 0), (1, 2), (2, 1)}
        net.heal()
        assert lost() == set()
    finally:
        for each in sockets:
            each.close()
        net.close()
