from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acpwire.errors import LocalProtocolError, RemoteProtocolError
from acpwire.protocol.v2.content import (
    Annotations,
    AudioContent,
    EmbeddedResource,
    EmbeddedResourceResource,
    ImageContent,
)
from acpwire.services import Audio, File, Image, decode

PNG = b"\x89PNG\r\n\x1a\n\0\0"
JPEG = b"\xff\xd8\xff\xe0\0"
WEBP = b"RIFF\x10\0\0\0WEBPVP8 "
WAV = b"RIFF\x10\0\0\0WAVEfmt "


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (PNG, "image/png"),
        (JPEG, "image/jpeg"),
        (b"GIF87a.", "image/gif"),
        (b"GIF89a.", "image/gif"),
        (WEBP, "image/webp"),
    ],
)
@pytest.mark.req("CONT-03")
def test_the_bytes_of_an_image_tell_its_kind_even_where_its_name_lies(tmp_path, data, kind):
    path = tmp_path / "picture.bmp"
    path.write_bytes(data)
    for image in (Image.from_path(path), Image.from_path(str(path)), Image.from_bytes(data)):
        assert image.mime_type == kind
        assert decode(image) == data


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (WAV, "audio/wav"),
        (b"ID3\x04", "audio/mpeg"),
        (b"\xff\xfb\x90", "audio/mpeg"),
        (b"OggS\0", "audio/ogg"),
        (b"fLaC\0", "audio/flac"),
    ],
)
@pytest.mark.req("CONT-03")
def test_the_bytes_of_a_recording_tell_its_kind(tmp_path, data, kind):
    path = tmp_path / "sound"
    path.write_bytes(data)
    for audio in (Audio.from_path(path), Audio.from_bytes(data)):
        assert audio.mime_type == kind
        assert decode(audio) == data


def test_the_name_tells_what_the_bytes_do_not(tmp_path):
    path = tmp_path / "drawing.svg"
    path.write_bytes(b"<svg/>")
    assert Image.from_path(path).mime_type == "image/svg+xml"


def test_what_the_caller_says_counts_most(tmp_path):
    path = tmp_path / "x.png"
    path.write_bytes(PNG)
    hints = Annotations(priority=0.5)
    image = Image.from_path(path, "image/x-mine", uri="https://example.com/x.png", annotations=hints)
    assert (image.mime_type, image.uri, image.annotations) == ("image/x-mine", "https://example.com/x.png", hints)
    assert Audio.from_bytes(b"?", "audio/x-mine").mime_type == "audio/x-mine"


@pytest.mark.parametrize("make", [Image.from_bytes, Audio.from_bytes])
def test_a_kind_that_nothing_tells_is_asked_for(make):
    with pytest.raises(LocalProtocolError, match="mime_type"):
        make(b"?")
    with pytest.raises(LocalProtocolError, match="is no"):
        make(b"?", "text/plain")


def test_a_file_of_another_kind_is_no_image(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("notes")
    with pytest.raises(LocalProtocolError, match=r"notes\.txt' is no image but `text/plain`"):
        Image.from_path(path)


@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [
        ("notes.md", "# é\n", "text/markdown"),
        ("code.ts", "let x\n", "text/plain"),
        ("unknown", "x", "text/plain"),
        ("drawing.svg", "<svg/>", "image/svg+xml"),
        ("empty", "", "text/plain"),
        ("data.json", "{}", "application/json"),
    ],
)
@pytest.mark.req("CONT-05")
def test_a_file_of_text_is_embedded_as_text(tmp_path, name, data, kind):
    path = tmp_path / name
    path.write_bytes(data.encode())
    block = File.from_path(path)
    assert block.resource == EmbeddedResourceResource(uri=path.as_uri(), text=data, mime_type=kind)
    assert decode(block) == data.encode()


