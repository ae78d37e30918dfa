"""Keeps certificates for the names of $CORRAL_WANTED with certbot. What it has are the certificates in its folder."""

import json
import os
import subprocess
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent))
import dns.resolver
import scene
from certbot.main import main
from cryptography import x509

live = scene.folder / "config" / "live"
credentials = scene.folder / "hetzner.ini"

ARGUMENTS = [
    "certonly",
    "--config", "cli.ini",
    "--server", os.environ["CORRAL_ACME"],
    "--config-dir", str(scene.folder / "config"),
    "--work-dir", str(scene.folder / "work"),
    "--logs-dir", str(scene.folder / "logs"),
    "--non-interactive", "--agree-tos", "--register-unsafely-without-email",
    "--keep-until-expiring", "--expand",
]  # fmt: skip


def certbot(arguments):
    """In a process of its own, as from the command line, but with the resolver of the test."""
    resolver = dns.resolver.Resolver(configure=False)
    host, resolver.port = scene.host_and_port("CORRAL_RESOLVER")
    resolver.nameservers = [host]
    dns.resolver.default_resolver = resolver
    sys.exit(main(arguments))


def apply():
    credentials.write_text(f"dns_hetzner_cloud_api_token = {os.environ['HCLOUD_TOKEN']}\n")
    credentials.chmod(0o600)
    for names in scene.wanted()["certificates"]:
        chosen = [part for name in names for part in ("-d", name)]
        run = [sys.executable, __file__, "certbot", *ARGUMENTS, "--cert-name", names[0], *chosen]
        subprocess.run(run, check=True, cwd=scene.folder)


def names_of(certificate):
    parsed = x509.load_pem_x509_certificate(certificate.read_bytes())
    names = parsed.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return names.get_values_for_type(x509.DNSName)


def held():
    print(json.dumps({"certificates": [names_of(each) for each in sorted(live.glob("*/cert.pem"))]}))


if sys.argv[1] == "certbot":
    certbot(sys.argv[2:])
else:
    scene.play(apply, held)
