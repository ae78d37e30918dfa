"""Keeps the record sets of a team with a playbook, and reads what there is with it: python keep.py <playbook> <step>"""

import json
import os
import subprocess
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent))
import scene

playbook = sys.argv[1]
# What the playbook was told to keep in its last run, as a repository of playbooks would know it.
kept = scene.folder / "kept.json"


def run(variables, *arguments):
    of_playbook = {**variables, "ansible_python_interpreter": sys.executable}
    environment = {
        **os.environ,
        "ANSIBLE_HOME": str(scene.folder / "ansible"),
        "ANSIBLE_COLLECTIONS_PATH": str(Path(sys.executable).parent.parent / "collections"),
        "ANSIBLE_LOCALHOST_WARNING": "False",
        "ANSIBLE_INVENTORY_UNPARSED_WARNING": "False",
    }
    command = [sys.executable, "-m", "ansible", "playbook", f"{playbook}.yaml", *arguments]
    command += ["--extra-vars", json.dumps(of_playbook)]
    subprocess.run(command, check=True, cwd=scene.folder, env=environment)


def for_hcloud(each):
    return {**each, "records": [{"value": value} for value in each["values"]]}


def for_community(each):
    values = [scene.unquoted(value) if each["type"] == "TXT" else value for value in each["values"]]
    return {"prefix": each["name"], "type": each["type"], "ttl": each["ttl"], "value": values}


def apply():
    wanted = scene.wanted()
    keys = {scene.key_of(each) for each in wanted}
    before = json.loads(kept.read_text()) if kept.exists() else []
    unwanted = [each for each in before if scene.key_of(each) not in keys]
    kept.write_text(json.dumps([*wanted, *unwanted]))
    translate = for_hcloud if playbook == "hetzner.hcloud" else for_community
    run({"wanted": [translate(each) for each in wanted], "unwanted": unwanted}, "--skip-tags", "read")
    kept.write_text(json.dumps(wanted))


def from_hcloud(each):
    return {**each, "values": [record["value"] for record in each["records"]]}


def from_community(each):
    values = [scene.quoted(value) if each["type"] == "TXT" else value for value in each["value"]]
    return {"name": each["prefix"], "type": each["type"], "ttl": each["ttl"], "values": values}


def held():
    run({}, "--tags", "read")
    read = json.loads((scene.folder / "held.json").read_text())
    scene.say_held(map(from_hcloud if playbook == "hetzner.hcloud" else from_community, read))


scene.play(apply, held)
