//! Lists the cases of keys, tokens, quotas and the audit log of tenants, in the order of main.rs.

contract! {
    keys:
        keys_are_made_listed_and_revoked
        keys_are_listed_in_pages_with_what_they_are_called
        a_database_that_had_a_key_is_not_keyless_again
        a_database_whose_only_key_was_erased_is_not_keyless_again
        a_key_keeps_its_end_and_the_day_of_its_last_use
        a_key_that_ended_long_ago_is_revoked_by_the_sweep
        an_expired_key_keeps_the_database_from_being_keyless;
    quotas:
        a_quota_is_set_replaced_and_removed
        a_full_tenant_commits_to_its_threads_and_makes_none
        a_refused_thread_takes_nobody_down
        conditions_come_before_the_quota
        leases_and_copies_make_no_thread_either
        bytes_are_overshot_by_one_poll_at_most_and_deleting_makes_room
        two_servers_follow_one_quota
        usage_is_the_sum_over_listed_threads;
    tenants:
        a_tenant_is_there_once_something_of_it_is_and_asking_makes_none
        tenants_are_listed_in_pages_with_what_they_have;
    audit:
        an_act_is_there_with_what_it_did_and_never_without
        events_are_listed_in_pages_and_by_time_and_act
        refusals_of_a_minute_are_one_row_on_any_number_of_servers
        refusals_that_cannot_be_written_are_counted_on
        events_go_when_they_were_kept_for_long_enough;
    tokens:
        a_secret_is_made_once_and_again_when_it_is_old
        servers_that_meet_at_a_new_tenant_make_secrets_that_both_know
        secrets_of_a_tenant_are_removed_and_no_others
        revocations_are_kept_by_tenant_up_to_a_limit
        one_chain_of_tokens_takes_a_share_of_the_revocations
        a_sweep_removes_what_no_living_token_needs;
}
