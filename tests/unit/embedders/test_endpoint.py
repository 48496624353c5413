"""The endpoint: what it sends, and that nothing a server may answer is believed unseen. The server
is a real one."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from lamina.embedders.endpoint import BATCH, MAX_ANSWER, MAX_CHARACTERS, Endpoint
from lamina.errors import EmbedderFailed, InvalidInput
from tests.cases import every
from tests.http_fakes import KEY, ModelHandler, ModelServer, says


def vector(text: str) -> list[float]:
    return [len(text), 1, 2.5]


def good(handler: ModelHandler, question: dict[str, Any]) -> None:
    data = [
        {"object": "embedding", "index": n, "embedding": vector(text)}
        for n, text in enumerate(question["input"])
    ]
    handler.answer(
        json.dumps(
            {"object": "list", "data": data, "model": question["model"], "usage": {}}
        ).encode(),
        200,
        {},
    )


def data(*embeddings: object) -> str:
    return json.dumps(
        {"data": [{"index": n, "embedding": found} for n, found in enumerate(embeddings)]}
    )


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(good) as running:
        yield running


def endpoint(server: ModelServer, timeout: float = 20, key: str | None = KEY) -> Endpoint:
    return Endpoint(server.address, "nomic-embed-text", key, timeout)


def failure(made: Endpoint, *texts: str) -> str:
    """The message of the failure, which never holds the key."""
    with pytest.raises(EmbedderFailed) as caught:
        made.embed(texts or ["tea"])
    assert KEY not in str(caught.value.to_dict())
    assert made.url.geturl() in caught.value.message
    return caught.value.message


def test_texts_become_rows(server: ModelServer) -> None:
    """One row of length 1 per text, in order; the question is what the protocol says."""
    made = endpoint(server)
    rows = made.embed(["tea", "coffee"])
    expected = np.array([vector("tea"), vector("coffee")])
    assert np.allclose(rows, expected / np.linalg.norm(expected, axis=1, keepdims=True))
    assert (rows.dtype, rows.flags.c_contiguous, made.dimensions) == (np.dtype(np.float32), True, 3)
    [(path, headers, question)] = server.seen
    assert path == "/v1/embeddings"
    assert headers["Authorization"] == f"Bearer {KEY}"
    assert question == {
        "model": "nomic-embed-text",
        "input": ["tea", "coffee"],
        "encoding_format": "float",
    }


def test_without_a_key_none_is_sent(server: ModelServer) -> None:
    """A server of one's own needs no key."""
    endpoint(server, key=None).embed(["tea"])
    assert "Authorization" not in server.seen[0][1]


def test_dimensions_are_asked_for_once(server: ModelServer) -> None:
    """Nobody has to say how long the vectors are; the server is asked when it matters."""
    made = endpoint(server)
    assert server.seen == []
    assert (made.dimensions, made.dimensions) == (3, 3)
    assert len(server.seen) == 1


def test_empty_texts_are_not_sent(server: ModelServer) -> None:
    """A text without words is a row of zeros; servers refuse such texts."""
    rows = endpoint(server).embed(["", "tea", " \n"])
    assert [bool(row.any()) for row in rows] == [False, True, False]
    assert [question["input"] for _, _, question in server.seen] == [["tea"]]


def test_long_texts_are_cut(server: ModelServer) -> None:
    """Of a very long text the beginning is sent."""
    endpoint(server).embed(["é" * (MAX_CHARACTERS + 1)])
    assert server.seen[0][2]["input"] == ["é" * MAX_CHARACTERS]


def test_many_texts_are_sent_in_batches(server: ModelServer) -> None:
    """No request holds more than 64 texts, and the rows stay in order."""
    texts = ["x" * (n + 1) for n in range(2 * BATCH + 3)]
    rows = endpoint(server).embed(texts)
    assert [len(question["input"]) for _, _, question in server.seen] == [BATCH, BATCH, 3]
    assert np.all(np.diff(rows[:, 0]) > 0)


def test_answers_may_come_in_any_order(server: ModelServer) -> None:
    """The index of a vector says which text it belongs to."""

    def backwards(handler: ModelHandler, question: dict[str, Any]) -> None:
        found = [
            {"index": n, "embedding": vector(text)} for n, text in enumerate(question["input"])
        ]
        handler.answer(json.dumps({"data": found[::-1]}).encode(), 200, {})

    made = endpoint(server)
    expected = made.embed(["tea", "coffee", "chocolate"])
    server.play = backwards
    assert np.array_equal(made.embed(["tea", "coffee", "chocolate"]), expected)


