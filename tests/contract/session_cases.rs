//! Lists the cases of sessions.

contract! {
    sessions:
        entries_come_back_exactly_and_in_order
        an_append_of_nothing_leaves_nothing
        an_id_comes_once_in_a_stream
        a_condition_on_the_head_holds_or_nothing_happens
        loads_cut_as_they_are_asked_to
        a_repeated_change_is_answered_once
        documents_have_versions_and_grow
        documents_of_many_sessions_are_found_together
        thousands_of_documents_are_found_in_time
        sessions_are_listed_newest_first;
    session_lives:
        a_deleted_session_is_gone_with_everything
        readers_never_see_a_number_without_the_one_before
        a_compaction_archives_and_numbers_go_on
        compactions_that_race_have_one_winner_and_lose_nothing
        a_foreign_session_is_an_absent_one;
    session_maintenance:
        an_erased_subject_leaves_nothing_of_its_sessions
        the_doctor_finds_damaged_and_missing_entries
        the_doctor_removes_entries_of_no_session
        turning_encryption_on_seals_sessions;
}
