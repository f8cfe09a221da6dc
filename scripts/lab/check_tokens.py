#!/usr/bin/env python3
"""Compares the tokens that tokometer counted in each decode cell with the server's own counter.

usage: check_tokens.py RUN.json finish|cut

With `finish` every request ran out, so both must be equal. With `cut` the server may be ahead by the few tokens
that it made for each cut request before it noticed.
"""

import json
import sys

PER_CUT_REQUEST = 8


def main():
    if len(sys.argv) != 3 or sys.argv[2] not in ("finish", "cut"):
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as file:
        run = json.load(file)
    cells = [cell for cell in run["cells"] if cell["phase"] == "decode"]
    bad = 0 if cells else 1
    for cell in cells:
        tokens, requests = cell["tokens"], cell["requests"]
        ahead = None
        if tokens["server"] is not None and tokens["client"] is not None:
            ahead = tokens["server"] - tokens["client"]
        allowed = PER_CUT_REQUEST * requests["cut"] if sys.argv[2] == "cut" else 0
        # The two statuses that say the machine was too busy to judge the speed; counts hold in them too.
        good = cell["status"] in ("valid", "unstable", "client_limited") and ahead is not None and 0 <= ahead <= allowed
        bad += not good
        rate = cell["throughput"]["total"] if cell["throughput"] else float("nan")
        print(
            f"{cell['context_nominal']:>6} x {cell['concurrency']:<3} {cell['status']:<9} {rate:8.1f} tok/s  "
            f"server {tokens['server']}  client {tokens['client']} ({tokens['source']})  "
            f"ended {requests['ended']}  cut {requests['cut']}  prompt {cell['context_actual']['p50']}  "
            f"{'ok' if good else 'WRONG'}"
        )
    sys.exit(1 if bad else 0)


main()
