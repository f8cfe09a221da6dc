#!/usr/bin/env python3
"""What a program asks of a system's libraries.

usage: scripts/elf-needs.py [--most VERSION] PROGRAM

Reads the section `.gnu.version_r` of a 64-bit little-endian ELF file (System V ABI; "Symbol Versioning" of the Linux
Standard Base) and prints the highest version of each name, such as `GLIBC 2.28`. With --most it fails if the program
needs a higher GLIBC than that, and also if it needs none at all: a static program can't load a driver's library.
"""

import argparse
import struct
import sys

VERSIONS_NEEDED = 0x6FFFFFFE


def text(data, at):
    return data[at : data.index(b"\0", at)].decode()


def sections(data):
    """Type, offset and linked section of each section."""
    if data[:6] != b"\x7fELF\x02\x01":
        sys.exit("this is no 64-bit little-endian ELF file")
    (at,) = struct.unpack_from("<Q", data, 0x28)
    size, count = struct.unpack_from("<HH", data, 0x3A)
    for index in range(count):
        _, kind, _, _, offset, _, link, info = struct.unpack_from("<IIQQQQII", data, at + index * size)
        yield kind, offset, link, info


def needs(data):
    """Versions that are needed, such as `GLIBC_2.28`, with the library that has them."""
    table = list(sections(data))
    for kind, offset, link, count in table:
        if kind != VERSIONS_NEEDED:
            continue
        names = table[link][1]
        for _ in range(count):
            _, entries, library, first, following = struct.unpack_from("<HHIII", data, offset)
            at = offset + first
            for _ in range(entries):
                _, _, _, name, next_entry = struct.unpack_from("<IHHII", data, at)
                yield text(data, names + library), text(data, names + name)
                at += next_entry
            offset += following


def number(version):
    return tuple(int(part) for part in version.split("."))


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("program")
    arguments.add_argument("--most", metavar="VERSION", help="the highest GLIBC that it may need")
    asked = arguments.parse_args()
    with open(asked.program, "rb") as file:
        data = file.read()
    highest = {}
    for library, version in needs(data):
        name, _, of = version.rpartition("_")
        if of.replace(".", "").isdigit() and number(of) > number(highest.get(name, ("0", ""))[0]):
            highest[name] = (of, library)
    for name, (version, library) in sorted(highest.items()):
        print(f"{name} {version} ({library})")
    if asked.most:
        found = highest.get("GLIBC")
        if found is None:
            sys.exit("it needs no GLIBC: it is linked statically, and cannot load a driver's library")
        if number(found[0]) > number(asked.most):
            sys.exit(f"it needs GLIBC {found[0]}, and may need {asked.most} at most")


if __name__ == "__main__":
    main()
