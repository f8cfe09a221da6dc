#!/usr/bin/env python3
"""Whether the dashboard costs the load threads anything: the same load with and without it, in turn.

usage: benches/dashboard.py [--pairs N] [--streams C] [--rate TOKENS] TOKOMETER

A ruler (tokometer sim --rate) sends every stream the same tokens a second. Each pair is one run on a terminal of its
own (a pty, 160 columns; with the output of a stream looked at all the time) and one with --plain. Prints, for the
total rate, the client's lag, and the CPU time that the load threads took in the whole run, each run's figure, and the
ratio with ÷ without: the geometric mean of the pairs' ratios with its 95 % interval (Student's t of their logarithms).
"""

import argparse
import contextlib
import fcntl
import json
import math
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
import threading

# How the names of the threads that read streams begin.
LOAD = "load"
# 97.5 % points of Student's t by degrees of freedom.
STUDENT_T = {2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262, 10: 2.228, 11: 2.201}


def on_a_terminal(command):
    """Runs a command on a pty of its own, with `o` pressed once the window runs; bytes that it drew."""
    child, terminal = pty.fork()
    if child == 0:
        environment = {k: v for k, v in os.environ.items() if k not in ("CI", "NO_COLOR")}
        os.execve(command[0], command, environment | {"TERM": "xterm-256color", "TOKOMETER_CONFIG": ""})
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 45, 160, 0, 0))
    with LoadThreads(child) as threads:
        drawn = read_all(terminal)
    _, status = os.waitpid(child, 0)
    return drawn, os.waitstatus_to_exitcode(status), threads


def read_all(terminal):
    """Takes what is drawn until the end, and asks for a stream's output."""
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
    if not looking:
        sys.exit("the dashboard did not show")
    return drawn


def plain(command):
    environment = os.environ | {"TOKOMETER_CONFIG": ""}
    to_nobody = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([*command, "--plain"], env=environment, **to_nobody) as child:
        with LoadThreads(child.pid) as threads:
            return 0, child.wait(), threads


class LoadThreads:
    """CPU time of the threads that read streams, looked at until they are gone."""

    def __init__(self, pid):
        self.tasks, self.seconds, self.end = f"/proc/{pid}/task", {}, threading.Event()
        self.thread = threading.Thread(target=self.look)

    def look(self):
        while not self.end.wait(0.25):
            with contextlib.suppress(OSError):
                for task in os.listdir(self.tasks):
                    with contextlib.suppress(OSError):
                        if pathlib.Path(self.tasks, task, "comm").read_text().startswith(LOAD):
                            ran = pathlib.Path(self.tasks, task, "schedstat").read_text().split()[0]
                            self.seconds[task] = int(ran) / 1e9

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.end.set()
        self.thread.join()

    def total(self):
        return sum(self.seconds.values()) or sys.exit(f"no thread {LOAD}* was seen")


def figures(out):
    (folder,) = pathlib.Path(out).iterdir()
    run = json.loads((folder / "run.json").read_text())
    (cell,) = [cell for cell in run["cells"] if cell["phase"] == "decode"]
    if not cell["throughput"]:
        sys.exit(f"no rate: {cell['status']}: {cell['reason']}")
    lag = cell["client_lag_us"]
    return {"tok/s": cell["throughput"]["total"], "lag p50 us": lag["p50"], "lag p99 us": lag["p99"]}


def ratio(values):
    """The pairs' ratio with ÷ without, and its interval."""
    logs = [math.log(one / other) for one, other in zip(values["with"], values["without"])]
    mean = statistics.mean(logs)
    text = f"with ÷ without = {math.exp(mean):.4f}"
    if len(logs) - 1 in STUDENT_T:
        half = STUDENT_T[len(logs) - 1] * statistics.stdev(logs) / math.sqrt(len(logs))
        text += f" ({math.exp(mean - half):.4f} to {math.exp(mean + half):.4f}, n {len(logs)})"
    return text


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
                    drawn, code, threads = on_a_terminal(command) if how == "with" else plain(command)
                    if code not in (0, 3):
                        sys.exit(f"exit code {code}")
                    seen = figures(out) | {"load threads' CPU s": threads.total()}
                    found[how].append(seen)
                    shown = ", ".join(f"{name} {value:.2f}" for name, value in seen.items() if value is not None)
                    print(f"{how:>8} the dashboard: {shown}" + (f", {drawn} bytes drawn" if drawn else ""), flush=True)
        for name in found["with"][0]:
            values = {how: [one[name] for one in runs] for how, runs in found.items()}
            if None in values["with"] + values["without"]:
                continue
            medians = [statistics.median(values[how]) for how in ("with", "without")]
            print(f"{name}: medians {medians[0]:.3f} with, {medians[1]:.3f} without; {ratio(values)}")
    finally:
        sim.stdin.close()
        sim.wait(timeout=30)


if __name__ == "__main__":
    main()
