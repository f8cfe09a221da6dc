#!/usr/bin/env python3
"""Runs llama.cpp's own HTTP server, as the Python package xllamacpp carries it, until it is told to end.

usage: llama_server.py MODEL.gguf PORT SLOTS TOKENS_PER_SLOT NAME
"""

import signal
import sys

import xllamacpp


def main():
    if len(sys.argv) != 6:
        sys.exit(__doc__)
    model, port, slots, tokens, name = sys.argv[1:]
    params = xllamacpp.CommonParams()
    params.model.path = model
    params.model_alias = {name}
    params.hostnames = ["127.0.0.1"]
    params.port = int(port)
    params.n_parallel = int(slots)
    params.n_ctx = int(slots) * int(tokens)
    # One thread: its workers spin at barriers, which starves a small machine that also runs the client.
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    params.endpoint_metrics = True
    params.endpoint_slots = True
    params.endpoint_props = True
    server = xllamacpp.Server(params)
    print("listening at", server.listening_address, flush=True)
    signal.sigwait({signal.SIGTERM, signal.SIGINT})


main()
