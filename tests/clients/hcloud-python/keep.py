"""Keeps the record sets of a team as $CORRAL_WANTED says, and knows from a state file what it has made."""

import json
import os
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent))
import scene
from hcloud import Client
from hcloud.zones import ZoneRecord

# snippet connect
client = Client(
    token=os.environ["HCLOUD_TOKEN"],
    api_endpoint=os.environ["HCLOUD_ENDPOINT"],  # https://dns.example.org/v1
)
# end of snippet

file = scene.folder / "state.json"
state = json.loads(file.read_text()) if file.exists() else {}


def keep(is_now, **more):
    state[scene.key_of(is_now)] = {**is_now, **more}
    file.write_text(json.dumps(state))


def forget(record_set):
    del state[scene.key_of(record_set)]
    file.write_text(json.dumps(state))


def records_of(record_set):
    return [ZoneRecord(value=value) for value in record_set["values"]]


def refresh(zone):
    """Replaces what the state says by what there is."""
    state.clear()
    for rrset in client.zones.get_rrset_all(zone):
        values = [record.value for record in rrset.records]
        keep({"name": rrset.name, "type": rrset.type, "ttl": rrset.ttl, "values": values})


def create(zone, want):
    records = records_of(want)
    created = client.zones.create_rrset(zone, name=want["name"], type=want["type"], ttl=want["ttl"], records=records)
    keep(want, tainted=True)
    created.action.wait_until_finished()
    keep(want)


def change(zone, is_now, want):
    rrset = client.zones.get_rrset(zone, want["name"], want["type"])
    actions = []
    if sorted(is_now["values"]) != sorted(want["values"]):
        actions.append(client.zones.set_rrset_records(rrset, records=records_of(want)))
    if is_now["ttl"] != want["ttl"]:
        actions.append(client.zones.change_rrset_ttl(rrset, ttl=want["ttl"]))
    for action in actions:
        action.wait_until_finished()
    keep(want)


def delete(zone, is_now):
    rrset = client.zones.get_rrset(zone, is_now["name"], is_now["type"])
    client.zones.delete_rrset(rrset).action.wait_until_finished()
    forget(is_now)


def apply():
    zone = client.zones.get(scene.zone)
    refresh(zone)
    wanted = {scene.key_of(each): each for each in scene.wanted()}
    for key in [key for key in state if key not in wanted]:
        delete(zone, state[key])
    for key, want in wanted.items():
        if key not in state:
            create(zone, want)
        elif not scene.same(state[key], want):
            change(zone, state[key], want)


def held():
    scene.say_held(state.values(), [key for key, each in state.items() if each.get("tainted")])


scene.play(apply, held)
