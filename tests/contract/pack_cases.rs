//! Lists the cases of content in an object store, and of background work that ends the process.

contract! {
    background_tasks:
        a_unit_that_ends_the_process_alone_is_put_aside
        deaths_far_apart_do_not_add_up
        an_orderly_stop_and_an_error_are_no_deaths
        a_server_that_is_alive_has_not_died
        vectors_of_others_are_made_beside_a_deadly_item
        words_of_others_are_made_beside_a_deadly_item
        other_scopes_are_packed_beside_a_deadly_one
        other_threads_are_pruned_beside_a_deadly_one;
    packs:
        packed_content_reads_back_exactly
        hot_and_small_threads_stay_in_the_database
        packed_histories_lists_and_bases_are_whole
        a_copy_for_another_owner_has_its_own_content
        objects_are_deleted_an_hour_after_their_last_chunk
        packs_that_are_mostly_dead_are_rewritten
        a_folder_is_a_store;
    packs_examined:
        packed_content_is_read_where_the_store_is_given
        damage_in_the_store_is_found
        counters_of_packs_are_found_and_corrected
        packed_content_counts_as_much_as_before;
    pack_faults:
        an_upload_whose_rows_never_came_is_deleted_after_a_day
        a_damaged_pack_is_an_integrity_error
        a_store_that_is_down_stops_reads_of_packed_content_only
        two_packers_at_once_do_no_harm
        a_scope_that_is_packed_twice_points_to_one_pack
        what_is_removed_during_an_upload_is_not_brought_back
        a_server_without_the_right_store_is_refused;
}
