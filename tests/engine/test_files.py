"""Users' files are replaced completely or left unchanged."""

import copy
import errno
import os
import pickle
from pathlib import Path

import pytest

from engine import files


def test_a_file_is_on_the_disk_before_it_takes_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, synced = tmp_path / "kept.txt", []
    path.write_text("old")
    monkeypatch.setattr(os, "fsync", lambda handle: synced.append((os.fstat(handle).st_size, path.read_text())))
    with files.replacing(path, "w") as file:
        file.write("newer")
    assert synced == [(len("newer"), "old")]
    assert path.read_text() == "newer"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_it_keeps_its_mode_and_a_new_one_has_the_user_s(tmp_path: Path) -> None:
    kept, new = tmp_path / "kept", tmp_path / "new"
    kept.touch()
    kept.chmod(0o640)
    before = os.umask(0o027)
    try:
        for path in (kept, new):
            with files.replacing(path) as file:
                file.write(b"whole")
    finally:
        os.umask(before)
    assert [path.stat().st_mode & 0o777 for path in (kept, new)] == [0o640, 0o640]
    kept.chmod(0o600)
    with files.replacing(kept) as file:
        file.write(b"again")
    assert kept.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("error", [OSError("the disk is full"), KeyboardInterrupt()])
def test_an_error_while_writing_leaves_the_old_file_alone(tmp_path: Path, error: BaseException) -> None:
    path = tmp_path / "kept"
    path.write_bytes(b"old")

    def write() -> None:
        with files.replacing(path) as file:
            file.write(b"half")
            raise error

    with pytest.raises(type(error)):
        write()
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("number", "kind"), [(errno.ENOSPC, OSError), (errno.EACCES, PermissionError), (errno.ENOENT, FileNotFoundError)]
)
def test_what_cannot_be_written_is_told_by_an_error_of_the_system_s_class(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, kind: type[OSError]
) -> None:
    def fail(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(files.Unwritten, match="stays as it was") as reported, files.replacing(tmp_path / "kept"):
        pass
    for error in (reported.value, pickle.loads(pickle.dumps(reported.value)), copy.copy(reported.value)):
        assert isinstance(error, files.Unwritten)
        assert isinstance(error, kind)
        assert isinstance(error, PermissionError) == (kind is PermissionError)
        assert (error.errno, error.strerror) == (number, os.strerror(number))
        assert str(error) == f"'{tmp_path / 'kept'}' cannot be written, and stays as it was: {os.strerror(number)}"


def test_a_place_that_cannot_be_is_told_before_anything_is_written(tmp_path: Path) -> None:
    for path, kind in ((tmp_path, IsADirectoryError), (tmp_path / "none" / "file", FileNotFoundError)):
        with pytest.raises(kind, match=r"^(there is no folder '.*' to|'.*' is a folder; )"), files.replacing(path):
            pass
    assert list(tmp_path.iterdir()) == []
