"""The exit code of the stand-alone verifier: 0 where a certificate holds, 1 where it does not, 2 without a file."""

from __future__ import annotations

from pathlib import Path

from dproof import Categories, Privacy, certify, randomised_response
from dproof.certification.verify_certificate import main


def test_what_holds_ends_with_0_and_nothing_else_does(tmp_path: Path) -> None:
    path = tmp_path / "certificate.json"
    certify(randomised_response(Categories(["a", "b"]), Privacy(1)), Privacy(1)).write(path)
    assert main([str(path)]) == 0 and main([]) == 2
    path.write_text(path.read_text("utf-8").replace('"epsilon": "1"', '"epsilon": "1/2"'), "utf-8")
    assert main([str(path)]) == 1
