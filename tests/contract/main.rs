//! Runs the contract of a storage engine: every case on every engine, through the same queue as the server's. SQL may differ between
//! engines, results may not.

// A test that panics is a test that failed.
#![allow(clippy::unwrap_used)]

#[path = "../support/mod.rs"]
mod support;

mod commands;
mod export_files;
mod faulty_store;
mod feeds;
mod granted_callers;
mod harness;
mod sql_reader;
mod store;
mod subjects;

mod aliases;
mod archives;
mod atomicity;
mod audit;
mod background_tasks;
mod conditions;
mod connections;
mod content;
mod contents;
mod copying;
mod counted_lists;
mod damage;
mod default_graph;
mod delta;
mod doctor;
mod doctor_beside;
mod doctor_command;
mod embedded;
mod encryption;
mod encryption_command;
mod encryption_keys;
mod encryption_marks;
mod erasure;
mod exactness;
mod export_items;
mod export_sessions;
mod export_snapshot_faults;
mod export_snapshots;
mod export_versions;
mod exports;
mod file_changes;
mod file_heads;
mod files;
mod forks;
mod indexing;
mod item_content;
mod item_filters;
mod item_history;
mod item_history_content;
mod item_lives;
mod item_plans;
mod item_puts;
mod item_search;
mod item_vectors;
mod item_words;
mod items;
mod keys;
mod large_files;
mod large_reads;
mod lean;
mod leases;
mod list_times;
mod listing;
mod listing_grants;
mod long_work;
mod named_graphs;
mod nearest;
mod new_thread_owners;
mod owner_macs;
mod owner_signing;
mod ownership;
mod ownership_model;
mod pack_faults;
mod packs;
mod packs_examined;
mod planner;
mod plans;
mod poison;
mod policies;
mod pruning;
mod quotas;
mod random_histories;
mod removal;
mod retention;
mod retention_model;
mod rewinds;
mod rights;
mod run_state_upkeep;
mod run_states;
mod session_calls;
mod session_lives;
mod session_maintenance;
mod session_speed;
mod sessions;
mod snapshot_calls;
mod snapshot_encryption;
mod snapshot_items;
mod snapshot_moves;
mod snapshot_random_history;
mod snapshot_rights;
mod snapshot_sessions;
mod snapshots;
mod sql_role_isolation;
mod sql_roles;
mod storage_use;
mod sweeping;
mod tables;
mod task_paths;
mod tenants;
mod thread_changes;
mod thread_details;
mod thread_metadata;
mod thread_searches;
mod thread_titles;
mod thread_ttl;
mod thread_values;
mod threads;
mod timelines;
mod tokens;
mod value_parts;
mod value_parts_lives;
mod values;
mod wanted_channels;
mod word_letters;
mod writes;

/// Runs cases of a module on both engines.
macro_rules! contract {
    ($($module:ident: $($case:ident)+;)+) => {
        mod sqlite {
            $(mod $module {
                $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $case() {
                    crate::$module::$case(crate::harness::Harness::sqlite().await).await;
                })+
            })+
        }
        mod postgres {
            $(mod $module {
                $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $case() {
                    crate::$module::$case(crate::harness::Harness::postgres().await).await;
                })+
            })+
        }
    };
}

mod content_cases;
mod encryption_cases;
mod export_cases;
mod item_cases;
mod pack_cases;
mod schema;
mod session_cases;
mod snapshot_cases;
mod tenant_cases;
mod thread_cases;

