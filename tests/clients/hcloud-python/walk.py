"""Walks through everything that hcloud-python does with record sets, and prints one line of JSON for each step.

Without HCLOUD_ENDPOINT it asks the address that is built in.

HCLOUD_ENDPOINT=… HCLOUD_TOKEN=… python walk.py <zone> <team>
"""

import json
import os
import sys

from hcloud import APIException, Client
from hcloud.zones import ZoneRecord


def say(step, **what):
    print(json.dumps({"step": step, **what}), flush=True)


def say_rrset(step, rrset):
    values = [record.value for record in rrset.records]
    say(step, id=rrset.id, ttl=rrset.ttl, labels=rrset.labels, values=values)


def walk(client, zone_name, team):
    zone = client.zones.get(zone_name)
    say("zone", id=zone.id, name=zone.name, mode=zone.mode)
    say("zones", names=[each.name for each in client.zones.get_all()])
    name = f"python.{team}"

    created = client.zones.create_rrset(
        zone,
        name=name,
        type="TXT",
        ttl=300,
        labels={"made-by": "hcloud-python"},
        records=[ZoneRecord(value='"one"', comment="first")],
    )
    created.action.wait_until_finished()
    rrset = client.zones.get_rrset(zone, name, "TXT")
    say_rrset("create", rrset)

    steps = [
        ("add", lambda: client.zones.add_rrset_records(rrset, records=[ZoneRecord(value='"two"')], ttl=300)),
        ("set", lambda: client.zones.set_rrset_records(rrset, records=[ZoneRecord(value='"three"'), ZoneRecord(value='"four"')])),
        ("remove", lambda: client.zones.remove_rrset_records(rrset, records=[ZoneRecord(value='"three"')])),
        ("change_ttl", lambda: client.zones.change_rrset_ttl(rrset, ttl=600)),
    ]
    for step, change in steps:
        change().wait_until_finished()
        say_rrset(step, client.zones.get_rrset(zone, name, "TXT"))

    say_rrset("update", client.zones.update_rrset(rrset, labels={"made-by": "somebody"}))
    say("list", ids=[each.id for each in client.zones.get_rrset_all(zone)])
    page = client.zones.get_rrset_list(zone, name=name, type=["TXT"], label_selector="made-by=somebody")
    say("filter", ids=[each.id for each in page.rrsets], total=page.meta.pagination.total_entries)

    action = client.zones.change_rrset_ttl(rrset, ttl=900)
    say("action", status=client.zones.actions.get_by_id(action.id).status in ("running", "success"))

    try:
        client.zones.create_rrset(zone, name="www.somebody-else", type="A", records=[ZoneRecord(value="192.0.2.1")])
    except APIException as error:
        say("foreign", code=error.code)

    client.zones.delete_rrset(rrset).action.wait_until_finished()
    try:
        client.zones.get_rrset(zone, name, "TXT")
    except APIException as error:
        say("delete", code=error.code)


options = {}
if "HCLOUD_ENDPOINT" in os.environ:
    # As the README has it, and as people write it: with a slash at the end.
    options["api_endpoint"] = os.environ["HCLOUD_ENDPOINT"] + "/"
walk(Client(token=os.environ["HCLOUD_TOKEN"], **options), *sys.argv[1:])
