"""Limits of requests, keys and tokens."""

from dataclasses import replace
from typing import Any

from support.limits.rows import ANSWERS, SERVERS, Asked, Over, Rows, World, post, shown_by, text

NARROW = post("/v1/tokens/narrow")
CREATE = post("/v1/threads/create", thread_id="thread")


def key(**fields: Any) -> Asked:
    return post("/v1/keys", **fields)


def token(**fields: Any) -> Asked:
    return post("/v1/tokens", **fields)


def of_depth(world: World, depth: int) -> Asked:
    """The last of so many tokens, each narrowed from the one before."""
    made = world.must(token(subject="ann"))["token"]
    for _ in range(depth - 2):
        made = world.must(replace(NARROW, token=made))["token"]
    return replace(NARROW, token=made)


def with_head(name: str, value: str) -> Asked:
    return replace(CREATE, headers={name: value})


def of_body(_: World, size: int) -> Asked:
    """A small request, and space behind it."""
    assert CREATE.body is not None
    return replace(CREATE, body=CREATE.body.ljust(size))


def of_entries(_: World, count: int) -> Asked:
    return post("/v1/export", threads=["t"] * count)


def of_url(_: World, size: int) -> Asked:
    path = "/v1/whoami?"
    return Asked("GET", path + "x" * (size - len(path)))


def of_head(world: World, size: int) -> Asked:
    """The path, and names and values of all headers."""
    path, host = "/v1/whoami", world.server.url.removeprefix("http://")
    others = f"{path}host{host}authorizationBearer {world.key}x-long"
    return Asked("GET", path, headers={"X-Long": "x" * (size - len(others))})


REQUESTS: Rows = {
    "idempotency_key_bytes_max": Over(
        lambda _, n: with_head("Idempotency-Key", "x" * n), "Idempotency-Key"
    ),
    "budget_ms_max": Over(
        lambda _, n: with_head("Threadkeep-Budget-Ms", str(n)), "Threadkeep-Budget-Ms"
    ),
    "grants_max": Over(
        lambda _, n: token(
            grants={"threads": [{"id": str(it), "actions": ["read"]} for it in range(n)]}
        ),
        "threads",
    ),
    "key_id_bytes_max": Over(
        lambda _, n: post("/v1/keys/revoke", key_id=text(n)), "key_id", at_limit="not_found"
    ),
    "cursor_bytes_max": Over(
        lambda _, n: post("/v1/sessions/list", kind="chat", cursor="x" * n),
        "cursor",
        at_limit="invalid",
    ),
    "followed_threads_max": shown_by(
        "tests/http/thread_changes.rs::a_follower_names_so_many_threads_and_no_more"
    ),
    "key_name_bytes_max": Over(lambda _, n: key(name=text(n)), "name"),
    "key_ttl_seconds_max": Over(lambda _, n: key(ttl_seconds=n), "ttl_seconds"),
    "token_ttl_seconds_max": Over(lambda _, n: token(subject="ann", ttl_seconds=n), "ttl_seconds"),
    "token_depth_max": Over(of_depth, "authorization", stores=False),
    "body_bytes_max": Over(of_body, "body", "too_large"),
    "body_entries_max": Over(of_entries, "threads", at_limit="not_found"),
    "url_bytes_max": Over(of_url, "url", "head_too_large", stores=False),
    "head_bytes_max": Over(of_head, "head", "head_too_large", stores=False),
    "token_bytes_max": shown_by(f"{ANSWERS}::test_a_token_is_no_longer_than_a_header_takes"),
    "external_token_bytes_max": shown_by("src/auth/issuers/tests.rs::what_is_no_jwt_is_unknown"),
    "keys_per_tenant_max": shown_by(f"{SERVERS}::test_a_tenant_makes_so_many_keys"),
    "token_ttl_seconds_default": shown_by(
        f"{ANSWERS}::test_a_token_lives_for_an_hour_where_its_maker_did_not_say"
    ),
    "token_revocations_max": shown_by(
        "tests/http/tokens_refused.rs::tokens_cannot_fill_the_table_of_revocations"
    ),
    "token_revocations_per_chain_max": shown_by(
        "tests/contract/tokens.rs::one_chain_of_tokens_takes_a_share_of_the_revocations"
    ),
    "search_seconds_max": shown_by(
        "tests/contract/list_times.rs::every_list_ends_when_its_time_is_over",
        "tests/python/hostile/test_costs.py::test_every_search_ends_when_its_time_is_over",
    ),
    "waiting_commands_per_tenant_max": shown_by(
        "src/domain/scheduling/fair_queue/tests.rs::a_line_that_is_full_refuses_its_tenant_alone",
        "src/domain/scheduling/lanes/tests.rs::a_full_line_refuses_its_tenant_and_nobody_else",
    ),
    "waiting_bytes_per_tenant_max": shown_by(
        "src/domain/scheduling/fair_queue/tests.rs::a_line_that_is_full_refuses_its_tenant_alone"
    ),
    "bytes_in_flight_max": shown_by(
        "tests/http/bodies.rs::bytes_in_flight_are_bounded_and_given_back"
    ),
    "bytes_in_flight_per_tenant_max": shown_by(
        "tests/http/shares.rs::downloads_that_nobody_takes_leave_room_for_everybody_else",
        "tests/contract/large_reads.rs::values_that_no_answer_holds_are_refused_or_told_by_size",
    ),
    "bytes_in_flight_per_credential_max": shown_by(
        "src/domain/scheduling/shares/tests.rs::no_share_is_ever_exceeded_and_everything_is_given_back"
    ),
    "body_bytes_per_second_min": shown_by(
        "tests/http/shares.rs::idle_and_trickling_uploads_hold_what_they_sent_and_are_cut_off"
    ),
    "body_pause_seconds_max": shown_by(
        "tests/http/shares.rs::idle_and_trickling_uploads_hold_what_they_sent_and_are_cut_off"
    ),
    "event_streams_per_credential_max": shown_by(
        "tests/http/agent_server_events.rs::a_stream_of_an_absent_thread_and_too_many_are_refused"
    ),
    "event_streams_per_tenant_max": shown_by(
        "src/domain/scheduling/open_streams.rs::a_tenant_leaves_places_to_others"
    ),
    "event_streams_max": shown_by(f"{SERVERS}::test_a_server_has_so_many_streams_of_events"),
}
