"""Sessions at the page: nobody ends another's, and a page of another server on the same machine cannot use one."""

from dproof.serve.tokens import Sessions
from tests.serve.server import make_folder, send, serving


def test_who_signs_in_often_ends_nobodys_session_but_their_own(tmp_path):
    made, sessions = make_folder(tmp_path), Sessions()
    ann, carla = made.tokens.holder(made.ann), made.tokens.holder(made.carla)
    kept, first = sessions.begin(carla), sessions.begin(ann)
    names = [sessions.begin(ann) for _ in range(100)]
    assert sessions.number(kept) == carla.number
    assert sessions.number(first) is None and sessions.number(names[0]) is None
    assert [sessions.number(name) for name in names[-20:]] == [ann.number] * 20


def test_signing_in_is_counted_as_a_request(tmp_path):
    with serving(make_folder(tmp_path), per_second=1, at_once=3, clock=lambda: 0.0) as made:
        told = [send(made, "POST", "/sign-in", f"token={made.ann}".encode()).status for _ in range(4)]
        assert told == [303, 303, 303, 429]


def test_a_page_of_another_port_asks_nothing_of_the_interface_for_programs(tmp_path):
    with serving(make_folder(tmp_path)) as made:
        signed_in = send(made, "POST", "/sign-in", f"token={made.carla}".encode())
        cookie = signed_in.headers["set-cookie"].partition(";")[0]

        def status(path, **headers):
            return send(made, "GET", path, Cookie=cookie, **headers).status

        check = "/api/tables/people/check"  # reads the table, and opens it to analysts
        assert status(check) == status(check, Sec_Fetch_Site="same-origin") == 200
        assert status(check, Sec_Fetch_Site="same-site") == status(check, Sec_Fetch_Site="cross-site") == 403
        assert status(check, Origin="http://127.0.0.1:1") == 403
        assert status("/", Sec_Fetch_Site="cross-site") == 200  # a link to a page may be followed
