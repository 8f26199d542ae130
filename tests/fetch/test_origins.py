"""The five origins: one request, one manifest, and every missing file named."""

from __future__ import annotations

import json
from importlib import metadata
from pathlib import Path

import pytest

from fetch.loopback import FAST, Site, sha256
from remeasure.errors import SourceError
from remeasure.fetch import layout
from remeasure.fetch.manifest import Manifest, RawFile
from remeasure.fetch.origins import Files, Generated, Mirror, Package, Public, resolve
from remeasure.fetch.raw import Wanted

BODIES = {"/d/b.csv": b"bb", "/d/a.csv": b"a", "/c": b"ccc"}


def wanted(site: Site) -> list[Wanted]:
    return [
        Wanted(site.serve(path, body), checksum_url=site.checksum(path, body))
        for path, body in BODIES.items()
    ]


def test_a_public_cache_is_a_mirror_and_looks_like_generated_bytes(
    site: Site, tmp_path: Path
) -> None:
    """One request, three origins: the same entries, whatever the way."""
    request = wanted(site)
    root = tmp_path / "raw" / "public"
    public = resolve("s", Public(root, tmp_path / "raw" / "quarantine", FAST), request)
    paths = [entry.path.partition("/")[2] for entry in public.files]
    assert paths[::2] == ["c", "d/a.csv", "d/b.csv"]
    # Each beside its checksum file, so that an audit hashes both.
    assert paths[1::2] == [f"{path}.CHECKSUM" for path in paths[::2]]
    site.forget()
    before = sorted(root.rglob("*"))
    mirror = resolve("s", Mirror(root), request[::-1])
    generated = resolve("s", Generated(root), request)
    assert site.requests == 0
    assert sorted(root.rglob("*")) == before  # read in place, nothing written
    assert mirror.files == generated.files == public.files
    assert (public.origin, mirror.origin, generated.origin) == ("public", "mirror", "generated")
    assert public.root == str(root)
    assert [public.read_verified(entry) for entry in public.files[::2]] == [b"ccc", b"a", b"bb"]
    offline = Public(root, tmp_path / "raw" / "quarantine", offline=True)
    assert resolve("s", offline, request) == public


def test_a_mirror_names_every_file_that_is_missing_or_wrong(site: Site, tmp_path: Path) -> None:
    request = [*wanted(site), Wanted(site.url("/e")), Wanted(site.url("/f"))]
    known = Wanted(site.url("/k"), sha256=sha256(b"k"))
    root = tmp_path / "mirror"
    for each, body in zip(request, BODIES.values(), strict=False):
        file = root / each.path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(body)
    (root / known.path).write_bytes(b"x")
    first, second, third = request[:3]
    (root / (first.path + ".CHECKSUM")).write_text(f"{sha256(b'other')}  b.csv\n")
    (root / (second.path + ".CHECKSUM")).write_text("no checksum")
    layout.sidecar(root / third.path).write_text(
        json.dumps({"url": third.url, "status": 200, "size": 9, "sha256": "", "etag": ""}
                   | {"retrieved": ""})
    )  # fmt: skip
    with pytest.raises(SourceError) as caught:
        resolve("s", Mirror(root), [*request, known])
    message = str(caught.value)
    assert "2 of 6 files are missing" in message
    assert "4 of 6 files are damaged" in message
    for each in [*request, known]:
        assert each.path in message
    assert "add the missing files to the mirror" in message
    with pytest.raises(SourceError, match="there is no such folder"):
        resolve("s", Mirror(tmp_path / "nowhere"), request)


def test_files_of_a_mirror_without_any_promise_are_taken_as_they_are(tmp_path: Path) -> None:
    each = Wanted("https://h/a")
    (tmp_path / "h").mkdir()
    (tmp_path / "h" / "a").write_bytes(b"a")
    manifest = resolve("s", Mirror(tmp_path), [each])
    assert manifest.files == (RawFile("h/a", 1, sha256(b"a")),)


def test_files_inside_an_installed_package() -> None:
    """The package index of this environment is the truth: version and recorded hashes."""
    version = metadata.version("hypothesis")
    name = "hypothesis/vendor/tlds-alpha-by-domain.txt"
    manifest = resolve("s", Package("hypothesis", version, (name,)))
    (entry,) = manifest.files
    assert manifest.origin == "package"
    assert manifest.read_verified(entry) == (Path(manifest.root) / name).read_bytes()
    with pytest.raises(SourceError, match="not in the package") as caught:
        resolve("s", Package("hypothesis", version, (name, "hypothesis/none.csv")))
    assert "hypothesis/none.csv" in caught.value.what
    with pytest.raises(SourceError, match=f"but {version} is installed") as caught:
        resolve("s", Package("hypothesis", "1.0", (name,)))
    assert caught.value.remedy == "python -m pip install 'hypothesis==1.0'"
    with pytest.raises(SourceError, match=r"no-such-thing==2\.1, which is not installed") as caught:
        resolve("s", Package("no-such-thing", "2.1", (name,)))
    assert caught.value.remedy == "python -m pip install 'no-such-thing==2.1'"


def test_a_package_file_edited_after_installation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = tmp_path / "toy-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: toy\nVersion: 1.0\n")
    (tmp_path / "toy.csv").write_bytes(b"rows")
    import base64

    digest = base64.urlsafe_b64encode(bytes.fromhex(sha256(b"rows"))).rstrip(b"=").decode()
    (info / "RECORD").write_text(f"toy.csv,sha256={digest},4\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    manifest = resolve("s", Package("toy", "1.0", ("toy.csv",)))
    assert manifest.files == (RawFile("toy.csv", 4, sha256(b"rows")),)
    (tmp_path / "toy.csv").write_bytes(b"Rows")
    with pytest.raises(SourceError, match=r"toy\.csv: edited after it was installed"):
        resolve("s", Package("toy", "1.0", ("toy.csv",)))


def test_files_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "run" / "mine").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "run")
    for name in ("mine/a.parquet", "mine/b.parquet", "../c.parquet"):
        Path(name).write_bytes(name.encode())
    one = resolve("s", Files((Path("mine/b.parquet"), Path("mine/a.parquet"))))
    assert (one.root, [entry.path for entry in one.files]) == ("mine", ["a.parquet", "b.parquet"])
    single = resolve("s", Files((Path("mine/b.parquet"),)))
    assert (single.root, single.files[0].path) == ("mine", "b.parquet")
    paths = (Path("mine/a.parquet"), Path("../c.parquet"))
    mixed = resolve("s", Files(paths))
    assert mixed.root == str(tmp_path)
    for path in paths:  # found again as the user wrote it
        assert mixed.read_verified(mixed.entry(path)) == str(path).encode()
    Path("link.parquet").symlink_to(tmp_path / "c.parquet")
    linked = resolve("s", Files((Path("link.parquet"),)))
    assert linked.files[0].path == "link.parquet"
    assert linked.read_verified(linked.entry("link.parquet")) == b"../c.parquet"
    with pytest.raises(SourceError, match="2 of 3 files of s do not exist") as caught:
        resolve("s", Files((Path("x"), Path("mine/a.parquet"), Path("y"))))
    assert "- x" in caught.value.what
    assert "- y" in caught.value.what
    with pytest.raises(SourceError, match="0 of 0 files"):
        resolve("s", Files(()))


def test_manifests_of_origins_survive_writing(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"a")
    manifest = resolve("s", Files((tmp_path / "a",)))
    manifest.write(tmp_path / "m.json")
    assert Manifest.read(tmp_path / "m.json") == manifest
