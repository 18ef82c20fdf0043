"""A release is downloaded part by part: many large downloads at once need little memory, and no thread for long."""

import io
import zipfile

from dproof.serve.pages.asking import _packed
from tests.serve.server import make_folder, send, serving


def test_a_download_is_made_as_it_is_sent(tmp_path):
    (tmp_path / "part").mkdir()
    (tmp_path / "part" / "large.parquet").write_bytes(bytes(range(256)) * (1 << 16))
    (tmp_path / "certificate.json").write_text("{}")
    parts = list(_packed(tmp_path, "r"))
    assert len(parts) > 16 and max(map(len, parts)) < 2 << 20
    packed = zipfile.ZipFile(io.BytesIO(b"".join(parts)))
    assert packed.testzip() is None and packed.namelist() == ["r/certificate.json", "r/part/large.parquet"]
    assert packed.read("r/part/large.parquet") == bytes(range(256)) * (1 << 16)


def test_no_release_no_download(tmp_path):
    with serving(make_folder(tmp_path)) as made:
        told = send(made, "GET", "/releases/nothing/download", token=made.ann)
        assert told.status == 400 and b"there is no release" in told.raw
