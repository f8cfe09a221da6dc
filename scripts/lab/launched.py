#!/usr/bin/env python3
"""Lets tokometer start a real engine, and interrupts it in each phase: no process may be left. Then measures once
and looks at the record.

usage: launched.py TOKOMETER FOLDER PORT COMMAND…

COMMAND starts the server. It is started with a key in its environment, which must not turn up in what is left.
"""

import json
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import sys

KEY = "lab-planted-secret-0123456789"
PHASES = ["starting the server", "the server answers", "[ 1/", "[ 2/"]


def start(tokometer, folder, port, command):
    """Starts a run; the shell and its helper leave their process ids."""
    pids = folder / "pids"
    pids.unlink(missing_ok=True)
    launch = f"sleep 600 & echo $! >> {pids}; echo $$ >> {pids}; echo the key is {KEY}; LAB_API_KEY={KEY} exec {command}"
    arguments = [tokometer, "run", f"127.0.0.1:{port}", "--launch", launch, "--out", str(folder / "runs"), "--yes"]
    arguments += ["--contexts", "1k", "--concurrency", "1,2", "--duration", "2s", "--max-output", "256"]
    return subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def nothing_left(folder):
    for pid in (folder / "pids").read_text().split():
        try:
            state = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except FileNotFoundError:
            continue
        assert state in "ZX", f"process {pid} is left in state {state}"


def interrupt(run, folder, phase):
    for line in run.stderr:
        if phase in line:
            break
    else:
        sys.exit(f"no {phase!r} was seen")
    while phase == PHASES[0] and len((folder / "pids").read_text().split() if (folder / "pids").exists() else "") < 2:
        assert run.poll() is None, "it ended by itself"
    run.send_signal(signal.SIGINT)
    run.stderr.read()
    assert run.wait() == 130, f"exit code {run.returncode} in phase {phase!r}"
    nothing_left(folder)
    print(f"interrupted at {phase!r}: exit code 130, no process left")


def main():
    tokometer, folder, port, command = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3], shlex.join(sys.argv[4:])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for phase in PHASES:
        interrupt(start(tokometer, folder, port, command), folder, phase)
    shutil.rmtree(folder / "runs")
    run = start(tokometer, folder, port, command)
    said = run.stderr.read()
    assert run.wait() in (0, 3), said
    nothing_left(folder)
    place = next(path for path in (folder / "runs").iterdir() if path.is_dir())
    record = json.loads((place / "run.json").read_text())
    log = (place / "server.log").read_text()
    assert record["state"] == "finished", record["state_reason"]
    assert shlex.split(command)[1] in record["launch_command"], record["launch_command"]
    engine = record["engine"]
    assert engine["name"] and engine["version"], engine
    # The interpreter and this script lie in checkouts of other things: only what the engine says counts.
    assert engine["commit"] is None or engine["commit"] in engine["version"], engine
    commit = engine["commit"] or record["unknown"]["engine.commit"]
    assert "the key is <redacted>" in log and len(log.splitlines()) > 5, log[:500]
    for path in (folder / "runs").rglob("*"):
        assert not path.is_file() or KEY.encode() not in path.read_bytes(), f"the key is in {path}"
    assert KEY not in said
    print(f"launched: {record['launch_command']}")
    print(f"engine: {engine['name']} {engine['version']}, commit: {commit}, build: {engine['build']}")
    packages = [f"{fact['field'][16:]} {fact['value']}" for fact in record["evidence"]
                if fact["field"].startswith("engine.packages.")]
    print(f"packages: {', '.join(packages) or 'none'}; log: {len(log.splitlines())} lines")
    os.remove(folder / "pids")


main()
