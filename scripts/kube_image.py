"""Writes an OCI archive of one layer without a registry, for containerd to import:

    kube_image.py [--entrypoint PATH] OUT.tar localhost/NAME:TAG bin/busybox=/usr/bin/busybox bin/sh->busybox

Called by scripts/setup_kube.sh, with any Python 3."""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import platform
import tarfile
from pathlib import Path

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
FOLDERS = {"bin": 0o755, "etc": 0o755, "tmp": 0o1777, "root": 0o700, "proc": 0o755, "sys": 0o755, "dev": 0o755}
PASSWD = b"root:x:0:0:root:/root:/bin/sh\nuser:x:1000:1000::/tmp:/bin/sh\n"
GROUPS = b"root:x:0:\nuser:x:1000:\n"
TYPE = "application/vnd.oci.image"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("name")
    parser.add_argument("--entrypoint")
    parser.add_argument("items", nargs="*")
    given = parser.parse_args()
    write_archive(given.out, given.name, layer(given.items), given.entrypoint)


def layer(items: list[str]) -> bytes:
    """A tar of the usual folders and these files (path=source) and links (path->target)."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for folder, mode in FOLDERS.items():
            add(tar, folder, mode=mode, type=tarfile.DIRTYPE)
        add(tar, "etc/passwd", PASSWD)
        add(tar, "etc/group", GROUPS)
        for item in items:
            path, is_link, target = item.partition("->")
            if is_link:
                add(tar, path, type=tarfile.SYMTYPE, linkname=target)
            else:
                path, _, source = item.partition("=")
                add(tar, path, Path(source).read_bytes(), mode=0o755)
    return buffer.getvalue()


def write_archive(out: Path, name: str, layer: bytes, entrypoint: str | None) -> None:
    config = encode(
        {
            "architecture": ARCHITECTURES[platform.machine()],
            "os": "linux",
            "config": {"Env": ["PATH=/bin"], "Entrypoint": [entrypoint] if entrypoint else None},
            "rootfs": {"type": "layers", "diff_ids": [digest(layer)]},
        }
    )
    manifest = encode(
        {
            "schemaVersion": 2,
            "mediaType": f"{TYPE}.manifest.v1+json",
            "config": descriptor(f"{TYPE}.config.v1+json", config),
            "layers": [descriptor(f"{TYPE}.layer.v1.tar", layer)],
        }
    )
    named = descriptor(f"{TYPE}.manifest.v1+json", manifest) | {"annotations": {"io.containerd.image.name": name}}
    with tarfile.open(out, "w") as tar:
        add(tar, "oci-layout", b'{"imageLayoutVersion":"1.0.0"}')
        add(tar, "index.json", encode({"schemaVersion": 2, "manifests": [named]}))
        for blob in (layer, config, manifest):
            add(tar, "blobs/sha256/" + digest(blob).removeprefix("sha256:"), blob)


def add(tar: tarfile.TarFile, path: str, content: bytes = b"", *, mode: int = 0o644, **fields: object) -> None:
    member = tarfile.TarInfo(path)
    member.mode, member.size = mode, len(content)
    for field, value in fields.items():
        setattr(member, field, value)
    tar.addfile(member, io.BytesIO(content))


def descriptor(media_type: str, blob: bytes) -> dict[str, object]:
    return {"mediaType": media_type, "digest": digest(blob), "size": len(blob)}


def digest(blob: bytes) -> str:
    return "sha256:" + hashlib.sha256(blob).hexdigest()


def encode(value: object) -> bytes:
    return json.dumps(value).encode()


if __name__ == "__main__":
    main()
