#!/usr/bin/env python3
"""Whether the dashboard costs anything: the same load with and without it, in turn.

usage: benches/dashboard.py [--pairs N] [--streams C] [--rate TOKENS] TOKOMETER

A ruler (tokometer sim --rate) sends every stream the same tokens a second. Each pair is one run on a terminal of its
own (a pty, 160 columns; with the output of a stream looked at all the time) and one with --plain. Prints, for the
total rate and for the client's lag, each run's figure and the ratio of the medians, with and without.
"""

import argparse
import fcntl
import json
import os
import pathlib
import pty
import select
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import termios


def on_a_terminal(command):
    """Runs a command on a pty of its own, with `o` pressed once the window runs; bytes that it drew."""
    child, terminal = pty.fork()
    if child == 0:
        environment = {k: v for k, v in os.environ.items() if k not in ("CI", "NO_COLOR")}
        os.execve(command[0], command, environment | {"TERM": "xterm-256color", "TOKOMETER_CONFIG": ""})
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 45, 160, 0, 0))
    drawn, looking = 0, False
    while True:
        ready, _, _ = select.select([terminal], [], [], 120)
        if not ready:
            sys.exit("nothing was drawn for two minutes")
        try:
            data = os.read(terminal, 65536)
        except OSError:
            break
        if not data:
            break
        drawn += len(data)
        if not looking and b"window" in data:
            os.write(terminal, b"o")
            looking = True
    _, status = os.waitpid(child, 0)
    if not looking:
        sys.exit("the dashboard did not show")
    return drawn, os.waitstatus_to_exitcode(status)


def plain(command):
    environment = os.environ | {"TOKOMETER_CONFIG": ""}
    done = subprocess.run([*command, "--plain"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
    return 0, done.returncode


def figures(out):
    (folder,) = pathlib.Path(out).iterdir()
    run = json.loads((folder / "run.json").read_text())
    (cell,) = [cell for cell in run["cells"] if cell["phase"] == "decode"]
    if not cell["throughput"]:
        sys.exit(f"no rate: {cell['status']}: {cell['reason']}")
    lag = cell["client_lag_us"]
    return {"tok/s": cell["throughput"]["total"], "lag p50 us": lag["p50"], "lag p99 us": lag["p99"]}


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("binary")
    arguments.add_argument("--pairs", type=int, default=3)
    arguments.add_argument("--streams", type=int, default=64)
    arguments.add_argument("--rate", default="100")
    arguments.add_argument("--seconds", type=int, default=10)
    asked = arguments.parse_args()
    binary = shutil.which(asked.binary) or sys.exit(f"{asked.binary} is no program")
    binary = os.path.abspath(binary)
    sim = subprocess.Popen(
        [binary, "sim", "--port", "0", "--rate", asked.rate, "--until-stdin-ends"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )
    try:
        url = next(line for line in sim.stdout if "http://" in line).split("http://")[1].split()[0]
        found = {"with": [], "without": []}
        for pair in range(asked.pairs):
            # Each goes first in half of the pairs.
            for how in ("with", "without") if pair % 2 == 0 else ("without", "with"):
                with tempfile.TemporaryDirectory() as out:
                    command = [
                        binary, "run", f"http://{url}", "--yes", "--out", out, "--contexts", "1k",
                        "--prefill-contexts", "1k", "--concurrency", str(asked.streams), "--no-machine",
                        "--duration", f"{asked.seconds}s",
                    ]
                    drawn, code = on_a_terminal(command) if how == "with" else plain(command)
                    if code not in (0, 3):
                        sys.exit(f"exit code {code}")
                    seen = figures(out)
                    found[how].append(seen)
                    shown = ", ".join(f"{name} {value:.2f}" for name, value in seen.items() if value is not None)
                    print(f"{how:>8} the dashboard: {shown}" + (f", {drawn} bytes drawn" if drawn else ""), flush=True)
        for name in found["with"][0]:
            values = {how: [one[name] for one in runs if one[name] is not None] for how, runs in found.items()}
            if all(values.values()):
                medians = {how: statistics.median(of) for how, of in values.items()}
                print(f"{name}: with ÷ without = {medians['with'] / medians['without']:.4f}")
    finally:
        sim.stdin.close()
        sim.wait(timeout=30)


if __name__ == "__main__":
    main()