def test_answers_without_numbers_are_in_order(server: ModelServer) -> None:
    """A server that leaves the index out means the order of the question."""
    server.play = says('{"data": [{"embedding": [1, 0]}, {"embedding": [0, 3]}]}')
    assert endpoint(server).embed(["a", "b"]).tolist() == [[1, 0], [0, 1]]


@every(
    ("body", "message"),
    [
        ("<html>hello</html>", "something other than vectors"),
        ("", "something other than vectors"),
        (b"\xff\xfe\x00", "something other than vectors"),
        ("[" * 100_000, "something other than vectors"),
        ('{"data": ' + '{"a":' * 100_000, "something other than vectors"),
        ('{"error": "model not found"}', "something other than vectors"),
        ('{"data": [{"index": 0, "embedding": [1, NaN]}]}', "something other than vectors"),
        ('{"data": [{"index": 0, "embedding": [1, Infinity]}]}', "something other than vectors"),
        (data([1, None]), "something other than vectors"),
        (data([1, "2"]), "something other than vectors"),
        (data([1, [2]]), "something other than vectors"),
        (data([1, True]), "something other than vectors"),
        (data("AACAPw=="), "something other than vectors"),
        (data({"0": 1}), "something other than vectors"),
        (data([1, 2])[:-1], "something other than vectors"),
        (
            '{"data": [{"index": 0, "embedding": [1, 1e999]}]}',
            "something other than vectors|not a number",
        ),
        (
            '{"data": [{"index": 0, "embedding": [1, 1' + "0" * 400 + "]}]}",
            "something other than vectors|not a number",
        ),
        (data([1, 1e39]), "infinite or not a number"),
        (data([0, 0.0, -0.0]), "vector of zeros"),
        (data([1e-60, 0]), "vector of zeros"),
        (data([]), "different dimensions: 0"),
        (data(), "0 vectors for 1 texts"),
        (data([1, 2], [1, 2]), "2 vectors for 1 texts"),
        (
            '{"data": [{"index": 1, "embedding": [1, 2]}]}',
            r"numbered the vectors of 1 texts as \[1\]",
        ),
        ('{"data": [{"index": -1, "embedding": [1, 2]}]}', "numbered"),
    ],
)
def test_a_wrong_answer_is_not_believed(
    server: ModelServer, body: bytes | str, message: str
) -> None:
    """Whatever is not exactly one vector of finite numbers for each text is a typed error that says
    what came."""
    server.play = says(body)
    with pytest.raises(EmbedderFailed, match=message):
        endpoint(server).embed(["tea"])


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (data([1, 2]), "1 vectors for 2 texts"),
        (data([1, 2], [1, 2, 3]), "different dimensions: 2, 3"),
        (
            '{"data": [{"index": 0, "embedding": [1]}, {"index": 0, "embedding": [2]}]}',
            r"as \[0, 0\]",
        ),
        ('{"data": [{"index": 0, "embedding": [1]}, {"embedding": [2]}]}', r"as \[0, None\]"),
    ],
)
def test_a_wrong_answer_for_two_is_not_believed(
    server: ModelServer, body: str, message: str
) -> None:
    """Too few vectors, of unequal dimensions, or two for one text: nothing of it is used."""
    server.play = says(body)
    assert message.replace("\\", "") in failure(endpoint(server), "a", "b")


def test_dimensions_may_not_change(server: ModelServer) -> None:
    """Vectors of another length than before are of another space."""
    made = endpoint(server)
    made.embed(["tea"])
    server.play = says(data([1, 2, 3, 4]))
    assert "different dimensions: 3, 4" in failure(made)


def test_a_huge_answer_is_not_read_to_its_end(server: ModelServer) -> None:
    """An answer larger than any honest one is given up."""

    def huge(handler: ModelHandler, _: object) -> None:
        handler.send_response(200)
        handler.end_headers()
        while not handler.server.over.is_set():
            handler.wfile.write(b" " * 2**20)

    server.play = huge
    assert f"more than {MAX_ANSWER} bytes" in failure(endpoint(server))


