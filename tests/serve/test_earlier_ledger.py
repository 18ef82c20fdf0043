"""A table is not sent under the name of an earlier one: the stored answers of that would be told of other people."""

from tests.serve.server import make_folder, send, serving


def test_a_name_with_a_ledger_is_taken(tmp_path):
    with serving(make_folder(tmp_path)) as made:
        (tmp_path / "tables" / "people.csv").unlink()
        told = send(made, "PUT", "/api/files/people.csv", b"sex,age\nf,34\n", made.carla)
        assert told.status == 400 and "ledger of an earlier table 'people'" in told.json["error"]
        assert list((tmp_path / "tables").iterdir()) == []
        assert send(made, "PUT", "/api/files/people2.csv", b"sex,age\nf,34\n", made.carla).status == 201
