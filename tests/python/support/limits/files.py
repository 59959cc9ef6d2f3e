"""Limits of files, uploads, the drive and archives of artifacts."""

import io
import tarfile
from typing import Any
from urllib.parse import urlencode

from support.limits.rows import (
    ANSWERS,
    Asked,
    Over,
    Rows,
    Unshown,
    World,
    get,
    packed,
    post,
    shown_by,
    text,
)

NAMESPACE = ["files"]
# What a search does at its limits: it answers what it has, and that it was cut.
CUT = "tests/contract/files.rs::a_search_that_the_server_cuts_says_so"


def write(**fields: Any) -> Asked:
    fields = {"namespace": NAMESPACE, "path": "/a", "content": "x"} | fields
    return post("/v1/files/write", **fields)


def glob(pattern: str, **fields: Any) -> Asked:
    return post("/v1/files/glob", namespace=NAMESPACE, pattern=pattern, **fields)


def factors(number: int) -> list[int]:
    """Those of 1,000 and of 1,001 are small."""
    found = []
    for factor in range(2, number + 1):
        while number % factor == 0:
            found.append(factor)
            number //= factor
    return found


def braces(count: int) -> str:
    """A pattern that stands for so many."""
    return "{" + ",".join(str(it) for it in range(count)) + "}"


def upload(*files: dict[str, Any]) -> Asked:
    return packed("/v1/files/upload", namespace=NAMESPACE, files=list(files))


def of_part_number(world: World, number: int) -> Asked:
    begun = world.must(post("/v1/files/uploads", namespace=NAMESPACE, path="/large"))
    path = f"/v1/files/uploads/{begun['upload_id']}/parts/{number}"
    return Asked("PUT", path, b"x", "application/octet-stream")


def of_address(world: World, seconds: int) -> Asked:
    world.must(write())
    return get("/v1/files/url", ns=NAMESPACE, path="/a", seconds=seconds)


def of_members(_: World, count: int) -> Asked:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        for number in range(count):
            archive.addfile(tarfile.TarInfo(f"f{number}"))
    query = urlencode({"subject": "ann"})
    path = f"/v1/sandboxes/artifacts?{query}"
    return Asked("POST", path, made.getvalue(), "application/octet-stream")


FILES: Rows = {
    "file_bytes_max": Over(lambda _, n: write(content=text(n)), "content", "too_large"),
    "media_type_bytes_max": Over(
        lambda _, n: upload(
            {"path": "/a", "bytes": b"x", "media_type": "text/" + "x" * (n - len("text/"))}
        ),
        "media_type",
    ),
    "files_listed_max": Over(
        lambda _, n: post("/v1/files/ls", namespace=NAMESPACE, path="/", limit=n),
        "limit",
        stores=False,
    ),
    "files_per_request_max": Over(
        lambda _, n: upload(*[{"path": f"/{it}", "bytes": b"x"} for it in range(n)]), "files"
    ),
    "glob_bytes_max": Over(lambda _, n: glob(text(n)), "pattern", "invalid_glob", stores=False),
    "glob_alternatives_max": Over(
        lambda _, n: glob("".join(braces(it) for it in factors(n))),
        "pattern",
        "invalid_glob",
        stores=False,
    ),
    "glob_depth_max": Over(
        lambda _, n: glob("{a," * n + "b" + "}" * n), "pattern", "invalid_glob", stores=False
    ),
    "glob_negation_depth_max": Over(
        lambda _, n: glob("!(" * n + "a" + ")" * n, dialect="javascript"),
        "pattern",
        "invalid_glob",
        stores=False,
    ),
    "glob_negations_max": Over(
        lambda _, n: glob("!(a)" * n, dialect="javascript"),
        "pattern",
        "invalid_glob",
        stores=False,
    ),
    "upload_parts_max": Over(of_part_number, "part", stores=False),
    "drive_entries_max": Over(
        lambda _, n: get("/api/storage/list", path="/", subject="ann", limit=n),
        "limit",
        stores=False,
    ),
    "signed_url_seconds_max": Over(of_address, "seconds", stores=False),
    "archive_members_max": Over(of_members, "archive", is_slow=True),
    "content_bytes_max": shown_by(
        "src/domain/files/uploads.rs::an_upload_ends_with_all_its_parts_and_no_others"
    ),
    "glob_written_out_per_byte_max": shown_by(
        "src/domain/files/glob_bounds.rs::what_is_too_much_is_refused_with_its_field_and_limit"
    ),
    "files_searched_max": shown_by(CUT),
    "grep_matches_max": shown_by(CUT),
    "grep_bytes_max": shown_by(CUT),
    "files_bytes_max": shown_by(f"{ANSWERS}::test_a_download_ends_where_its_answer_is_full"),
    "files_copied_bytes_max": Unshown("a gibibyte has to be copied before"),
    "file_value_bytes_max": shown_by(f"{ANSWERS}::test_a_file_is_a_value_up_to_a_size"),
    "form_head_bytes_max": shown_by(
        "tests/http/drive.rs::what_comes_before_the_file_of_a_form_has_a_limit"
    ),
    "content_slice_bytes": shown_by(
        "tests/python/contents/test_large_files.py::test_a_large_file_goes_up_and_down_in_bounded_memory"
    ),
    "upload_idle_seconds_max": shown_by(
        "tests/contract/contents.rs::uploads_live_through_collections_and_end_after_a_day"
    ),
    "signed_url_seconds_default": shown_by(
        f"{ANSWERS}::test_an_address_is_valid_for_an_hour_where_its_maker_did_not_say"
    ),
    "archive_bytes_max": shown_by("src/content/tar/tests.rs::limits_hold_before_anything_is_kept"),
    "archive_ratio_max": shown_by(
        "tests/http/artifacts.rs::nothing_of_a_bad_archive_is_stored",
        "tests/http/archives.rs::what_is_wrong_with_an_archive_is_named_and_leaves_nothing",
    ),
}
