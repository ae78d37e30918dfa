"""Writes a record as lexicon does, and prints one line of JSON for each step.

HETZNER_API_TOKEN=… python walk.py <name> <domain> <port of a name server of this machine>
"""

import json
import os
import sys

import dns.resolver
from lexicon.client import Client
from lexicon.config import ConfigResolver

name, domain, port = sys.argv[1:]
resolver = dns.resolver.Resolver(configure=False)
resolver.nameservers, resolver.port = ["127.0.0.1"], int(port)
dns.resolver.default_resolver = resolver
config = {
    "provider_name": "hetzner",
    "domain": domain,
    "resolve_zone_name": True,  # as its command line does: by asking for SOA records
    "hetzner": {"auth_token": os.environ["HETZNER_API_TOKEN"]},
}

with Client(ConfigResolver().with_dict(config)) as records:

    def say(step, done):
        contents = [each["content"] for each in records.list_records("TXT", name)]
        print(json.dumps({"step": step, "done": done, "contents": contents}), flush=True)

    say("create", records.create_record("TXT", name, "some text"))
    say("add", records.create_record("TXT", name, "another"))
    say("delete one", records.delete_record(None, "TXT", name, "some text"))
    say("delete", records.delete_record(None, "TXT", name))
