//! Lists the cases of files that are too large for a value, and of reads of more than fits in memory.

contract! {
    contents:
        a_large_file_comes_back_as_it_was_sent
        equal_stretches_of_files_are_kept_once_and_equal_files_are_not_written
        nothing_shows_before_it_is_whole
        uploads_live_through_collections_and_end_after_a_day
        what_replaces_or_removes_a_file_lets_its_content_go
        conditions_and_grants_hold_for_large_files_too
        an_erased_subject_leaves_no_content
        large_files_move_to_the_object_store_at_once
        damage_of_a_content_is_found_and_never_read
        contents_count_for_the_quota;
    large_files:
        within_a_root_nothing_of_a_large_file_is_copied
        a_large_file_is_moved_under_the_conditions_of_any_other
        into_another_root_the_bytes_are_copied
        a_file_is_known_by_its_bytes_whatever_the_order_of_its_parts
        the_end_of_an_upload_that_comes_again_changes_nothing
        a_put_of_bytes_that_comes_again_with_its_key_is_done_once
        a_value_over_256_kib_is_read_at_a_place_of_the_cpu_pool_and_a_small_one_without;
    large_reads:
        values_that_no_answer_holds_are_refused_or_told_by_size
        writes_and_histories_count_like_values
        reads_hold_memory_until_their_request_is_answered
        documents_are_listed_as_far_as_a_page_holds_them
        a_timeline_ends_where_skeletons_of_parents_do_not_fit
        large_items_are_opened_a_few_at_a_time;
    long_work:
        large_values_are_opened_beside_the_workers_and_small_ones_on_them
        large_documents_are_opened_beside_the_workers
        large_items_are_opened_and_filtered_beside_the_workers
        large_items_are_found_by_words_and_vectors_beside_the_workers
        large_items_are_indexed_beside_the_workers
        large_files_are_edited_and_read_beside_the_workers
        large_entries_of_sessions_are_opened_beside_the_workers;
}
