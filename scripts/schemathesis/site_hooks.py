"""What schemathesis cannot know of the site: which runs, files and dumps there are, and who asks."""

import itertools
import json
import os
import random
import re
import urllib.request

import schemathesis

URL = os.environ["TOKOMETER_SITE_URL"]


def read(path, token=None):
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    with urllib.request.urlopen(urllib.request.Request(URL + path, headers=headers)) as answer:
        return json.load(answer)


RUNS = [
    row["id"]
    for shelf in ("ranked", "reported", "simulated")
    for row in read(f"/api/v1/runs?shelf={shelf}&fold=0&limit=100")["runs"]
]
FILES = [file["sha256"] for run in RUNS for file in read(f"/api/v1/runs/{run}/artefacts")["artefacts"]]
DAYS = [dump["day"] for dump in read("/api/v1/dump")["dumps"]]
TOKENS = [token["id"] for token in read("/api/v1/tokens", os.environ["TOKOMETER_TOKEN"])["tokens"]]
assert len(RUNS) > 2 and FILES and DAYS and TOKENS, "the site has data"

# The last one is for what takes a run down; the others stay.
SHOWN, TAKEN_DOWN = RUNS[:-1], RUNS[-1:]
KNOWN = {"id": SHOWN, "sha256": FILES, "day": DAYS}
FORMS = {
    "id": "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    "sha256": "[0-9a-f]{64}",
    "day": "[0-9]{4}-[0-9]{2}-[0-9]{2}",
}
chance = random.Random(1)
clients = itertools.count(1)


@schemathesis.hook
def map_path_parameters(context, path_parameters):
    """Half of the addresses lead somewhere."""
    takes_down = context.operation.method.lower() == "delete" or context.operation.path.endswith("/restore")
    for name in path_parameters or {}:
        known = TAKEN_DOWN if name == "id" and takes_down else KNOWN.get(name)
        # What is meant to be no id stays none.
        is_one = re.fullmatch(FORMS.get(name, ""), str(path_parameters[name]))
        if known and is_one and chance.random() < 0.5:
            path_parameters[name] = chance.choice(known)
    return path_parameters


@schemathesis.hook
def map_query(context, query):
    """Half of the comparisons are of runs that are there."""
    if query and context.operation.path.endswith("/compare") and chance.random() < 0.5:
        query["base"], query["to"] = SHOWN[:1], SHOWN[1:2]
    return query


@schemathesis.hook
def before_call(context, case, kwargs):
    """Each request is of another client, and none ends the token that all of them need, or takes the admin's role."""
    places = case.path_parameters or {}
    if case.operation.path.endswith("/tokens/{id}") and places.get("id") in TOKENS:
        places["id"] = "a1b2c3d4e5f6"
    if places.get("handle") == "admin":
        places["handle"] = "somebody"
    number = next(clients)
    address = f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
    case.headers["X-Forwarded-For"] = address
