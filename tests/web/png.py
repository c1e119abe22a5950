"""Makes PNG files smaller: one byte per pixel for one of 256 colours, which is enough for the flat colours of a
page."""

import collections
import struct
import zlib

SIGNATURE = b"\x89PNG\r\n\x1a\n"


def chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def chunks(data):
    offset = len(SIGNATURE)
    while offset < len(data):
        size, name = struct.unpack_from(">I4s", data, offset)
        yield name, data[offset + 8:offset + 8 + size]
        offset += 12 + size


def paeth(left, up, corner):
    estimate = left + up - corner
    by_left, by_up, by_corner = abs(estimate - left), abs(estimate - up), abs(estimate - corner)
    if by_left <= by_up and by_left <= by_corner:
        return left
    return up if by_up <= by_corner else corner


def unfilter(kind, row, above, step):
    """Returns the row's bytes. Changes row. step: number of bytes of a pixel."""
    if kind == 1:
        for at in range(step, len(row)):
            row[at] = (row[at] + row[at - step]) & 255
    elif kind == 2:
        for at, up in enumerate(above):
            row[at] = (row[at] + up) & 255
    elif kind == 3:
        for at, up in enumerate(above):
            row[at] = (row[at] + ((row[at - step] if at >= step else 0) + up) // 2) & 255
    elif kind == 4:
        for at, up in enumerate(above):
            left, corner = (row[at - step], above[at - step]) if at >= step else (0, 0)
            row[at] = (row[at] + paeth(left, up, corner)) & 255
    return row


def read(data):
    """Returns (width, height, pixels) of a PNG with 8 bits per channel, as a browser writes it. A pixel is (red,
    green, blue)."""
    parts = list(chunks(data))
    width, height, depth, kind, *_ = struct.unpack(">IIBBBBB", parts[0][1])
    assert depth == 8 and kind in (2, 6), (depth, kind)
    step = 4 if kind == 6 else 3
    raw = zlib.decompress(b"".join(part for name, part in parts if name == b"IDAT"))
    above, pixels = bytearray(width * step), []
    for start in range(0, len(raw), width * step + 1):
        above = unfilter(raw[start], bytearray(raw[start + 1:start + 1 + width * step]), above, step)
        pixels += zip(above[0::step], above[1::step], above[2::step])
    return width, height, pixels


def nearest(colour, palette):
    red, green, blue = colour
    return min(range(len(palette)), key=lambda at: abs(palette[at][0] - red) + abs(palette[at][1] - green) + abs(palette[at][2] - blue))


def reduce(data):
    """Returns the same picture with its 256 most frequent colours; other pixels get the nearest of these colours."""
    width, height, pixels = read(data)
    counts = collections.Counter(pixels)
    palette = [colour for colour, _ in counts.most_common(256)]
    index = {colour: at for at, colour in enumerate(palette)}
    for colour in counts:
        if colour not in index:
            index[colour] = nearest(colour, palette)
    rows = bytes(index[pixel] for pixel in pixels)
    raw = b"".join(b"\0" + rows[start:start + width] for start in range(0, len(rows), width))
    return (SIGNATURE + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0))
            + chunk(b"PLTE", bytes(value for colour in palette for value in colour))
            + chunk(b"IDAT", zlib.compress(raw, 9)) + chunk(b"IEND", b""))
