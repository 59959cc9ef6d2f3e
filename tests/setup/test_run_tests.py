"""A run without Node.js, without room on the disk, or without a PostgreSQL that lacks pgvector, is no whole one."""

import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

import memory_folder
import run_tests
import second_postgres


def test_without_node_the_javascript_suites_have_failed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(run_tests, "NODE_BIN", tmp_path / "absent")
    suites = [
        *run_tests.javascript_lints(),
        *run_tests.javascript_tests("javascript", tmp_path, {}),
    ]
    assert [(suite.name, suite.passed, suite.failed) for suite in suites] == [
        ("javascript lints", 0, 1),
        ("javascript", 0, 1),
    ]
    assert all("Node.js 20" in str(suite) and "FAILED" in str(suite) for suite in suites)


def test_a_disk_without_room_is_said_before_anything_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    needed = run_tests.GIB_FREE_MIN * 2**30
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=needed))
    assert run_tests.room().failed == 0
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=needed - 2**30))
    (only,) = run_tests.everything()
    assert only.failed == 1
    assert f"{run_tests.GIB_FREE_MIN - 1}.0 GiB free" in str(only)


def test_temporary_files_are_in_memory_where_there_is_enough(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(memory_folder, "MEMORY", tmp_path)
    monkeypatch.setattr(memory_folder, "GIB_FREE_MIN", 0)
    with memory_folder.with_memory_folder({"A": "1"}) as env:
        folder = Path(env.pop("TMPDIR"))
        assert (env, folder.parent) == ({"A": "1"}, tmp_path)
        (folder / "left").touch()
    assert not folder.exists()
    monkeypatch.setattr(memory_folder, "GIB_FREE_MIN", 1 << 30)
    with memory_folder.with_memory_folder({"A": "1"}) as env:
        assert env == {"A": "1"}


def test_a_machine_without_one_gets_ours_without_pgvector(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(second_postgres, "_installed", lambda: None)
    whole = tmp_path / "pginstall" / "bin"
    extensions = tmp_path / "pginstall" / "share" / "extension"
    for folder in (whole, extensions, tmp_path / "pginstall" / "lib"):
        folder.mkdir(parents=True)
    (whole / "initdb").write_text("")
    (extensions.parent.parent / "lib" / "vector.so").write_text("")
    for name in ("vector.control", "vector--0.8.0.sql", "plpgsql.control"):
        (extensions / name).write_text("")
    plain = second_postgres.postgres_without_pgvector(whole)
    assert (plain / "initdb").samefile(whole / "initdb")
    assert [it.name for it in (plain.parent / "share" / "extension").iterdir()] == [
        "plpgsql.control"
    ]
    assert list((plain.parent / "lib").iterdir()) == []
    assert second_postgres.postgres_without_pgvector(whole) == plain


def test_two_that_make_it_at_once_get_the_same(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    whole = tmp_path / "pginstall" / "bin"
    whole.mkdir(parents=True)
    (whole / "initdb").write_text("")
    copy, other = shutil.copytree, []

    def copy_after_another(*arguments: object, **options: object) -> object:
        monkeypatch.setattr(shutil, "copytree", copy)
        other.append(second_postgres._made_from(whole))
        return copy(*arguments, **options)

    monkeypatch.setattr(shutil, "copytree", copy_after_another)
    assert [second_postgres._made_from(whole)] == other
    assert (other[0] / "initdb").samefile(whole / "initdb")
    assert sorted(it.name for it in tmp_path.iterdir()) == ["pginstall", "pginstall_plain"]


def test_what_is_made_of_ours_runs_and_has_no_pgvector() -> None:
    script = run_tests.SETUP / "postgres.sh"
    whole = Path(subprocess.check_output([script], text=True).strip())
    plain = second_postgres._made_from(whole)
    assert second_postgres._fits(plain / "initdb")
    assert not second_postgres._fits(whole / "initdb")
    assert shutil.which(plain / "postgres")
