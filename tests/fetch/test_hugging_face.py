"""Checkpoints of a hub on loopback: pinned, listed, verified, and mirrored."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from fetch.loopback import FAST, Site, sha256
from remeasure.errors import DataError, SourceError
from remeasure.fetch.hugging_face import (
    Checkpoint,
    blob_sha1,
    fetch_checkpoint,
    planned_files,
    weights,
)
from remeasure.fetch.manifest import Manifest
from remeasure.fetch.origins import Mirror, Public

COMMIT = "0123456789abcdef0123456789abcdef01234567"
BODIES = {
    "config.json": b'{"layers": 2}',
    "tokenizer.json": b"{}",
    "model.safetensors": b"\x00" * 5000,
    "pytorch_model.bin": b"pickle",
    "modeling.py": b"print()",
    "onnx/model.safetensors": b"elsewhere",
}


def listing(bodies: dict[str, bytes] = BODIES) -> bytes:
    entries: list[dict[str, object]] = [
        {"type": "directory", "path": "onnx", "oid": "x", "size": 0}
    ]
    for path, body in bodies.items():
        entry: dict[str, object] = {
            "type": "file",
            "path": path,
            "size": len(body),
            "oid": "f" * 40,
        }
        if path.endswith((".safetensors", ".bin")):
            entry["lfs"] = {"oid": sha256(body), "size": len(body), "pointerSize": 130}
        else:
            entry["oid"] = blob_sha1(body)
        entries.append(entry)
    return json.dumps(entries).encode()


def hub(site: Site) -> str:
    site.serve(f"/api/models/a/b/tree/{COMMIT}?recursive=true", listing())
    site.serve("/api/models/a/b/revision/main", json.dumps({"sha": COMMIT, "id": "a/b"}).encode())
    for path, body in BODIES.items():
        site.serve(f"/a/b/resolve/{COMMIT}/{path}", body, ranges=True)
    return site.base


def public(tmp_path: Path) -> Public:
    return Public(tmp_path / "raw" / "public", tmp_path / "raw" / "quarantine", FAST)


def names(manifest: Manifest) -> list[str]:
    return [entry.path.rpartition("/")[2] for entry in manifest.files if "resolve" in entry.path]


def test_gits_name_of_a_blob(tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_bytes(b"some bytes\0")
    git = shutil.which("git")
    if git is None:
        pytest.skip("git is not installed")
    found = subprocess.run([git, "hash-object", str(file)], capture_output=True, check=True)
    assert found.stdout.decode().strip() == blob_sha1(b"some bytes\0")


def test_settings_and_weights_arrive_once_and_code_never(site: Site, tmp_path: Path) -> None:
    base = hub(site)
    manifest = fetch_checkpoint("s", public(tmp_path), Checkpoint(id="a/b"), hub=base)
    assert names(manifest) == ["config.json", "model.safetensors", "tokenizer.json"]
    config, tensors = weights(manifest)
    assert config.read_bytes() == BODIES["config.json"]
    assert [path.read_bytes() for path in tensors] == [BODIES["model.safetensors"]]
    assert not any(path.endswith((".bin", ".py")) for path in site.asked)
    site.forget()
    assert fetch_checkpoint("s", public(tmp_path), Checkpoint(id="a/b"), hub=base) == manifest
    assert site.requests == 0


def test_a_branch_stays_at_the_commit_that_it_named_first(site: Site, tmp_path: Path) -> None:
    base = hub(site)
    first = fetch_checkpoint("s", public(tmp_path), Checkpoint(id="a/b"), hub=base)
    site.serve("/api/models/a/b/revision/main", json.dumps({"sha": "e" * 40}).encode())
    assert fetch_checkpoint("s", public(tmp_path), Checkpoint(id="a/b"), hub=base) == first


def test_a_pinned_commit_asks_for_no_branch(site: Site, tmp_path: Path) -> None:
    base = hub(site)
    fetch_checkpoint("s", public(tmp_path), Checkpoint(id="a/b", revision=COMMIT), hub=base)
    assert not any("revision" in path for path in site.asked)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_other_bytes_than_those_listed_are_refused(site: Site, tmp_path: Path, name: str) -> None:
    base = hub(site)
    body = BODIES[name]
    site.serve(f"/a/b/resolve/{COMMIT}/{name}", body[:-1] + b"!")
    with pytest.raises(SourceError, match=name):
        fetch_checkpoint("s", public(tmp_path), Checkpoint(id="a/b"), hub=base)
    assert list((tmp_path / "raw" / "quarantine").rglob(f"*{name}*"))


@pytest.mark.parametrize(
    ("page", "body", "message"),
    [
        ("revision/main", b'{"sha": "main"}', "sha"),
        (f"tree/{COMMIT}?recursive=true", b'{"error": "x"}', "the answer"),
        (f"tree/{COMMIT}?recursive=true", b'[{"type": "file", "path": "a"}]', "0.oid"),
    ],
)
def test_an_answer_of_another_form_is_refused_by_field(
    site: Site, tmp_path: Path, page: str, body: bytes, message: str
) -> None:
    base = hub(site)
    site.serve(f"/api/models/a/b/{page}", body)
    with pytest.raises((DataError, SourceError), match=message):
        fetch_checkpoint("s", public(tmp_path), Checkpoint(id="a/b"), hub=base)


def test_a_repository_without_safetensors_is_refused(site: Site, tmp_path: Path) -> None:
    base = hub(site)
    few = {name: BODIES[name] for name in ("config.json", "pytorch_model.bin")}
    site.serve(f"/api/models/a/b/tree/{COMMIT}?recursive=true", listing(few))
    with pytest.raises(SourceError, match=r"no config.json with safetensors weights"):
        fetch_checkpoint("s", public(tmp_path), Checkpoint(id="a/b"), hub=base)


def test_the_cache_is_a_mirror_with_its_pages_or_without(site: Site, tmp_path: Path) -> None:
    base = hub(site)
    wanted = Checkpoint(id="a/b", revision=COMMIT)
    fetched = fetch_checkpoint("s", public(tmp_path), wanted, hub=base)
    root = tmp_path / "raw" / "public"
    site.forget()
    assert fetch_checkpoint("s", Mirror(root), wanted, hub=base).files == fetched.files
    shutil.rmtree(next(root.rglob("api")))
    bare = fetch_checkpoint("s", Mirror(root), wanted, hub=base)
    assert names(bare) == names(fetched)
    assert weights(bare)[0].read_bytes() == BODIES["config.json"]
    assert site.requests == 0
    with pytest.raises(SourceError, match="found: nothing"):
        fetch_checkpoint("s", Mirror(root), Checkpoint(id="a/c"), hub=base)


def test_what_would_be_fetched_is_known_once_the_listing_is(site: Site, tmp_path: Path) -> None:
    base = hub(site)
    root = tmp_path / "raw" / "public"
    (unknown,) = planned_files(root, Checkpoint(id="a/b"), hub=base)
    assert unknown.url == f"{base}/a/b/resolve/main/{{every-file}}"
    fetch_checkpoint("s", public(tmp_path), Checkpoint(id="a/b"), hub=base)
    known = planned_files(root, Checkpoint(id="a/b"), hub=base)
    assert [each.name for each in known] == ["config.json", "model.safetensors", "tokenizer.json"]
    assert [each.size for each in known] == [len(BODIES[each.name]) for each in known]
    assert all(COMMIT in each.url for each in known)