@pytest.mark.parametrize("status", [400, 401, 404, 429, 500, 503, 204])
def test_errors_are_quoted_briefly(server: ModelServer, status: int) -> None:
    """The message holds the status, but nothing of what the server said: that may be the key, or
    another user's text."""
    body = (
        b""
        if status == 204
        else b'{"error": "Wrong key ' + KEY.encode() + b'",\n "rest": "' + b"x" * 100_000
    )
    server.play = says(body, status)
    message = failure(endpoint(server))
    assert f"HTTP {status}" in message
    assert len(message) < 400
    assert "Wrong key" not in message


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_not_followed(server: ModelServer, status: int) -> None:
    """Texts and keys go to the address that was set, and to no other."""
    with ModelServer(good) as other:
        server.play = says("", status, {"Location": f"{other.address}/embeddings?key={KEY}"})
        message = failure(endpoint(server))
        assert f"redirects to {other.address}/embeddings?key=***" in message
        assert other.seen == []
    assert len(server.seen) == 1


@pytest.mark.parametrize(
    ("head", "drop"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n", b" "),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
        (b"HTTP/1.1 200 OK\r\n\r\n", b" "),
        (b"HTTP/1.1 200 OK\r\nX-Long: ", b"x"),
        (b"", b""),
    ],
)
def test_a_slow_server_is_given_up(server: ModelServer, head: bytes, drop: bytes) -> None:
    """The time limit is for the whole answer: a server that sends a byte now and then gains nothing
    by it."""
    server.play = lambda handler, _: handler.drip(head, drop)
    assert "did not answer within 0.2 seconds" in failure(endpoint(server, timeout=0.2))
    for thread in [found for found in threading.enumerate() if found.name == "lamina-endpoint"]:
        thread.join(20)
        assert not thread.is_alive()


@pytest.mark.parametrize(
    "head", [b"", b"SSH-2.0-OpenSSH_9\r\n", b"HTTP/1.1 abc\r\n\r\n", b"\0" * 100_000]
)
def test_what_is_no_web_server_is_a_typed_error(server: ModelServer, head: bytes) -> None:
    """A port with something else behind it, or that hangs up."""

    def other(handler: ModelHandler, _: object) -> None:
        handler.wfile.write(head)

    server.play = other
    assert "cannot be reached" in failure(endpoint(server))


def test_a_server_without_a_certificate_is_a_typed_error(server: ModelServer) -> None:
    """Where https was set, nothing is said before the server has proved who it is."""
    made = Endpoint(server.address.replace("http", "https"), "m", KEY, 20)
    assert "cannot be reached" in failure(made)
    assert server.seen == []


def test_a_cut_answer_is_a_typed_error(server: ModelServer) -> None:
    """A connection that breaks in the middle gives no vectors."""
    server.play = says(data([1, 2])[:20], headers={"Content-Length": "1000"})
    assert "something other than vectors" in failure(endpoint(server))


def test_a_server_that_is_down_is_a_typed_error() -> None:
    """Nobody listens: the message says so and asks whether the server runs."""
    with ModelServer(good) as gone:
        made = endpoint(gone)
    assert "start the server" in failure(made)


def test_a_failure_is_not_remembered(server: ModelServer) -> None:
    """When the server is well again, so is the embedder."""
    made = endpoint(server)
    server.play = says("", 503)
    failure(made)
    server.play = good
    assert made.embed(["tea"]).shape == (1, 3)


@every(
    "address",
    [
        "",
        "localhost:11434",
        "ftp://localhost/v1",
        "http://",
        "http:///v1",
        "http://localhost:port/v1",
        "http://localhost:99999",
        "http://[::1/v1",
        "http://localhost/v1?api-version=1",
        "http://localhost/v1#x",
        "http://local host/v1",
        "http://localhost/v1\r\nX-Evil: 1",
        "http://münchen.example/v1",
    ],
)
def test_addresses_are_plain(address: str) -> None:
    """What is not a plain http or https address is refused when the embedder is made, with an
    example of one."""
    with pytest.raises(InvalidInput, match=r"such as http://localhost:11434/v1"):
        Endpoint(address, "m", None, 1)


def test_secrets_in_addresses_are_refused_and_not_shown() -> None:
    """The address is part of the name of the vector space, and names are stored and shown."""
    with pytest.raises(InvalidInput, match="user or password") as caught:
        Endpoint(f"https://me:{KEY}@example.org/v1", "m", None, 1)
    assert KEY not in str(caught.value.to_dict())


@pytest.mark.parametrize("key", [f"{KEY}\r\nX-Evil: 1", f"{KEY} ", f"{KEY}é", f"{KEY}\0"])
def test_keys_that_are_no_keys_are_refused_and_not_shown(key: str) -> None:
    """A key with a line end would write headers of its own."""
    with pytest.raises(InvalidInput, match="the key") as caught:
        Endpoint("http://localhost/v1", "m", key, 1)
    assert KEY not in str(caught.value.to_dict())
