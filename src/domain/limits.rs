//! Declares every limit, once. Sizes are bytes of decoded UTF-8 or of raw data.

use serde::Serialize;
use utoipa::ToSchema;

mod values;

pub use self::values::LIMITS;

/// The limits as `GET /v1/limits` answers them.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
pub struct Limits {
    /// Thread id.
    pub thread_id_bytes_max: u64,
    /// Title of a thread, and the JSON text of its metadata.
    pub title_bytes_max: u64,
    pub thread_metadata_bytes_max: u64,
    /// Checkpoint namespace; nested subgraphs join theirs with `|`.
    pub checkpoint_ns_bytes_max: u64,
    pub checkpoint_id_bytes_max: u64,
    pub task_id_bytes_max: u64,
    /// Path of a task, which is no part of an index: nested tasks lengthen theirs by about 40 bytes a level.
    pub task_path_bytes_max: u64,
    /// Paths of the tasks of one commit, each counted once for every write of its task: they are stored with the writes.
    pub task_paths_per_commit_bytes_max: u64,
    pub channel_bytes_max: u64,
    /// Version of a channel: the text of a string, or the digits of a number.
    pub version_bytes_max: u64,
    /// Codec tag of a value.
    pub tag_bytes_max: u64,
    pub writer_bytes_max: u64,
    pub lease_holder_bytes_max: u64,
    pub idempotency_key_bytes_max: u64,
    /// Grants of a kind in one token, and labels in one of them.
    pub grants_max: u64,
    /// The text of a token.
    pub token_bytes_max: u64,
    /// The text of a token of a configured issuer (JWT).
    pub external_token_bytes_max: u64,
    /// Id of a key that is to be revoked.
    pub key_id_bytes_max: u64,
    /// What the maker of a key calls it.
    pub key_name_bytes_max: u64,
    /// Of a key that ends by itself: ten years.
    pub key_ttl_seconds_max: u64,
    /// Keys of a tenant that are not revoked, up to which its keys can make more. The command line always can.
    pub keys_per_tenant_max: u64,
    pub token_ttl_seconds_max: u64,
    /// Of a token whose maker did not say.
    pub token_ttl_seconds_default: u64,
    /// How many times in a row a token can be narrowed.
    pub token_depth_max: u64,
    /// Living revocations of a tenant up to which tokens can revoke themselves. Keys of the whole tenant always can.
    pub token_revocations_max: u64,
    /// Of these, what one token and all that are narrowed from it may have revoked.
    pub token_revocations_per_chain_max: u64,
    /// One value or write of a checkpoint. One over `value_inline_bytes_max` goes and comes in parts.
    pub value_bytes_max: u64,
    /// One value or write inside of a commit's or an answer's body.
    pub value_inline_bytes_max: u64,
    /// A reader that takes values in parts gets larger ones so; clients send larger ones so.
    pub value_in_parts_bytes_min: u64,
    /// Every part of a value but the last, which may be shorter.
    pub value_part_bytes: u64,
    /// How long a part that was put waits for its commit.
    pub value_part_seconds_kept: u64,
    /// Parts of all values of one commit.
    pub value_parts_per_commit_max: u64,
    /// One skeleton or metadata document, item, or entry or document of a session.
    pub document_bytes_max: u64,
    /// Entries of all lists and objects of a skeleton, a metadata document or an item together.
    pub document_entries_max: u64,
    /// A request body after decompression.
    pub body_bytes_max: u64,
    /// Entries of all lists and maps of a request body together. Numbers of vectors do not count.
    pub body_entries_max: u64,
    /// The address of a request, and its address and headers together.
    pub url_bytes_max: u64,
    pub head_bytes_max: u64,
    /// Nesting of skeleton, metadata and filter documents, and of values that are shown as JSON.
    pub json_depth_max: u64,
    /// Memory that the values of one answer take to be shown as JSON; what does not fit is told by size.
    pub display_bytes_max: u64,
    pub ops_per_commit_max: u64,
    /// Channels of one checkpoint.
    pub channels_max: u64,
    pub writes_per_op_max: u64,
    /// Values and writes of one commit, over all of its checkpoints and groups.
    pub writes_per_commit_max: u64,
    /// Ids in one request of prune and delete-for-runs.
    pub ids_per_request_max: u64,
    /// Cursor of a list, which leads to its next page.
    pub cursor_bytes_max: u64,
    pub list_rows_max: u64,
    pub list_bytes_max: u64,
    /// Checkpoints, writes, values and chunks of a thread whose storage is reported.
    pub storage_report_rows_max: u64,
    pub lease_ttl_seconds_max: u64,
    /// Checkpoints per namespace in `keep_last`.
    pub keep_last_max: u64,
    /// Ages in retention: `older_than`, `expire_after_seconds`. A hundred years.
    pub retention_seconds_max: u64,
    /// Policies of a tenant's threads.
    pub thread_policies_max: u64,
    pub budget_ms_max: u64,
    /// What a search, a list or a count may take in the database.
    pub search_seconds_max: u64,
    /// Writes of a tenant that wait in one line of a server, and their bytes.
    pub waiting_commands_per_tenant_max: u64,
    pub waiting_bytes_per_tenant_max: u64,
    /// Bodies of requests and answers in memory at one time, over all requests.
    pub bytes_in_flight_max: u64,
    /// Of these, what one tenant holds.
    pub bytes_in_flight_per_tenant_max: u64,
    /// And what one key holds, or the tokens that one key makes for one subject, whatever is narrowed from them. Its largest body comes on top.
    pub bytes_in_flight_per_credential_max: u64,
    /// What a client has to send or take of a body, while it is its turn.
    pub body_bytes_per_second_min: u64,
    /// How far it may fall behind that, in a pause or in many.
    pub body_pause_seconds_max: u64,
    /// Copies and inserts of one difference.
    pub difference_ops_max: u64,
    /// Values smaller than this are not remembered as bases.
    pub difference_bytes_min: u64,
    /// Digests in one `have_values`.
    pub have_values_max: u64,
    /// Labels of a namespace, and their bytes together.
    pub namespace_labels_max: u64,
    pub namespace_bytes_max: u64,
    /// Key of an item, as UTF-8; a lone surrogate counts 3 bytes.
    pub item_key_bytes_max: u64,
    /// Digits of a number in an item or a filter, and its power of ten.
    pub number_digits_max: u64,
    /// Conditions of one filter, and entries of one list of `$in`.
    pub filter_terms_max: u64,
    /// The JSON text of one filter.
    pub filter_bytes_max: u64,
    /// Operations of one batch of the store.
    pub store_ops_max: u64,
    /// Values that the reads of one batch find, together; a search ends with the page that goes beyond.
    pub store_answer_bytes_max: u64,
    /// Items that a listing may skip; beyond, use its cursor.
    pub offset_max: u64,
    /// Items that one search or count with a filter opens where values are encrypted at rest.
    pub encrypted_candidates_max: u64,
    /// Threads that one search or count by values opens, where the index of short values does not decide.
    pub value_candidates_max: u64,
    /// Time to live of an item or a thread. A hundred years.
    pub ttl_minutes_max: u64,
    /// Namespaces of a tenant that declare something.
    pub namespace_settings_max: u64,
    /// Earlier versions that an item keeps.
    pub item_versions_max: u64,
    /// Paths in `text_fields` of a namespace's setting, and bytes of one.
    pub text_fields_max: u64,
    pub text_field_bytes_max: u64,
    /// Followers of the change feed on one server: of one key, or of its tokens for one subject; of all but the tenant; of one tenant; of all.
    pub feed_followers_per_credential_max: u64,
    pub feed_followers_scoped_max: u64,
    pub feed_followers_per_tenant_max: u64,
    pub feed_followers_max: u64,
    /// Ids of threads that one follower of their changes names.
    pub followed_threads_max: u64,
    /// How long a position of the change feed leads on.
    pub feed_seconds_kept: u64,
    /// Streams of the Agent Server wire on one server: of one credential, of one tenant, of all.
    pub event_streams_per_credential_max: u64,
    pub event_streams_per_tenant_max: u64,
    pub event_streams_max: u64,
    /// The query of a search by words, and different words in it.
    pub text_query_bytes_max: u64,
    pub text_query_words_max: u64,
    /// Items with a word of the query that are ranked; of more the newest.
    pub text_candidates_max: u64,
    /// Numbers in a vector, and vectors of an item.
    pub vector_dims_max: u64,
    pub vectors_per_item_max: u64,
    /// Path of a text in a value.
    pub vector_field_bytes_max: u64,
    /// Paths of one put.
    pub index_paths_max: u64,
    /// Values that one search of threads takes out of each, by paths.
    pub extracts_max: u64,
    /// States of subgraphs in one answer.
    pub subgraph_states_max: u64,
    /// Text that a search embeds; name of an embedding model, and how many a tenant may use.
    pub query_bytes_max: u64,
    pub model_bytes_max: u64,
    pub models_max: u64,
    /// Text or bytes of one file that is written with its whole content.
    pub file_bytes_max: u64,
    /// Media type of a file.
    pub media_type_bytes_max: u64,
    /// Entries of one listing of files, and matches of one glob.
    pub files_listed_max: u64,
    /// Files that one glob, grep or recursive deletion looks at.
    pub files_searched_max: u64,
    /// A glob pattern.
    pub glob_bytes_max: u64,
    /// Patterns that its braces stand for.
    pub glob_alternatives_max: u64,
    /// How deep its braces, and its groups `@(…)`, are nested.
    pub glob_depth_max: u64,
    /// How deep `!(…)` is nested in `!(…)`, and how many of them it has.
    pub glob_negation_depth_max: u64,
    pub glob_negations_max: u64,
    /// Characters for each byte of a pattern, once its braces are written out. Python needs that where they stand in brackets.
    pub glob_written_out_per_byte_max: u64,
    /// Lines that one grep answers, and their bytes.
    pub grep_matches_max: u64,
    pub grep_bytes_max: u64,
    /// Files of one upload, download, or move of a directory, and bytes of one download's answer.
    pub files_per_request_max: u64,
    pub files_bytes_max: u64,
    /// Large files that one move or copy takes to another namespace root, together: their bytes are copied.
    pub files_copied_bytes_max: u64,
    /// `offset` and `limit` together of a search by score.
    pub scored_rows_max: u64,
    /// Kind of a session.
    pub session_kind_bytes_max: u64,
    /// Parts of a session's key, and its bytes together: two for each part, and one for each NUL, on top of its text.
    pub session_key_parts_max: u64,
    pub session_key_bytes_max: u64,
    /// Names inside of a session: streams, documents, counters, ids of entries; also user, agent and title.
    pub session_name_bytes_max: u64,
    /// Entries of one append, and of one load.
    pub session_entries_max: u64,
    /// Nesting of one entry. Python's decoder gives up at its limit of recursion, 1,000 of a new interpreter.
    pub session_entry_depth_max: u64,
    /// Entries of one load, in bytes: it ends with the entry that reaches this.
    pub session_load_bytes_max: u64,
    /// Entries that are looked at together for a budget of tokens.
    pub session_budget_page_rows: u64,
    /// Documents that one `find` answers.
    pub session_documents_max: u64,
    /// Content of a file up to which it is the value of its item; a larger one is kept beside the items.
    pub file_value_bytes_max: u64,
    /// Of a form that uploads a file, what comes before the file.
    pub form_head_bytes_max: u64,
    /// Content of any file, and what of it is in memory at one time, on its way in or out.
    pub content_bytes_max: u64,
    pub content_slice_bytes: u64,
    /// Parts of one upload.
    pub upload_parts_max: u64,
    /// How long an upload waits for its next part.
    pub upload_idle_seconds_max: u64,
    /// Entries of one page of a drive's listing.
    pub drive_entries_max: u64,
    /// How long a signed address of a file is valid: at most, and where its maker did not say.
    pub signed_url_seconds_max: u64,
    pub signed_url_seconds_default: u64,
    /// Members of an archive of artifacts.
    pub archive_members_max: u64,
    /// An archive of artifacts, unpacked, and how many times its size that may be.
    pub archive_bytes_max: u64,
    pub archive_ratio_max: u64,
    /// What a client calls a workspace.
    pub workspace_name_bytes_max: u64,
    /// An archive of a workspace, unpacked; `archive_ratio_max` times its size at most.
    pub workspace_bytes_max: u64,
    /// Its members, links among them, and bytes of the path of one.
    pub workspace_members_max: u64,
    pub workspace_links_max: u64,
    pub workspace_path_bytes_max: u64,
    pub snapshot_id_bytes_max: u64,
    /// Threads of one snapshot, namespaces, items in them, and sessions.
    pub snapshot_threads_max: u64,
    pub snapshot_namespaces_max: u64,
    pub snapshot_items_max: u64,
    pub snapshot_sessions_max: u64,
    /// Labels of one snapshot, and bytes of the name and of the value of one.
    pub snapshot_labels_max: u64,
    pub snapshot_label_bytes_max: u64,
    /// The client's own record in a snapshot.
    pub snapshot_document_bytes_max: u64,
}
