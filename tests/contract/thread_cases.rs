//! Lists the cases of titles, metadata and searches of threads, in the order of main.rs.

contract! {
    thread_details:
        a_created_thread_has_what_was_set_and_keeps_it
        an_update_merges_metadata_and_counts_versions
        a_repeated_request_is_answered_as_the_first_and_changes_nothing
        only_who_may_write_changes_details
        details_follow_copies_forks_snapshots_and_restores
        deletions_take_details_along
        the_doctor_finds_and_mends_what_searches_look_at;
    thread_searches:
        a_search_finds_by_metadata_as_a_model_does
        a_search_finds_parts_of_titles_and_beginnings_of_ids
        conditions_narrow_down_together
        pages_of_a_search_neither_skip_nor_repeat
        a_page_passes_over_as_many_as_are_asked
        counts_leave_out_what_was_deleted_and_what_snapshots_keep
        a_page_ends_where_metadata_is_many_bytes
        wide_metadata_is_walked_and_counted
        encrypted_details_are_searched_one_by_one;
    run_states:
        threads_stand_as_a_model_says
        orders_by_state_neither_skip_nor_repeat_at_rest;
    run_state_upkeep:
        details_change_nothing_of_the_run
        what_copies_or_removes_checkpoints_changes_the_state
        a_commit_of_an_old_server_is_found
        the_doctor_finds_and_mends_states
        many_threads_are_derived_in_the_background_and_none_is_left_out;
    aliases:
        whatever_makes_a_thread_writes_its_alias
        a_row_of_an_old_server_is_found
        rows_need_an_alias_where_their_id_is_no_usual_uuid
        the_exact_text_comes_first_then_the_uuid_then_the_alias
        nobody_finds_by_an_alias_what_he_may_not_see
        many_threads_get_their_aliases_and_none_is_left_out;
}
