"""What the programs of all Python clients share: README.md describes the variables and the two steps."""

import json
import os
import sys
from collections import defaultdict
from pathlib import Path

zone = os.environ["CORRAL_ZONE"]
team = os.environ["CORRAL_TEAM"]
folder = Path(os.environ["CORRAL_FOLDER"])


def wanted():
    return json.loads(Path(os.environ["CORRAL_WANTED"]).read_text())


def host_and_port(variable):
    host, _, port = os.environ[variable].rpartition(":")
    return host, int(port)


def say_held(sets, tainted=()):
    print(json.dumps({"sets": list(sets), "tainted": list(tainted)}))


def key_of(record_set):
    return f"{record_set['name']}/{record_set['type']}"


def same(one, other):
    return one["ttl"] == other["ttl"] and sorted(one["values"]) == sorted(other["values"])


def sets_of(records):
    """Collects (name, type, ttl, value) to record sets."""
    values = defaultdict(list)
    for name, rtype, ttl, value in records:
        values[name, rtype, ttl].append(value)
    return [{"name": n, "type": t, "ttl": ttl, "values": each} for (n, t, ttl), each in values.items()]


def quoted(text):
    return f'"{text}"'


def unquoted(value):
    return value.removeprefix('"').removesuffix('"')


def play(apply, held):
    """Runs the step that the last argument names."""
    {"apply": apply, "held": held}[sys.argv[-1]]()
