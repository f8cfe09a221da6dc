"""What the benches share: building the C server and reader, starting them on cores of their own, watching CPU.

Only the standard library is used.
"""

import array
import contextlib
import csv
import json
import mmap
import os
import platform
import signal
import struct
import subprocess
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parent
SOURCES = {"server": ["server.c", "frames.c", "http.c", "truth.c"], "reader": ["reader.c"]}
# Fields of `struct counters` in wire/truth.h.
COUNTERS = ["requests", "active", "events", "tokens", "steps", "late_steps", "blocked", "first_ns"]


def build(folder):
    """Compiles the server and the floor reader; gives their paths."""
    built = {}
    for name, sources in SOURCES.items():
        out = Path(folder) / name
        paths = [str(HERE / "wire" / source) for source in sources]
        subprocess.run([os.environ.get("CC", "cc"), "-O2", "-o", str(out), *paths], check=True)
        built[name] = str(out)
    return built


def on_core(core):
    """For `preexec_fn`: the process and what it starts stay on one core, in a session of their own."""

    def pin():
        os.setsid()
        os.sched_setaffinity(0, {core})

    return pin


class Server:
    """The paced server on a core of its own. `stop` gives its truth."""

    def __init__(self, binary, core, folder, **options):
        self.counters_file = os.path.join(folder, "counters")
        self.log_file = os.path.join(folder, "requests.csv")
        self.gaps_file = os.path.join(folder, "gaps")
        words = [binary, "--counters", self.counters_file, "--log", self.log_file, "--gaps", self.gaps_file]
        for name, value in options.items():
            option = "--" + name.replace("_", "-")
            words += [option] if value is True else [] if value in (None, False) else [option, str(value)]
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, preexec_fn=on_core(core))
        self.port = int(self.process.stdout.readline())
        self.url = f"http://127.0.0.1:{self.port}"
        with open(self.counters_file, "rb") as file:
            self.shared = mmap.mmap(file.fileno(), 8 * len(COUNTERS), prot=mmap.PROT_READ)
        self.truth = None

    def counters(self):
        return dict(zip(COUNTERS, struct.unpack(f"{len(COUNTERS)}Q", self.shared[: 8 * len(COUNTERS)])))

    def cpu_ns(self):
        return cpu_ns([self.process.pid])

    def stop(self):
        """Ends the server; its truth, with its requests in `rows`, and in `gaps` what `truth_print` writes."""
        if self.truth is None:
            self.process.send_signal(signal.SIGTERM)
            told, _ = self.process.communicate(timeout=60)
            self.truth = json.loads(told)
            with open(self.log_file, newline="") as file:
                self.truth["rows"] = [
                    {key: value if key == "fate" else int(value) for key, value in row.items()}
                    for row in csv.DictReader(file)
                ]
            self.truth["gaps"] = array.array("I")
            with open(self.gaps_file, "rb") as file:
                self.truth["gaps"].frombytes(file.read())
        return self.truth


@contextlib.contextmanager
def serving(binary, core, **options):
    """A server for the time of a block; it is stopped whatever happens."""
    with tempfile.TemporaryDirectory(prefix="tokometer-bench-") as folder:
        server = Server(binary, core, folder, **options)
        try:
            yield server
        finally:
            if server.process.poll() is None:
                with contextlib.suppress(Exception):
                    server.stop()
                if server.process.poll() is None:
                    server.process.kill()
                    server.process.wait()


def family(pid):
    """The process and all that descend from it."""
    children = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat") as file:
                parent = int(file.read().rsplit(")", 1)[1].split()[1])
        except (OSError, ValueError, IndexError):
            continue
        children.setdefault(parent, []).append(int(entry))
    found, waiting = [], [pid]
    while waiting:
        one = waiting.pop()
        found.append(one)
        waiting += children.get(one, [])
    return found


def cpu_ns(pids):
    """CPU time of processes, in ns: what the scheduler gave to their threads."""
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            for thread in os.listdir(f"/proc/{pid}/task"):
                with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{thread}/schedstat") as file:
                    total += int(file.read().split()[0])
    return total


def reaped_ns(pids):
    """CPU time of children of these processes that have ended and were waited for, in ns."""
    ticks = 0
    for pid in pids:
        with contextlib.suppress(OSError), open(f"/proc/{pid}/stat") as file:
            fields = file.read().rsplit(")", 1)[1].split()
            ticks += int(fields[13]) + int(fields[14])
    return ticks * 1_000_000_000 // os.sysconf("SC_CLK_TCK")


def resident_kib(pids):
    """Memory of processes together, shared pages counted once for each (Pss where the kernel tells it)."""
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError), open(f"/proc/{pid}/smaps_rollup") as file:
            for line in file:
                if line.startswith("Pss:"):
                    total += int(line.split()[1])
    return total


def unread_bytes(port):
    """What the kernel holds for clients of this port, which they have not read yet."""
    total = 0
    with open("/proc/net/tcp") as file:
        for line in list(file)[1:]:
            fields = line.split()
            if int(fields[2].rsplit(":", 1)[1], 16) == port:
                total += int(fields[4].rsplit(":", 1)[1], 16)
    return total


class Window:
    """CPU of a client per event that the server sent, over a window in which all streams answer."""

    def __init__(self, server, process, streams):
        self.server, self.process, self.streams = server, process, streams

    def wait_steady(self, settle, limit):
        """Waits until all streams have answered for `settle` seconds on end; false if that does not come."""
        end, since = time.monotonic() + limit, None
        while time.monotonic() < end and self.process.poll() is None:
            now = time.monotonic()
            if self.server.counters()["active"] >= self.streams:
                since = since or now
                if now - since >= settle:
                    return True
            else:
                since = None
            time.sleep(0.05)
        return False

    def sample(self):
        return cpu_ns(family(self.process.pid)), self.server.counters(), self.server.cpu_ns(), time.monotonic()

    def measure(self, seconds):
        """None if the client ended within the window, or its streams did."""
        before = self.sample()
        time.sleep(seconds)
        after = self.sample()
        if self.process.poll() is not None or after[1]["active"] < self.streams / 2:
            return None
        events = after[1]["events"] - before[1]["events"]
        wall = after[3] - before[3]
        return {
            "seconds": wall,
            "events": events,
            "events_per_s": events / wall,
            "client_core_share": (after[0] - before[0]) / 1e9 / wall,
            "server_core_share": (after[2] - before[2]) / 1e9 / wall,
            "client_us_per_event": (after[0] - before[0]) / 1e3 / events if events else None,
            "server_steps": after[1]["steps"] - before[1]["steps"],
            "server_late_steps": after[1]["late_steps"] - before[1]["late_steps"],
            "blocked": after[1]["blocked"] - before[1]["blocked"],
            "unread_bytes": unread_bytes(self.server.port),
        }


def end_process(process, patience=20):
    """Ends a process that was started with `on_core`, and its children."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def machine():
    """The machine in words."""
    model = "unknown processor"
    with open("/proc/cpuinfo") as file:
        for line in file:
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    return f"{os.cpu_count()} cores of {model}, Linux {platform.release()}"


def tokometer_binary(given):
    """The binary to measure: as given, else of the release build."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target"))
    path = Path(given) if given else target / "release" / "tokometer"
    if not path.is_file():
        raise SystemExit(f"{path} is not there: build it first (cargo build --release), or give --tokometer FILE")
    return str(path)