contract! {
    value_parts:
        values_come_back_whole_and_in_parts
        what_does_not_fit_a_body_comes_in_parts_only
        equal_values_are_one_however_they_came
        parts_that_are_not_there_are_named_by_their_field
        parts_that_do_not_make_the_value_are_refused
        a_part_needs_what_its_commit_needs;
    value_parts_lives:
        parts_wait_for_a_day_and_what_was_committed_stays
        a_commit_of_parts_is_planned_again_after_a_removal
        copies_and_snapshots_keep_them
        exports_and_packs_keep_them
        parts_count_once_for_the_quota;
    values:
        a_checkpoint_comes_back_as_it_was_sent
        a_version_has_so_many_bytes_and_no_more
        latest_is_the_greatest_id_by_bytes
        carried_values_come_from_the_parent_and_dropped_channels_are_gone
        absent_empty_and_null_stay_three_things
        values_show_only_for_channels_in_new_versions
        branches_that_reuse_a_version_keep_their_own_values
        a_copy_takes_the_values_of_its_sibling
        a_fork_says_by_digest_which_value_it_means
        a_missing_parent_falls_back_to_the_newest_value_of_the_version
        a_second_put_replaces_all_and_keeps_counts_true
        a_put_that_names_itself_keeps_the_stored_parent
        a_retry_of_a_put_stores_nothing_twice
        namespaces_are_chains_of_their_own;
    writes:
        writes_come_in_the_order_of_path_task_and_position
        the_first_ordinary_write_wins_and_the_special_ones_replace
        a_late_special_write_of_the_same_writer_is_ignored
        writes_may_arrive_before_their_checkpoint
        large_writes_come_back_and_a_retry_adds_nothing
        an_old_checkpoint_shows_its_parents_pending_sends;
    task_paths:
        paths_of_64_kib_order_writes_wherever_they_are_read
        paths_of_64_kib_order_writes_where_values_are_encrypted
        a_longer_path_is_refused_with_field_and_limit;
    exactness:
        documents_come_back_byte_for_byte
        versions_of_different_types_are_different_versions
        ids_may_hold_any_text
        large_and_small_values_come_back_exactly;
    delta:
        history_collects_writes_back_to_the_seed
        each_channel_stops_at_its_own_ancestor
        writes_of_a_fork_off_the_path_do_not_count
        a_chain_without_a_seed_ends_at_the_root
        a_missing_parent_ends_the_walk_and_a_loop_too
        history_works_for_channels_without_a_version
        get_answers_the_history_of_delta_channels_and_of_those_asked_for
        a_plain_checkpoint_reads_no_ancestor
        a_long_walk_is_complete
        listed_histories_share_one_chain
        empty_is_no_seed_and_null_is_one;
    listing:
        all_threads_newest_first_in_a_stable_order
        filters_match_by_containment
        before_limit_and_cursor_cut_pages
        a_page_ends_at_its_bytes
        listed_views_equal_those_of_get
        a_filter_that_rarely_matches_still_ends
        only_namespaces_with_checkpoints_are_told;
    conditions:
        a_stale_generation_writes_nothing
        a_held_lease_refuses_every_write_without_its_fence
        a_stale_fence_is_refused_even_when_nobody_holds_the_lease
        a_fence_of_a_thread_that_never_was_is_stale
        a_stale_epoch_is_told_with_the_current_one
        generation_comes_before_lease_and_lease_before_epoch
        a_new_thread_accepts_any_generation
        generation_and_fence_survive_deletion;
    leases:
        a_lease_is_taken_renewed_and_released
        the_fence_grows_unless_the_same_holder_still_holds
        an_expired_lease_refuses_nobody
        a_lease_makes_its_thread;
    threads:
        a_commit_describes_its_thread
        listings_sort_filter_and_page
        tenants_never_meet;
    ownership:
        a_foreign_thread_answers_like_an_absent_one
        what_is_denied_finds_nothing_in_the_engine_either
        who_only_owns_is_told_that_a_thread_is_taken_and_nothing_more
        a_granted_name_is_written_whoever_owns_it
        what_is_the_tenants_is_for_the_whole_tenant
        a_policy_and_its_reports_are_its_owners
        answers_are_kept_for_the_credential;
    new_thread_owners:
        a_thread_that_two_make_at_once_goes_to_one
        commits_with_other_conditions_are_batches_of_their_own
        what_another_left_was_never_there
        a_fence_goes_on_for_the_owner_and_for_who_is_granted_the_name
        a_copy_shares_content_only_with_its_own_owner;
    listing_grants:
        every_kind_of_grant_lists_what_it_reaches
        threads_granted_by_name_alone_are_no_list
        runs_are_deleted_where_the_caller_may_write
        odd_ids_are_compared_by_bytes;
    ownership_model:
        nobody_sees_what_is_anothers;
    removal:
        a_deleted_thread_is_gone_with_everything
        deletion_obeys_lease_and_generation
        a_thread_made_again_shows_nothing_of_the_old_one
        runs_are_deleted_across_threads_and_namespaces
        deleting_the_middle_run_keeps_the_heads_messages
        deleting_runs_keeps_writes_of_checkpoints_that_never_came
        deleting_runs_keeps_counts_true_and_raises_the_epoch
        a_sweep_removes_tombstones_after_a_week;
    pruning:
        pruning_keeps_the_latest_of_each_namespace
        pruning_keeps_the_histories_of_delta_channels
        pruning_twice_keeps_bases
        a_subgraphs_call_goes_with_its_root
        an_old_head_keeps_its_pending_sends
        early_writes_stay_and_stray_ones_go
        pruning_at_the_same_time_is_no_error
        pruning_with_delete_removes_the_thread
        pruning_a_leased_thread_is_refused;
    retention:
        the_last_of_each_namespace_stay
        an_age_is_that_of_the_first_storing
        a_deletion_reports_everything
        a_waiting_thread_is_not_deleted
        a_subgraph_that_waits_stays_with_its_callers
        a_held_lease_refuses_a_dry_run_as_it_does_a_prune
        another_tenant_prunes_nothing
        a_long_thread_goes_in_parts;
    policies:
        a_policy_is_put_replaced_and_deleted
        a_tenant_has_a_limited_number_of_thread_policies
        a_policy_goes_with_its_thread
        reports_are_listed_in_pages_and_kept_for_a_month
        a_requested_round_is_due_at_once
        a_policy_put_in_the_middle_of_a_round_holds_at_once
        policies_are_listed_in_pages_the_tenants_own_first;
    sweeping:
        a_sweep_applies_policies_and_leaves_reports
        unchanged_threads_are_not_looked_at_again
        threads_expire_but_for_those_that_wait
        a_renewed_lease_keeps_an_expired_thread
        a_dry_run_says_what_the_real_one_does
        two_servers_do_each_piece_of_work_once
        a_round_is_taken_over_where_a_crash_left_it
        a_damaged_thread_stops_nobody;
    retention_model:
        what_stays_equals_the_model;
    copying:
        a_copy_equals_its_source_and_is_independent
        a_copy_carries_bases_and_large_values
        a_copy_onto_an_occupied_thread_is_refused
        a_repeated_copy_answers_the_same
        an_unknown_source_creates_nothing
        a_copy_takes_over_fence_and_generation_of_a_deleted_target
        a_copy_onto_a_leased_thread_is_refused;
    damage:
        a_flipped_bit_is_an_error_and_never_data
        a_missing_value_is_an_error;
    doctor:
        a_sound_database_is_read_completely
        damage_in_every_column_is_found_and_placed
        damaged_numbers_are_found
        a_damaged_chunk_is_told_from_the_values_that_need_it
        what_is_missing_is_found
        nothing_of_a_damaged_thread_is_repaired_away
        orphans_are_found_and_removed_and_nothing_else
        replaced_values_are_orphans_and_unlisted_ones_are_not
        counters_are_corrected;
    doctor_beside:
        work_beside_an_examination_is_never_damage;
    storage_use:
        sizes_are_those_of_the_rows
        a_copy_says_that_it_shares
        only_its_own_tenant_sees_a_thread;
    erasure:
        an_erased_subject_leaves_no_trace_and_others_keep_everything
        an_erasure_can_stop_after_any_slice
        an_erasure_can_be_cut_short_at_any_moment
        a_subject_with_many_threads_goes_in_slices
        a_round_in_progress_forgets_where_it_stood
        other_tenants_keep_a_subject_of_the_same_name
        damaged_content_goes_like_the_rest
        packs_of_an_erased_subject_go_at_once
        the_objects_of_acts_forget_an_erased_subject;
    counted_lists:
        counts_of_namespaces_are_of_what_lives_and_may_be_read
        the_largest_namespaces_come_first
        kinds_of_sessions_are_listed_with_what_the_caller_may_read
        subjects_are_listed_with_what_each_has
        counts_of_a_list_end;
    tables:
        every_table_of_the_schema_is_listed;
    snapshot_rights:
        a_thread_that_may_only_be_written_is_not_read_in_a_snapshot
        items_that_may_only_be_written_are_not_read_in_a_snapshot
        a_session_that_may_only_be_written_is_not_read_in_a_snapshot
        the_safety_snapshot_of_anothers_thread_is_not_read;
    atomicity:
        many_tasks_on_many_threads_lose_nothing
        commits_of_one_thread_keep_their_order
        many_callers_may_meet_a_new_tenant_at_once;
    poison:
        each_poisonous_command_fails_alone;
    planner:
        a_batch_equals_its_commands_one_by_one;
    content:
        a_growing_list_costs_what_it_grows_by
        equal_content_is_kept_once_in_a_scope_and_never_across_tenants
        a_copy_shares_content_and_outlives_its_source
        a_copy_for_another_owner_shares_nothing
        a_commit_planned_before_a_removal_is_planned_again;
    random_histories:
        what_survives_reads_back_and_nothing_is_left_in_the_end
        what_survives_reads_back_from_packs_too;
}
