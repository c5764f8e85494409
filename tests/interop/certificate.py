"""A certificate that signed itself, made by the very command that the README gives its readers."""

import re
import subprocess
from pathlib import Path

README = Path(__file__).resolve().parents[2] / "README.md"
NAME = "room.example"


def put(text, *places):
    """`text` with each of `(old, new)` in its place; every old one must be there."""
    for old, new in places:
        if old not in text:
            raise RuntimeError(f"the README's snippet does not say {old!r} any more")
        text = text.replace(old, new)
    return text


def certificate(readme, folder):
    """`cert.pem` and `key.pem` in `folder`, for the README's name and for this machine's own."""
    command = re.search(r"^openssl req (?:.*\\\n)*.*$", readme, re.MULTILINE)
    if command is None:
        raise RuntimeError("the README does not say any more how a certificate is made")
    names = (f"DNS:{NAME}", f"DNS:{NAME},DNS:localhost,IP:127.0.0.1")
    subprocess.run(["/bin/sh", "-ec", put(command[0], names)], cwd=folder, check=True, capture_output=True)
    return folder / "cert.pem", folder / "key.pem"
