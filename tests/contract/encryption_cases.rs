//! Lists the cases about encryption, and about rows that are signed with it.

contract! {
    encryption:
        what_is_stored_shows_nothing_of_what_was_said
        without_encryption_the_search_finds_what_was_said
        a_row_that_was_moved_does_not_open
        a_planted_plain_row_is_refused;
    encryption_keys:
        a_server_with_a_wrong_key_or_none_is_refused
        a_database_with_plain_content_is_refused_until_it_is_encrypted
        a_changed_master_key_takes_the_place_of_the_old_one
        a_destroyed_key_is_said_and_hurts_nobody_else
        a_commit_is_sealed_again_for_the_scope_that_the_thread_has;
    encryption_marks:
        no_column_shows_what_a_client_said;
    owner_macs:
        a_thread_that_was_given_to_another_is_refused
        a_session_that_was_given_to_another_is_refused
        a_root_with_another_scope_takes_nothing_in
        a_snapshot_is_restored_as_whose_it_was_taken
        what_servers_do_to_threads_and_sessions_leaves_them_signed;
    owner_signing:
        a_database_of_an_earlier_version_is_signed_once
        a_plain_database_is_signed_when_it_is_encrypted
        a_changed_owner_is_found_and_signed_only_after_it_was_shown;
    rights:
        a_row_that_was_forged_moved_or_changed_opens_nothing
        an_end_that_was_changed_in_the_database_lengthens_nothing
        an_earlier_state_of_the_rows_is_refused_by_who_saw_a_later_one
        a_quota_that_was_changed_or_removed_lets_nothing_more_in
        what_changes_through_the_server_stays_right
        a_plain_server_stops_once_its_database_is_encrypted;
}
