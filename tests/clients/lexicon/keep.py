"""Keeps the record sets of a team as $CORRAL_WANTED says, by the calls that the commands of lexicon make."""

import os
import sys
from contextlib import ExitStack
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent))
import dns.resolver
import scene
from lexicon.client import Client
from lexicon.config import ConfigResolver

resolver = dns.resolver.Resolver(configure=False)
host, resolver.port = scene.host_and_port("CORRAL_NAME_SERVER")
resolver.nameservers = [host]
dns.resolver.default_resolver = resolver


def connect(ttl=None):
    config = {
        "provider_name": "hetzner",
        "domain": f"{scene.team}.{scene.zone}",
        "resolve_zone_name": True,  # as its command line does: by asking for SOA records
        "ttl": ttl,
        "hetzner": {"auth_token": os.environ["HETZNER_API_TOKEN"]},
    }
    return Client(ConfigResolver().with_dict(config))


def sets_there(records):
    return scene.sets_of(
        (
            each["name"].removesuffix(f".{scene.zone}"),
            each["type"],
            each["ttl"],
            scene.quoted(each["content"]) if each["type"] == "TXT" else each["content"],
        )
        for each in records.list_records()
    )


def contents_of(record_set):
    values = record_set["values"]
    return [scene.unquoted(value) for value in values] if record_set["type"] == "TXT" else values


def must(done):
    if not done:
        sys.exit("The action of a change has failed.")


def change(records, want, is_now):
    """The time to live is that of the connection. lexicon cannot change it without the records, so it makes the set anew."""
    rtype, name, contents = want["type"], want["name"], contents_of(want)
    if is_now is not None and is_now["ttl"] != want["ttl"]:
        must(records.delete_record(None, rtype, name))
        is_now = None
    before = [] if is_now is None else contents_of(is_now)
    if len(before) == 1 and len(contents) == 1 and before != contents:
        must(records.update_record(None, rtype, name, contents[0]))
        return
    for content in contents:
        if content not in before:
            must(records.create_record(rtype, name, content))
    for content in before:
        if content not in contents:
            must(records.delete_record(None, rtype, name, content))


def apply():
    with ExitStack() as connections:
        anyone = connections.enter_context(connect())
        there = {scene.key_of(each): each for each in sets_there(anyone)}
        wanted = {scene.key_of(each): each for each in scene.wanted()}
        for key, each in there.items():
            if key not in wanted:
                must(anyone.delete_record(None, each["type"], each["name"]))
        with_ttl = {}
        for key, want in wanted.items():
            if key in there and scene.same(there[key], want):
                continue
            if want["ttl"] not in with_ttl:
                with_ttl[want["ttl"]] = connections.enter_context(connect(want["ttl"]))
            change(with_ttl[want["ttl"]], want, there.get(key))


def held():
    with connect() as records:
        scene.say_held(sets_there(records))


scene.play(apply, held)
