//! Lists the cases of exports.

contract! {
    exports:
        threads_travel_to_the_other_engine_and_back
        a_repeated_import_changes_nothing
        what_moved_on_is_refused_or_replaced
        a_damaged_file_is_refused_wherever_it_is_damaged
        a_signature_has_to_be_of_the_key
        a_later_format_is_refused_by_its_number
        a_long_conversation_does_not_blow_up
        a_file_shows_one_moment_of_a_thread
        only_whole_tenants_export_and_import;
    export_sessions:
        sessions_travel_to_the_other_engine_and_back
        a_session_that_moved_on_is_refused_or_replaced;
    export_items:
        items_travel_to_the_other_engine_and_back
        items_that_moved_on_are_refused_or_replaced
        a_damaged_content_shows_nothing;
    export_versions:
        an_item_that_comes_back_never_has_a_version_twice
        a_file_that_an_import_replaces_accepts_no_stale_version
        a_session_that_comes_back_never_gives_a_version_twice
        a_thread_that_comes_back_accepts_no_former_generation_or_fence;
    export_snapshots:
        a_snapshot_travels_and_is_restored_elsewhere
        another_snapshot_of_the_id_is_refused_or_replaced
        of_a_file_that_breaks_off_no_snapshot_is_left
        files_without_snapshots_stay_readable_for_older_programs;
    export_snapshot_faults:
        a_replacement_that_fails_leaves_what_was_there
        a_snapshot_may_arrive_for_hours
        what_no_snapshot_says_is_damage;
}