@pytest.mark.parametrize(("name", "data", "kind"), [("x.pdf", b"%PDF\0", "application/pdf"), ("x", b"\xff\xfe", None)])
@pytest.mark.req("CONT-05", "CONT-06")
def test_any_other_file_is_embedded_as_bytes(tmp_path, name, data, kind):
    path = tmp_path / name
    path.write_bytes(data)
    block = File.from_path(path)
    assert block.resource.text is msgspec.UNSET
    assert block.resource.mime_type == kind
    assert decode(block) == data


@given(st.one_of(st.binary(), st.text()))
@pytest.mark.req("CONT-06")
def test_embedded_contents_read_back(data):
    block = File.from_bytes(data, "memory:x")
    assert decode(block) == (data.encode() if isinstance(data, str) else data)


@pytest.mark.req("CONT-04", "CONT-06")
def test_a_link_to_a_file_has_its_uri_size_and_type(tmp_path):
    path = tmp_path / "a b é#?.md"
    path.write_bytes(b"12345")
    link = File.link(path, title="T", description="D")
    assert link.uri == f"{tmp_path.as_uri()}/a%20b%20%C3%A9%23%3F.md"
    assert (link.name, link.size, link.mime_type) == (path.name, 5, "text/markdown")
    assert (link.title, link.description) == ("T", "D")


def test_a_relative_path_is_taken_from_the_working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.txt").write_text("x")
    assert File.link("x.txt").uri == (tmp_path / "x.txt").as_uri()
    assert File.from_path("x.txt").resource.uri == (tmp_path / "x.txt").as_uri()


@pytest.mark.parametrize("name", [".", "missing"])
def test_what_is_no_file_has_no_size(tmp_path, name):
    assert File.link(tmp_path / name).size is None


@pytest.mark.parametrize(
    ("uri", "name", "kind"),
    [
        ("https://example.com/a/b.png?size=1#top", "b.png", "image/png"),
        ("https://example.com/", "example.com", None),
        ("urn:isbn:1234", "isbn:1234", None),
        ("https://example.com/a%20b.gif", "a b.gif", "image/gif"),
        ("memory:", "memory:", None),
        ("https://example.com/x.tar.gz", "x.tar.gz", "application/gzip"),
        ("mcp://server/x.json.br", "x.json.br", "application/octet-stream"),
    ],
)
def test_a_link_may_go_anywhere(uri, name, kind):
    link = File.link(uri)
    assert (link.uri, link.name, link.mime_type, link.size) == (uri, name, kind, None)


def test_a_link_has_the_name_it_is_given():
    link = File.link("https://example.com/x", name="N", mime_type="text/x-mine")
    assert (link.name, link.mime_type) == ("N", "text/x-mine")


@pytest.mark.parametrize(
    "uri", ["https://example.com/a b", "https://example.com/é", "memory:%zz", "memory:a\n", "http://[::1"]
)
@pytest.mark.req("CONT-06")
def test_what_is_no_uri_is_refused(uri):
    for make in (File.link, lambda one: File.from_bytes("", one), lambda one: Image.from_bytes(PNG, uri=one)):
        with pytest.raises(LocalProtocolError, match="is not a URI"):
            make(uri)


@pytest.mark.parametrize("data", ["YQ", "YQ==YQ==", "Y Q==", "YQ=", "é", "YQ==\n", "_w==", "="])
@pytest.mark.parametrize(
    ("block", "path"),
    [
        (lambda data: ImageContent(data=data, mime_type="image/png"), "$.data"),
        (lambda data: AudioContent(data=data, mime_type="audio/wav"), "$.data"),
        (
            lambda data: EmbeddedResource(resource=EmbeddedResourceResource(uri="x:y", blob=data)),
            "$.resource.blob",
        ),
    ],
)
@pytest.mark.req("CONT-06")
def test_invalid_base64_is_refused_and_not_guessed(data, block, path):
    with pytest.raises(RemoteProtocolError, match="base64") as caught:
        decode(block(data))
    assert caught.value.path == path


def test_nothing_is_valid_base64():
    assert decode(ImageContent(data="", mime_type="image/png")) == b""
