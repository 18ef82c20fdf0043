"""The bytes of a certificate's file: one name a line, in UTF-8, so that people can read it and compare two."""

from __future__ import annotations

from pathlib import Path

from dproof import Categories, Privacy, certify, randomised_response


def test_a_file_is_indented_and_keeps_its_letters(tmp_path: Path) -> None:
    certificate = certify(randomised_response(Categories(["a", "b"]), Privacy(1)), Privacy(1), name="größe")
    certificate.write(tmp_path / "certificate.json")
    text = (tmp_path / "certificate.json").read_bytes().decode()
    assert text.startswith('{\n "format": "dproof certificate",\n "version": 1,\n') and text.endswith("\n}\n")
    assert '"größe"' in text
