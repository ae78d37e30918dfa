"""Keeps the record sets of a team with `octodns-sync`. What it believes to have is what `octodns-dump` writes."""

import json
import subprocess
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent))
import scene
import yaml


def run(command, *arguments):
    module = ["-m", f"octodns.cmds.{command}", "--config-file", "config.yaml"]
    subprocess.run([sys.executable, *module, *arguments], check=True, cwd=scene.folder)


def file_of(folder):
    return scene.folder / folder / f"{scene.zone}.yaml"


def declared(want):
    """A record as octoDNS has it: a text is not quoted."""
    values = [scene.unquoted(value) if want["type"] == "TXT" else value for value in want["values"]]
    several = {"values": values} if want["type"] != "CNAME" else {"value": values[0]}
    return {"type": want["type"], "ttl": want["ttl"], **several}


def apply():
    zone = {}
    for want in scene.wanted():
        zone.setdefault(want["name"], []).append(declared(want))
    file_of("zones").parent.mkdir(exist_ok=True)
    file_of("zones").write_text(json.dumps(zone))
    run("sync", "--doit", "--force")


def held():
    run("dump", "--output-dir", "dumped", f"{scene.zone}.", "corral")
    dumped = yaml.safe_load(file_of("dumped").read_text()) or {}
    records = []
    for name, several in dumped.items():
        for each in several if isinstance(several, list) else [several]:
            values = each.get("values", [each.get("value")])
            for value in values:
                text = scene.quoted(value) if each["type"] == "TXT" else value
                records.append((name, each["type"], each.get("ttl", 3600), text))
    scene.say_held(scene.sets_of(records))


scene.play(apply, held)
