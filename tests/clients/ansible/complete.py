"""Adds the collections that the playbooks use to the environment: Ansible Galaxy is one more address that CI would need.

They come from the package `ansible`. Its modules run with any supported ansible-core, so its version of Python does not matter.

python complete.py <folder of the environment>
"""

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZipFile

COLLECTIONS = ("hetzner/hcloud", "community/dns", "community/library_inventory_filtering_v1")

pinned = str(Path(__file__).with_name("collections.txt"))
anywhere = ["--no-deps", "--only-binary", ":all:", "--python-version", "3.14"]
with TemporaryDirectory() as downloads:
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "download", *anywhere, "--dest", downloads, "--requirement", pinned], check=True)
    (wheel,) = Path(downloads).iterdir()
    with ZipFile(wheel) as files:
        wanted = tuple(f"ansible_collections/{each}/" for each in COLLECTIONS)
        chosen = [name for name in files.namelist() if name.startswith(wanted)]
        files.extractall(Path(sys.argv[1], "collections"), chosen)
