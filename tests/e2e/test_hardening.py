"""The binary is built so that memory errors are harder to exploit."""

import re
import subprocess

from duepost import BINARY


def readelf(*arguments):
    return subprocess.run(["readelf", "--wide", *arguments, BINARY], check=True, stdout=subprocess.PIPE, text=True).stdout


def symbols():
    return set(re.findall(r"\b(__\w+)@", readelf("--dyn-syms")))


def test_the_binary_is_loaded_at_another_address_each_time():
    assert re.search(r"Type: +DYN", readelf("--file-header"))


def test_no_page_is_both_writable_and_executable():
    segments = re.findall(r"^ +(\w+) +0x\w+ 0x\w+ 0x\w+ 0x\w+ 0x\w+ ([RWE ]{3}) ", readelf("--segments"), re.M)
    assert dict(segments)["GNU_STACK"] == "RW "
    assert not [name for name, flags in segments if "W" in flags and "E" in flags]


def test_relocations_are_read_only():
    assert "GNU_RELRO" in readelf("--segments")
    assert re.search(r"FLAGS.*BIND_NOW", readelf("--dynamic"))


def test_stacks_are_guarded():
    assert "__stack_chk_fail" in symbols()


if re.search(r"/(release|fault)/", BINARY):  # debug builds have no checked copy functions

    def test_copies_are_bounded():
        assert {"__vsnprintf_chk", "__memcpy_chk"} & symbols()
