"""Limits of the store: items, searches, vectors and namespaces."""

import json
from typing import Any

from support.limits.rows import (
    ROWS_OF_ONE,
    SERVERS,
    Asked,
    Over,
    Rows,
    World,
    document,
    nested,
    packed,
    post,
    shown_by,
    text,
)

NAMESPACE = ["memories"]
MODEL = "a-model"


def put(**fields: Any) -> Asked:
    return packed("/v1/store/put", **{"namespace": NAMESPACE, "key": "k", "value": b"{}"} | fields)


def search(**fields: Any) -> Asked:
    return post("/v1/store/search", **fields)


def setting(**fields: Any) -> Asked:
    return post("/v1/store/settings/put", **{"namespace": NAMESPACE} | fields)


def of_namespace_bytes(_: World, size: int) -> Asked:
    return put(namespace=[text(size // 2), text(size - size // 2)])


def of_digits(_: World, count: int) -> Asked:
    return put(value=b'{"a":' + b"1" * count + b"}")


def of_answer_bytes(world: World, size: int) -> Asked:
    """Reads of one batch whose values have so many bytes together."""
    item = 1 << 20
    rest = size % item or item
    world.must(put(key="item", value=document(item)))
    world.must(put(key="rest", value=document(item // 2 + rest // 2)))
    world.must(put(key="rest too", value=document(item + rest - item // 2 - rest // 2)))
    keys = ["item"] * ((size - item - rest) // item) + ["rest", "rest too"]
    ops = [{"get": {"namespace": NAMESPACE, "key": it}} for it in keys]
    return post("/v1/store/batch", ops=ops)


def of_models(world: World, count: int) -> Asked:
    def of(number: int) -> Asked:
        return put(vectors=[{"vector": [1.0]}], model=f"m{number}")

    for number in range(1, count):
        world.must(of(number))
    return of(count)


def of_words(world: World, query: str) -> Asked:
    world.must(setting(text_fields=["text"]))
    return search(prefix=NAMESPACE, mode="text", query=query)


STORE: Rows = {
    "namespace_labels_max": Over(lambda _, n: put(namespace=["ü"] * n), "namespace"),
    "namespace_bytes_max": Over(of_namespace_bytes, "namespace"),
    "item_key_bytes_max": Over(lambda _, n: put(key=text(n)), "key"),
    "document_bytes_max": Over(lambda _, n: put(value=document(n)), "value", "too_large"),
    "json_depth_max": Over(lambda _, n: put(value=json.dumps(nested(n)).encode()), "value"),
    "number_digits_max": Over(of_digits, "value"),
    "filter_terms_max": Over(
        lambda _, n: search(filter={f"a{it}": it for it in range(n)}), "filter", stores=False
    ),
    "filter_bytes_max": Over(
        lambda _, n: packed("/v1/store/search", filter=document(n)),
        "filter",
        "too_large",
        stores=False,
    ),
    "store_ops_max": Over(
        lambda _, n: post(
            "/v1/store/batch",
            ops=[{"put": {"namespace": NAMESPACE, "key": str(it), "value": {}}} for it in range(n)],
        ),
        "ops",
    ),
    "store_answer_bytes_max": Over(of_answer_bytes, "ops", "too_large", stores=False),
    "offset_max": Over(lambda _, n: search(offset=n), "offset", stores=False),
    "ttl_minutes_max": Over(lambda _, n: put(ttl_minutes=n), "ttl_minutes"),
    "namespace_settings_max": shown_by(
        "tests/http/item_history.rs::a_tenant_has_a_limited_number_of_settings"
    ),
    "item_versions_max": Over(lambda _, n: setting(history=n), "history"),
    "text_fields_max": Over(
        lambda _, n: setting(text_fields=[f"f{it}" for it in range(n)]), "text_fields"
    ),
    "text_field_bytes_max": Over(lambda _, n: setting(text_fields=[text(n)]), "text_fields"),
    "text_query_bytes_max": Over(lambda world, n: of_words(world, text(n)), "query", stores=False),
    "text_query_words_max": Over(
        lambda world, n: of_words(world, " ".join(f"w{it}" for it in range(n))),
        "query",
        stores=False,
    ),
    "vector_dims_max": Over(lambda _, n: put(vectors=[{"vector": [0.5] * n}]), "vector"),
    "vectors_per_item_max": Over(
        lambda _, n: put(vectors=[{"vector": [0.5], "field": str(it)} for it in range(n)]),
        "vectors",
    ),
    "vector_field_bytes_max": Over(
        lambda _, n: put(vectors=[{"vector": [0.5], "field": text(n)}]), "field"
    ),
    "index_paths_max": Over(
        lambda _, n: put(index=[f"p{it}" for it in range(n)]), "index", at_limit="invalid"
    ),
    "query_bytes_max": Over(
        lambda _, n: post("/store/items/search", namespace_prefix=NAMESPACE, query=text(n)),
        "query",
        stores=False,
    ),
    "model_bytes_max": Over(lambda _, n: put(vectors=[{"vector": [0.5]}], model="m" * n), "model"),
    "models_max": Over(of_models, "model"),
    "scored_rows_max": Over(
        lambda _, n: search(query_vector=[0.5], offset=n - 1, limit=1), "offset", stores=False
    ),
    "encrypted_candidates_max": shown_by(
        "tests/contract/item_filters.rs::a_filter_opens_so_many_encrypted_items",
        "src/storage/threads/search.rs::sealed_details_are_opened_up_to_a_limit",
    ),
    "text_candidates_max": shown_by(f"{ROWS_OF_ONE}::test_a_search_by_words_ranks_the_newest"),
    "feed_followers_per_credential_max": shown_by(
        "tests/contract/feeds.rs::one_token_leaves_seats_for_others_and_for_the_key_of_the_tenant"
    ),
    "feed_followers_scoped_max": shown_by(
        "tests/contract/feeds.rs::one_token_leaves_seats_for_others_and_for_the_key_of_the_tenant"
    ),
    "feed_followers_per_tenant_max": shown_by("tests/http/changes.rs::followers_are_counted"),
    "feed_followers_max": shown_by(f"{SERVERS}::test_a_server_has_so_many_followers_of_the_feed"),
    "feed_seconds_kept": shown_by(
        "tests/contract/feeds.rs::what_is_old_goes_and_the_log_begins_anew",
        "tests/contract/thread_changes.rs::a_follower_of_threads_comes_back_where_it_was",
    ),
}
