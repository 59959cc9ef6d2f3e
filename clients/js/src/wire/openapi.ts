/** Types of requests and answers as MessagePack, made from the OpenAPI document by scripts/wire_types.mjs. */
export interface paths {
    "/__inspector/health": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Whether the Inspector is served */
        get: operations["inspect_health"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/__inspector/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Sessions, newest first */
        get: operations["inspect_sessions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/__inspector/sessions/{session}/messages": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Messages */
        get: operations["inspect_messages"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/__inspector/sessions/{session}/orchestration": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The orchestration as it is recovered */
        get: operations["inspect_orchestration"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/__inspector/sessions/{session}/trace": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Trace and orchestration's events, by time */
        get: operations["inspect_trace"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agentrail/v1/t/{tenant}/memo/{scope}/{owner}/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a memo of Agentrail's */
        get: operations["agentrail_get_memo"];
        /** Put a memo of Agentrail's */
        put: operations["agentrail_put_memo"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agentrail/v1/t/{tenant}/memo/{scope}/{owner}/{name}/append": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Append to a memo of Agentrail's */
        post: operations["agentrail_append_memo"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agentrail/v1/t/{tenant}/s/{session}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Make a session of Agentrail's
         * @description Unless it is there: its first user and agent stay. Where another user has it, the server's setting `--agentrail-other-user` decides
         *     whether it is answered, which is the default, or refused.
         */
        put: operations["agentrail_put_session"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agentrail/v1/t/{tenant}/s/{session}/archives": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List archives of Agentrail's messages */
        get: operations["agentrail_list_archives"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agentrail/v1/t/{tenant}/s/{session}/archives/{archive}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Load an archive of Agentrail's messages */
        get: operations["agentrail_load_archive"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agentrail/v1/t/{tenant}/s/{session}/artifacts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List results of tools of a session of Agentrail's */
        get: operations["agentrail_list_artifacts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agentrail/v1/t/{tenant}/s/{session}/artifacts/{tool_call}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the result of a tool of Agentrail's */
        get: operations["agentrail_get_artifact"];
        /** Put the result of a tool of Agentrail's */
        put: operations["agentrail_put_artifact"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agentrail/v1/t/{tenant}/s/{session}/compact": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Compact messages of Agentrail's
         * @description In one transaction: the messages up to `throughSeq` become an archive, the placeholder takes their place, and NOTES.md of the session is
         *     extended. `{archive_id}` in both is filled in; with an `archiveId` the archive gets that one, or nothing happens.
         */
        post: operations["agentrail_compact_session"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agentrail/v1/t/{tenant}/s/{session}/messages": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Load messages of Agentrail's
         * @description All that are visible, or the last `limit`. `headSeq` and `count` are of all: message `i` of them has the number `headSeq - count + 1 + i`.
         */
        get: operations["agentrail_load_messages"];
        put?: never;
        /** Append messages of Agentrail's */
        post: operations["agentrail_append_messages"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agentrail/v1/t/{tenant}/s/{session}/orch/agents/{agent}/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the history of an agent of Agentrail's */
        get: operations["agentrail_get_history"];
        /** Put the history of an agent of Agentrail's */
        put: operations["agentrail_put_history"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agentrail/v1/t/{tenant}/s/{session}/orch/agents/{agent}/mailbox": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Load the mailbox of an agent of Agentrail's */
        get: operations["agentrail_load_mailbox"];
        put?: never;
        /**
         * Append to the mailbox of an agent of Agentrail's
         * @description An event whose `eventId` is there is left out.
         */
        post: operations["agentrail_append_mailbox"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agentrail/v1/t/{tenant}/s/{session}/orch/agents/{agent}/mailbox-state": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the state of a mailbox of Agentrail's */
        get: operations["agentrail_get_mailbox_state"];
        /** Put the state of a mailbox of Agentrail's */
        put: operations["agentrail_put_mailbox_state"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agentrail/v1/t/{tenant}/s/{session}/orch/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Load the orchestration's events of a session of Agentrail's */
        get: operations["agentrail_load_events"];
        put?: never;
        /**
         * Append to the orchestration's events of a session of Agentrail's
         * @description An event whose `eventId` is there is left out. `event` with `snapshot` is one transaction: the event and the checkpoint behind it.
         */
        post: operations["agentrail_append_events"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agentrail/v1/t/{tenant}/s/{session}/orch/snapshot": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the orchestration's checkpoint of a session of Agentrail's */
        get: operations["agentrail_get_snapshot"];
        /** Put the orchestration's checkpoint of a session of Agentrail's */
        put: operations["agentrail_put_snapshot"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agentrail/v1/t/{tenant}/s/{session}/skill-logs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Log what a skill of Agentrail's did
         * @description The body is the log's entry.
         */
        post: operations["agentrail_log_skill"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agentrail/v1/t/{tenant}/s/{session}/todos": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the todos of a session of Agentrail's */
        get: operations["agentrail_get_todos"];
        /** Put the todos of a session of Agentrail's */
        put: operations["agentrail_put_todos"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agentrail/v1/t/{tenant}/s/{session}/trace": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Load the trace of a session of Agentrail's
         * @description In the order in which it was appended.
         */
        get: operations["agentrail_load_trace"];
        put?: never;
        /**
         * Append to the trace of a session of Agentrail's
         * @description An envelope whose `id` the trace has is left out.
         */
        post: operations["agentrail_append_trace"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agentrail/v1/t/{tenant}/s/{session}/turns": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Record a turn of Agentrail's
         * @description The body is its usage. Turns are numbered from 0 in the order of commits.
         */
        post: operations["agentrail_record_turn"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agentrail/v1/t/{tenant}/users/{user}/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the sessions of a user of Agentrail's
         * @description Newest first.
         */
        get: operations["agentrail_list_sessions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/storage/list": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List a folder of the drive
         * @description Folders and files right in it, or with `recursive=true` all files below it. `/memories` is the agent's memory, `/threads/{id}` what
         *     a thread left aside, everything else the workspace. A path that is no folder has no entries.
         */
        get: operations["list_drive"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/storage/upload": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Upload a file into the drive
         * @description As a form (`multipart/form-data`) with the fields `path` and then `file`, or as the raw body with `?path=`. Replaces what is there.
         */
        post: operations["upload_to_drive"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/storage/url": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get an address of a file
         * @description Whoever has the address may read this file, and nothing else, without a key, until it expires: for `<img>` and previews. It ends
         *     with the key or token it was made with, with the file (one that is deleted and made again is another one) and with the subject.
         *     `version` ties it to one version of the file. Begins with `--files-origin` where the server has one, else with `/`.
         */
        get: operations["get_drive_url"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/i/{token}/__inspector/health": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Whether the Inspector is served; by an address with a token */
        get: operations["inspect_health_by_token"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/i/{token}/__inspector/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Sessions, newest first; by an address with a token */
        get: operations["inspect_sessions_by_token"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/i/{token}/__inspector/sessions/{session}/messages": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Messages; by an address with a token */
        get: operations["inspect_messages_by_token"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/i/{token}/__inspector/sessions/{session}/orchestration": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The orchestration as it is recovered; by an address with a token */
        get: operations["inspect_orchestration_by_token"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/i/{token}/__inspector/sessions/{session}/trace": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Trace and orchestration's events, by time; by an address with a token */
        get: operations["inspect_trace_by_token"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the audit log
         * @description Newest first: administrative acts one by one, and refusals (`refused`), one event per minute, credential, code and
         *     route with the `count` of requests. Ids, never values. For credentials that read the whole tenant.
         */
        get: operations["list_audit_events"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/checkpoints/commit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Write checkpoints and writes to a thread
         * @description Applied in the order given, one transaction, durable when answered. The thread is created by its first
         *     commit. The same request may be sent again: same answer, no duplicate.
         */
        post: operations["commit_checkpoints"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/checkpoints/delete-for-runs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Delete the checkpoints of runs
         * @description In all threads that the caller may write to. Checkpoints that stay keep their state, also that of delta channels.
         */
        post: operations["delete_checkpoints_of_runs"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/checkpoints/get": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Get a checkpoint
         * @description The latest, or the one named, with its values and writes and the history of its delta channels. An absent
         *     `checkpoint` means that there is none, and nothing else.
         */
        post: operations["get_checkpoint"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/checkpoints/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Get the history of delta channels
         * @description An absent `checkpoint_id` in the answer means that there is no such checkpoint; every history is then empty.
         */
        post: operations["get_channel_history"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/checkpoints/list": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * List checkpoints
         * @description Newest first by checkpoint id (bytes), then thread id, then namespace. A page can be empty and still have
         *     a `next_cursor`.
         */
        post: operations["list_checkpoints"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/checkpoints/parts/get": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Get a part of a large value
         * @description Its name is one of `parts` in the `data` of a value that was read with `value_parts`. 409 where it is gone, because the thread
         *     was pruned or deleted: read the checkpoint again.
         */
        post: operations["get_value_part"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/checkpoints/parts/put": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Put a part of a large value
         * @description Ahead of the commit that names it. Every part but the last has `value_part_bytes`. It waits for its commit for a day; put again,
         *     it gets another name, and both are good. The thread is made where there is none.
         */
        post: operations["put_value_part"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/checkpoints/prune": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Prune threads
         * @description A checkpoint goes only when it is outside of the `keep_last` greatest ids of its namespace **and** was stored before
         *     `older_than`. `delete` removes the threads. The answer says what went; with `dry_run`, what would go. Unknown threads
         *     are no error.
         */
        post: operations["prune_threads"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/checkpoints/timeline": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * List the steps of a thread
         * @description Its checkpoints, newest first by checkpoint id (bytes), then namespace, with what is told of them by skeleton, metadata and the
         *     number of their writes: no value is read. A page ends early where the documents of its checkpoints are large. An absent
         *     `generation` means that there is no such thread. Sizes of values and the calls of tools are not told: both need the values.
         */
        post: operations["list_timeline"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/checkpoints/values": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the values of a checkpoint
         * @description Every channel with a value, those that are the graph's own affair too, as they enter the step of the checkpoint; decoded for
         *     display as `GET /v1/state` does. An absent `checkpoint` means that there is none, and nothing else. Values are cut as
         *     `GET /v1/state` cuts them: `channel=messages&from=-50&items_max=50` shows the last 50 messages. With `pointer`, the value of its
         *     channel is that of the place, and `channels` is empty where there is no such place. Bytes of `raw` are never cut.
         */
        get: operations["get_checkpoint_values"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Export
         * @description A file with everything of the tenant, or with the parts that are named, streamed: `clients/EXPORT.md` in the sources describes it.
         *     **It is not encrypted**, whatever the database is: it holds conversations in clear. Each thread is of one moment; all of them
         *     together are not. A file that does not end with its end record was cut off: send the request again.
         */
        post: operations["export_tenant"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/files/append": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Append to a file
         * @description Makes it where there is none, unless a base is named. With `base_sha256` only to exactly that content, so that a client which has
         *     the whole text sends no more than what is new.
         */
        post: operations["append_file"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/files/content": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Put a file as raw bytes
         * @description Creates or replaces it. Up to 16 MiB it becomes the value of its item, as deepagents writes it: text where it is UTF-8, else
         *     base64. A larger one is kept beside the items: the store answers 413 `value_too_large` for it and leaves it out of searches. The
         *     same bytes again cost nothing. Nothing shows before all has arrived; what breaks off is sent again, or in parts
         *     (`/v1/files/uploads`).
         */
        put: operations["put_file_content"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/files/copy": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Copy a file or a directory
         * @description At once, at most 1,000 files; values stay as they are. Files of any size cost no bytes within one namespace root (the first label); to
         *     another root those over 16 MiB are copied, together up to 1 GiB.
         */
        post: operations["copy_files"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/files/delete": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Delete a file or a directory
         * @description The item at the path and everything below it: in one step on PostgreSQL; on the embedded database 500 files at a time, so that other
         *     writes go between, and who reads meanwhile may see some gone and others not. With `if_version` the file alone, where it still has
         *     this version.
         */
        post: operations["delete_files"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/files/download": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Download files
         * @description The bytes of up to 1,000 files, one result per path, in their order.
         */
        post: operations["download_files"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/files/edit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Edit a file
         * @description Replaces a text that occurs once, or every occurrence of it. Edits of one file never lose each other's changes. The details of
         *     its errors are deepagents' texts.
         */
        post: operations["edit_file"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/files/glob": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Find files by a pattern
         * @description Files whose paths match, last changed first. Python: as wcmatch with BRACE and GLOBSTAR, a pattern without slashes is held
         *     against names at any depth, dotfiles are left out. JavaScript: as micromatch with dotfiles.
         */
        post: operations["glob_files"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/files/grep": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Search files for a text
         * @description Lines that hold a text, literally, by path and line. Files of bytes are passed over. `max_count` cuts, and so do the server's limits;
         *     `truncated` says that there is more.
         */
        post: operations["grep_files"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/files/ls": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * List a directory of files
         * @description Files and directories directly below a path, or all files below it, by path. Items that are no files are left out; contents
         *     are not read. A path without files has no entries. Pages by cursor miss nothing and repeat nothing while others write.
         */
        post: operations["list_files"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/files/move": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Move a file or a directory
         * @description At once, at most 1,000 files; values stay as they are. Files of any size cost no bytes within one namespace root (the first label); to
         *     another root those over 16 MiB are copied, together up to 1 GiB.
         */
        post: operations["move_files"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/files/read": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Read a file
         * @description A window of the lines of a text, or a file of bytes whole, with the fields that deepagents' `ReadResult` has.
         */
        post: operations["read_file"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/files/stat": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * What is known of a file
         * @description Without its content. A path with files below it is a directory.
         */
        post: operations["stat_file"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/files/upload": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Upload files
         * @description Up to 1,000 files with their whole contents, each for itself, one result per file, in their order. Text where the bytes are UTF-8, for
         *     JavaScript by the path.
         */
        post: operations["upload_files"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/files/uploads": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Begin an upload
         * @description Nothing shows before it is completed. One to which nothing was added for a day is removed.
         */
        post: operations["begin_upload"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/files/uploads/{upload_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get an upload
         * @description What has arrived of it, to go on after an interruption.
         */
        get: operations["get_upload"];
        put?: never;
        post?: never;
        /**
         * Abort an upload
         * @description Its parts go. Can be repeated; a completed one stays.
         */
        delete: operations["abort_upload"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/files/uploads/{upload_id}/complete": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Complete an upload
         * @description Makes the file out of the parts, in the order of their numbers, from 1 without a gap. With `parts` it must be exactly these. Again, for a day: the
         *     same answer, whatever became of the file.
         */
        post: operations["complete_upload"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/files/uploads/{upload_id}/parts/{part}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Put a part
         * @description In any order, several at a time. A part that is sent again replaces the earlier one once it has arrived.
         */
        put: operations["put_upload_part"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/files/url": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get an address of a file in any namespace
         * @description As `GET /api/storage/url`, for a file of exactly the namespace that `ns` names (`ns=a&ns=b`).
         */
        get: operations["get_file_url"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/files/write": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Write a file
         * @description Creates it, or replaces its content and keeps when it was created and what else its value holds. A new file's path begins with a
         *     slash and has no empty part, `.`, `..` or NUL. JavaScript takes what is written to a path of bytes (`.png`) for base64.
         */
        post: operations["write_file"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/import": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Import
         * @description Reads a file of an export into the tenant, noun by noun, each whole or not at all. What is there as in the file stays; what is there with
         *     other contents ends the import with `import_conflict`, or with `overwrite` is replaced. A file that is damaged or cut off ends it at
         *     that place: what came before is there, and a repetition finds it unchanged.
         */
        post: operations["import_tenant"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/info": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the server
         * @description What answers. Without a key or token: its name, its version, and whether local programs need no key.
         */
        get: operations["get_info"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the keys
         * @description Of the tenant, in the order in which they were made, revoked ones too. Never their texts.
         */
        get: operations["list_keys"];
        put?: never;
        /**
         * Make a key
         * @description For keys of the whole tenant; a token makes none, because a key may outlive it. With `ttl_seconds` the key ends by itself, and with it
         *     all tokens that were made with it; then it is refused with `key_expired`. The text is answered once and kept nowhere. A retry
         *     makes another key: look for it in the list and revoke it.
         */
        post: operations["create_key"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/keys/revoke": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Revoke a key
         * @description With all tokens that were made with it: here at once, on other servers within two seconds. The key that asks is refused unless
         *     `own` is true. Can be repeated. 404 for a key that the tenant never had.
         */
        post: operations["revoke_key"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/limits": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the limits
         * @description Sizes are bytes of decoded UTF-8 or of raw data.
         */
        get: operations["get_limits"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/operator/keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the keys of a tenant or of operators
         * @description In the order in which they were made, revoked ones too. Never their texts. 404 for a tenant that has nothing here. For operators.
         */
        get: operations["list_tenant_keys"];
        put?: never;
        /**
         * Make a key for a tenant or an operator
         * @description The first key of a tenant makes the tenant. The text is answered once and kept nowhere. A retry makes another key: look for it in the list
         *     and revoke it. For operators.
         */
        post: operations["create_tenant_key"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/operator/keys/revoke": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Revoke a key of a tenant or of an operator
         * @description With all tokens that were made with it: here at once, on other servers within two seconds. The key that asks is refused unless
         *     `own` is true. Can be repeated. 404 for a key that never was. For operators.
         */
        post: operations["revoke_tenant_key"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/operator/quotas": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a tenant's usage and quota
         * @description What it has, at most 10 seconds ago, and what it may have. 404 for a tenant that has nothing here. For operators.
         */
        get: operations["get_tenant_quota"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/operator/quotas/put": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Set a tenant's quota
         * @description It replaces the one before: what is left out is unlimited. This server follows at once, others within ten seconds. With a limit, a
         *     tenant that had nothing is there from now on. For operators.
         */
        post: operations["put_tenant_quota"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/operator/rotate-secrets": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Replace a tenant's signing secrets
         * @description Ends all its tokens and addresses of files within two seconds, here at once; new ones are signed anew. For emergencies: secrets are
         *     replaced every 30 days by themselves, and no token notices. 404 for a tenant that has nothing here. For operators.
         */
        post: operations["rotate_tenant_secrets"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/operator/tenants": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the tenants
         * @description In the order of their names, with what each has stored. A tenant is there once it has a key, a quota or anything stored. For operators.
         */
        get: operations["list_tenants"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/retention/policies": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the retention policies
         * @description The tenant's own first, which has no `thread_id`, then those of threads by their ids. A thread's policy is there before the thread is.
         */
        get: operations["list_retention_policies"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/retention/policies/delete": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Delete a retention policy
         * @description The thread's own, or without `thread_id` the tenant's. No error when there is none. A thread's policy also goes when the
         *     thread is deleted.
         */
        post: operations["delete_retention_policy"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/retention/policies/get": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Get a retention policy
         * @description The thread's own, or without `thread_id` the tenant's. An absent `policy` means that there is none.
         */
        post: operations["get_retention_policy"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/retention/policies/put": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Put a retention policy
         * @description Of a thread, or without `thread_id` of the tenant, for all threads that have none of their own: a thread's policy
         *     replaces the tenant's as a whole, and one without any limit exempts the thread. Begin with `dry_run`. The servers
         *     apply it within their retention interval.
         */
        post: operations["put_retention_policy"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/retention/reports": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List retention reports
         * @description One per finished round, newest first, kept for 30 days. A round that removed nothing, and a dry run, replaces the last
         *     such report of its policy.
         */
        get: operations["list_retention_reports"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/retention/run": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Run retention now
         * @description Makes the thread's policy due, or without `thread_id` all of the tenant, and answers how many. Their reports follow.
         */
        post: operations["run_retention"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sandboxes/artifacts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Store what a sandbox made
         * @description A tar archive (plain, gzip or zstd), or with `path` one file, goes to `/workspace/sandbox-output/{date}/` of the drive. Files that are there
         *     with the same bytes cost nothing. Regular files and folders only: links, devices, sparse files, absolute names and names with `..` are refused by
         *     name. Nothing of a refused archive is stored, but for one with more than 32 MiB before the member that is at fault: send it again.
         */
        post: operations["store_artifacts"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/append": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Append entries
         * @description In one transaction, behind what the stream has; numbers are given in the order of commits, so a reader that has seen `n + 1` has
         *     seen `n`. Entries with an `id` that the stream has had are left out. A `document` is put with them or nothing happens. No
         *     entries and no document: nothing happens, and no session is made. A repetition with the same `Idempotency-Key` is
         *     answered like the first.
         */
        post: operations["append_entries"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/compact": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Compact a stream
         * @description In one transaction: the entries up to `through_seq` become the stream `archive_stream_prefix` with the archive's id behind it,
         *     `replacement` takes their place, and `document` is extended. `{archive_id}` in both is filled in: four digits or more, counted up
         *     in the session. The entries behind `through_seq` keep their numbers, the replacement gets the last numbers of what it replaces, and the
         *     head stays. `head_moved` says that something was appended or compacted since the caller looked, and nothing happened.
         */
        post: operations["compact_stream"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/counters/add": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Add to a counter
         * @description A counter that was never added to is 0. Numbers are given in the order of commits: with `by` 1 nobody gets the same value twice.
         */
        post: operations["add_to_counter"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/create": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Create a session
         * @description Unless it is there: the first user, agent and title stay. Appends and documents make their session too.
         */
        post: operations["create_session"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/delete": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Delete a session
         * @description With everything in it, or only one stream. No error when there is none.
         */
        post: operations["delete_session"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/documents/append": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Append to a document
         * @description Behind what it has, in one statement; creates it where there is none.
         */
        post: operations["append_document"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/documents/delete": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Delete a document
         * @description No error when there is none.
         */
        post: operations["delete_document"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/documents/find": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Find documents
         * @description Those of one name of all sessions below a prefix, by key: at most 10,000, and 64 MiB of contents.
         */
        post: operations["find_documents"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/documents/get": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Get a document */
        post: operations["get_document"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/documents/list": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * List documents
         * @description By name, of one session, without their contents.
         */
        post: operations["list_documents"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/documents/put": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Put a document
         * @description Creates it, or replaces all of it. Without `if_version` the last put wins. To replace needs `write`, to create one (`if_version` 0)
         *     `append`.
         */
        post: operations["put_document"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/kinds": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * List the kinds of sessions
         * @description Those of which the caller may read sessions, in the order of their names. A page may be short where there is a `next_cursor`.
         */
        post: operations["list_session_kinds"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/list": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * List sessions
         * @description Of one kind, newest first, those that the caller may read. The order moves with every append: it is a view for people.
         */
        post: operations["list_sessions"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/load": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Load entries
         * @description In the order of their numbers, from the first one, behind `after_seq`, or the last ones (`tail`, `token_budget`). `more` says
         *     that entries in the direction of reading were left out: go on with `after_seq`. One answer has at most 10,000 entries and
         *     about 16 MiB; a larger entry comes alone.
         */
        post: operations["load_entries"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/streams": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * List streams
         * @description By name, of one session. None: there is no such session, or nothing in it.
         */
        post: operations["list_streams"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/snapshots/archive": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Stage an archive of a workspace
         * @description A tar archive, plain or packed with gzip or zstd as its first bytes say; it is kept as the tar that is in the packing. Take a snapshot with
         *     its `archive_id` within a day, or it goes. Archives of one `workspace` share what they have in common: the second one of a workspace that hardly changed
         *     stores what is new. Files, folders and links: devices, pipes, sparse files, absolute names and names with `..` are refused by name. Links
         *     must lead to something inside of the archive, and nothing may lie behind a link, so that whoever unpacks it is led nowhere else; with `links=any` they
         *     are kept whatever they say. Nothing of a refused archive is stored, nor of one that breaks off. The workspace is the caller's own: the same name of
         *     another subject is another workspace.
         */
        put: operations["stage_archive"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/snapshots/delete": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Delete a snapshot
         * @description No error when there is none. What was restored from it stays.
         */
        post: operations["delete_snapshot"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/snapshots/get": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Get a snapshot
         * @description What is in it, without any content.
         */
        post: operations["get_snapshot"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/snapshots/list": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * List snapshots
         * @description Newest first, those that the caller may read.
         */
        post: operations["list_snapshots"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/snapshots/restore": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Restore a snapshot
         * @description All of what is chosen, or nothing. In place, a thing is as it was at the moment of the snapshot and nothing else; a thread
         *     gets a new generation, so that writers that still hold the old one are refused. What is replaced is a snapshot first, unless
         *     `safety` is false. Into another id, namespace or key there must be nothing. Threads and sessions that are made belong to the
         *     subject that asks; of a key of the whole tenant to whom `subjects` says, else to whom they belonged. `dry_run` says what would happen.
         */
        post: operations["restore_snapshot"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/snapshots/take": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Take a snapshot
         * @description Everything named, as it is at one moment, or nothing. It stands for itself: deleting or pruning what it was taken of changes
         *     nothing in it. The same `snapshot_id` with the same contents is answered with the snapshot that is there. An archive that was staged before is part
         *     of the snapshot; it is of the same moment only if nobody wrote to the workspace between `staged_at` and `taken_at`.
         */
        post: operations["take_snapshot"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/state": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a state
         * @description The newest of a thread, or the record of a checkpoint that is named, in plain JSON: what the graph's `get_state` tells, with
         *     messages as objects with `type` and `content`, delta channels replayed, the tasks that are next, what they ask and what they have
         *     written. Values are decoded for display and never built: what cannot be shown is `{"$opaque": {"codec", "size_bytes", "reason"}}`.
         *     The reducers of a graph are not known here, so the newest state shows what finished parallel tasks wrote in `writes` and, but for
         *     delta channels, not yet in `values`. An absent `state` means that there is no such checkpoint, and nothing else.
         *
         *     With `string_bytes_max`, `items_max` or `from`, a text, list or object that is shown in part is
         *     `{"$cut": {"size_bytes", "length", "from", "head", "pointer"}}`. `size_bytes` counts the text, or the JSON text of a list or object
         *     without escapes; `length` and `from` are those of a list or object, whose `head` begins at `from`. `pointer` names the place: send it
         *     as `pointer`, without the other three, and it comes whole. Places outside of `values` have none. An object of the graph's own whose only
         *     field is `$cut` is answered as cut, too, with none of its fields, so that every `$cut` of such an answer is a cut. Keys of objects
         *     are never cut. With `pointer`, `values` has its channel only, whose value is that of the place, and nothing where there is no such
         *     place.
         */
        get: operations["get_state"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/store/batch": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Run operations of the store together
         * @description All reads see the state from before the batch; of several changes of one item the last one counts. With `atomic` (the
         *     default) all changes happen or none, and the first error is the error of the call, its field begins with `ops[n]`. Without,
         *     each operation has its own result or `error`. Searches, lists and counts have the time of one search together,
         *     `search_seconds_max`; what has none left is `deadline_exceeded`. Gets and changes are not cut off.
         */
        post: operations["run_store_batch"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/store/count": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Count items */
        post: operations["count_items"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/store/delete": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Delete an item
         * @description No error when there is none, unless `if_version` asks for one.
         */
        post: operations["delete_item"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/store/get": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Get an item
         * @description An absent `item` means that there is none, or that it is not the caller's, or that it has expired.
         */
        post: operations["get_item"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/store/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * List the versions of an item
         * @description The present version and the earlier ones that are kept, newest first. Items that look like files keep 10, others none, unless
         *     their namespace declares another number (`put_namespace_setting`).
         */
        post: operations["list_item_versions"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/store/history/get": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Get a version of an item
         * @description An absent `version` means that it is not kept, or was never there, or that the item is not there, or not the caller's.
         */
        post: operations["get_item_version"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/store/history/restore": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Restore a version of an item
         * @description Puts the value of that version, with its time to live begun anew, as a new version; what it replaces becomes an earlier one. A
         *     repetition with the same `Idempotency-Key` is answered like the first.
         */
        post: operations["restore_item_version"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/store/namespaces": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * List namespaces
         * @description Those that hold items, in the order of their labels. A page has at most 1,000; follow `next_cursor`.
         */
        post: operations["list_namespaces"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/store/namespaces/largest": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * List the largest namespaces
         * @description The namespaces whose items have the most bytes, the largest first, with what is in each itself, not below it. Goes through all items
         *     below the prefix that the caller may read; where they are too many for its time, it ends with `deadline_exceeded`.
         */
        post: operations["list_largest_namespaces"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/store/put": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Put an item
         * @description Creates it, or replaces its whole value and keeps `created_at`. Without `if_version` the last put wins, and a repetition puts the
         *     same once more; with it, one with the same `Idempotency-Key` is answered like the first.
         */
        post: operations["put_item"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/store/search": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Search items
         * @description Items below a prefix that match a filter. `created` and `key` are orders that puts do not change: pages by cursor miss
         *     nothing and repeat nothing while others write.
         */
        post: operations["search_items"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/store/settings/delete": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Delete a setting of a namespace
         * @description What shorter prefixes declare holds again. No error when there is none.
         */
        post: operations["delete_namespace_setting"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/store/settings/get": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Get a setting of a namespace
         * @description The namespace's own, and what holds for its items.
         */
        post: operations["get_namespace_setting"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/store/settings/list": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * List settings of namespaces
         * @description Those of namespaces below a prefix that the caller may read, in the order of their labels. There are at most 1,000.
         */
        post: operations["list_namespace_settings"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/store/settings/put": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Put a setting of a namespace
         * @description For the namespace and all below it; of several prefixes the longest that says something counts, for each field by itself.
         *     Replaces what this namespace declared. Other servers follow within two seconds. Needs the right to write to the namespace;
         *     an empty one stands for the whole tenant.
         */
        post: operations["put_namespace_setting"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/subjects": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the subjects
         * @description The owners of keys, threads, sessions and snapshots, in the order of their bytes. Counts end at 10,000 each. A subject that has only
         *     items of the store is not in the list.
         */
        get: operations["list_subjects"];
        put?: never;
        post?: never;
        /**
         * Erase a subject
         * @description Removes the subject's keys, its threads with everything in them, and what names them, and answers what went. Goes on when
         *     the caller leaves; after a failure the same call removes the rest. A second call answers zeros. Tokens of the
         *     subject are not ended: revoke them first, or a writer makes new threads. Threads that a key of the whole tenant
         *     made belong to no subject and stay, and so do copies that others made.
         */
        delete: operations["delete_subject"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/threads": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List threads
         * @description Those that the caller may read, if that are more than a few by name. `created` and `thread_id` are stable orders that neither skip nor repeat while others write; `updated`
         *     moves.
         */
        get: operations["list_threads"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/threads/copy": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Copy a thread
         * @description All checkpoints, values and writes, into a thread that is not there or empty. Of a source that is not there, none.
         */
        post: operations["copy_thread"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/threads/count": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Count threads
         * @description Those that meet all conditions, as far as the caller may read them.
         */
        post: operations["count_threads"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/threads/create": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Create a thread
         * @description Without checkpoints; its first commit keeps id, title and metadata. Where the thread is there, it is answered as it is. The caller has to be
         *     able to read it, too. Without `thread_id` it gets a new UUID, behind the prefix of a caller who may only write below one.
         */
        post: operations["create_thread"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/threads/delete": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Delete a thread
         * @description With everything in it. No error when there is none.
         */
        post: operations["delete_thread"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/threads/fork": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Fork a thread
         * @description A copy of the checkpoint with its writes, of its ancestors, and of what of subgraphs is not newer, into a thread that is not
         *     there. It shares content with the thread that it comes from.
         */
        post: operations["fork_thread"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/threads/get": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Get a thread
         * @description An absent `thread` means that there is none, and nothing else.
         */
        post: operations["get_thread"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/threads/lease/acquire": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Acquire the lease of a thread
         * @description Free, expired or already held by the same holder; creates the thread if needed.
         */
        post: operations["acquire_lease"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/threads/lease/break": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Break the lease of a thread
         * @description For keys of the whole tenant; it is in the audit log. Whoever held it is refused from here on. No error when nobody holds it.
         */
        post: operations["break_lease"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/threads/lease/release": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Release the lease of a thread
         * @description No error when it is not held any more.
         */
        post: operations["release_lease"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/threads/lease/renew": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Renew the lease of a thread */
        post: operations["renew_lease"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/threads/rewind": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Rewind a thread
         * @description The thread keeps the checkpoint with its writes, its ancestors, and what of subgraphs is not newer: what a fork from there would have.
         *     It gets a new generation, so that writers that still hold the old one are refused. The thread as it was is a snapshot, unless
         *     `safety` is false: its restore undoes the rewind. `dry_run` says what would go.
         */
        post: operations["rewind_thread"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/threads/search": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Search threads
         * @description Those that meet all conditions, as far as the caller may read them. `created` and `thread_id` are stable orders that neither skip nor repeat
         *     while others write; the others move.
         */
        post: operations["search_threads"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/threads/storage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get what a thread takes
         * @description Bytes as they were sent, against bytes as they are stored; by channel. An absent `storage` means that there is no
         *     such thread, and nothing else.
         */
        get: operations["get_thread_storage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/threads/update": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Update a thread
         * @description Its title, metadata and ttl. A request without a change moves `updated_at`.
         */
        post: operations["update_thread"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tokens": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the tokens
         * @description That were minted and are still valid, newest first. No token is stored: the audit log knows who made it, when, and its end. Tokens
         *     that were narrowed are not in it; they end with the one that they came from. A page may be short, or empty, where the next one has
         *     more: follow `next_cursor`.
         */
        get: operations["list_tokens"];
        put?: never;
        /**
         * Make a token
         * @description Only for keys; tokens narrow themselves. A key of the whole tenant makes tokens for any subject, or without one; a key
         *     with a subject for this subject and within its own grants. Without `grants`, the token has what the subject has: its own
         *     threads, sessions and snapshots, and the namespaces under its label. With `read_only` it reads this and changes nothing;
         *     without a subject it reads everything of the tenant. The text is answered once and kept nowhere. A retry
         *     makes another token; the first one expires unused, so this call takes no Idempotency-Key.
         */
        post: operations["mint_token"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tokens/narrow": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Narrow what the caller holds
         * @description Makes a token that may do no more than the key or token that was presented, has the same subject and expires no later.
         *     It dies with the one that it came from. Beyond that: 403 `not_granted`. Without `grants` they stay the same, without
         *     `ttl_seconds` it lasts an hour or as long as what was presented. A retry makes another token, as with minting.
         */
        post: operations["narrow_token"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tokens/revoke": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Revoke a token
         * @description With all that were narrowed from it: here at once, on other servers within two seconds. A key of the whole tenant
         *     revokes any token of the tenant by its id; since ids are not stored, an unknown one is no error. A token revokes itself, by
         *     its id or by an empty body, and by their text the tokens that came from it. A key with a subject revokes by their text
         *     the tokens that it made. A text that is not one of these is 404, whatever it is. Can be repeated.
         */
        post: operations["revoke_token"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/usage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get usage and quota
         * @description What the tenant has, at most 10 seconds ago, and what it may have. For credentials that read the whole tenant.
         */
        get: operations["get_usage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/whoami": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the caller */
        get: operations["whoami"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        AcquireLease: {
            holder: string;
            thread_id: string;
            /**
             * Format: int64
             * @description 1-3,600.
             */
            ttl_seconds: number;
        };
        AddToCounter: {
            /**
             * Format: int64
             * @description Default 1.
             */
            by?: number | null;
            counter: string;
            key: string[];
            kind: string;
        };
        Age: number | string;
        AgentrailAppended: {
            /** Format: int64 */
            firstSeq?: number | null;
            /** Format: int64 */
            lastSeq?: number | null;
        };
        AgentrailArchive: {
            archiveId: string;
        };
        AgentrailArchives: {
            archives: components["schemas"]["AgentrailArchive"][];
        };
        AgentrailArtifacts: {
            artifacts: string[];
        };
        AgentrailCompaction: {
            /** @description Four digits or more. */
            archiveId?: string | null;
            /**
             * Format: int64
             * @description How many messages go to the archive.
             */
            compressedCount: number;
            /** Format: int64 */
            expectedHead: number;
            /** @description As the header `Idempotency-Key`: 1-255 bytes without NUL. */
            idempotencyKey?: string | null;
            notesAppend?: string | null;
            placeholder: components["schemas"]["Exact"];
            /** Format: int64 */
            throughSeq: number;
        };
        /** @description A text that replaces, or extends, a document. */
        AgentrailContent: {
            content: string;
        };
        AgentrailEvents: {
            event?: components["schemas"]["Exact"] | null;
            events?: components["schemas"]["Exact"][] | null;
            snapshot?: components["schemas"]["Exact"] | null;
        };
        AgentrailHistory: {
            history: components["schemas"]["Exact"];
        };
        AgentrailHistoryRead: {
            history: components["schemas"]["Exact"];
        };
        /** @description Exact JSON values that travel together. */
        AgentrailList: {
            [key: string]: components["schemas"]["Exact"][];
        };
        AgentrailMailboxState: {
            state: components["schemas"]["Exact"];
        };
        AgentrailMailboxStateRead: {
            state: components["schemas"]["Exact"];
        };
        AgentrailMemo: {
            /** Format: int64 */
            bytes: number;
            content: string;
            /**
             * Format: int64
             * @description Milliseconds since 1970.
             */
            updatedAt: number;
        };
        AgentrailMessages: {
            /** Format: int64 */
            count: number;
            /** Format: int64 */
            headSeq: number;
            messages: components["schemas"]["Exact"][];
        };
        AgentrailNewMessages: {
            /** @description As the header `Idempotency-Key`: 1-255 bytes without NUL. */
            idempotencyKey?: string | null;
            messages: components["schemas"]["Exact"][];
        };
        AgentrailSession: {
            agentId: string;
            title?: string | null;
            userId: string;
        };
        AgentrailSessionMade: {
            created: boolean;
            /**
             * Format: int64
             * @description Milliseconds since 1970, like the others.
             */
            createdAt: number;
            sessionId: string;
            /** Format: int64 */
            updatedAt: number;
        };
        AgentrailSnapshot: {
            snapshot: components["schemas"]["Exact"];
        };
        AgentrailSnapshotRead: {
            snapshot: components["schemas"]["Exact"];
        };
        AgentrailTrace: {
            envelopes: components["schemas"]["Exact"][];
        };
        AgentrailTurn: {
            /** Format: int64 */
            turnIndex: number;
        };
        AgentrailUserSession: {
            sessionId: string;
            /** Format: int64 */
            updatedAt: number;
        };
        AgentrailUserSessions: {
            sessions: components["schemas"]["AgentrailUserSession"][];
        };
        /** @description Any string, with NUL or lone surrogates too. In application/msgpack a `str`; one with lone surrogates is a `bin` with the JSON text of the string. */
        AnyText: string | Uint8Array;
        AppendDocument: {
            content: components["schemas"]["DocumentContent"];
            key: string[];
            kind: string;
            name: string;
        };
        Appended: {
            /**
             * Format: int64
             * @description Without those that were there.
             */
            appended: number;
            /** Format: int64 */
            document_version?: number | null;
            /**
             * Format: int64
             * @description Of what was appended; absent where nothing was.
             */
            first_seq?: number | null;
            /**
             * Format: int64
             * @description Number of the stream's last entry, 0 for none.
             */
            head: number;
            /** Format: int64 */
            last_seq?: number | null;
        };
        AppendEntries: {
            create?: components["schemas"]["NewSession"] | null;
            document?: components["schemas"]["NewDocument"] | null;
            /** @description At most 10,000. */
            entries: components["schemas"]["NewEntry"][];
            /**
             * Format: int64
             * @description The number that the last entry must have; 0: the stream must be new.
             */
            if_head?: number | null;
            key: string[];
            kind: string;
            /** @description Default: the stream without a name. */
            stream?: string | null;
        };
        AppendFile: {
            /** @description SHA-256 of the whole present content as UTF-8, in hexadecimal. */
            base_sha256?: string | null;
            content: components["schemas"]["AnyText"];
            dialect?: components["schemas"]["FileDialect"] | null;
            /** Format: int64 */
            if_version?: number | null;
            namespace: string[];
            path: components["schemas"]["AnyText"];
        };
        AuditEvent: {
            act: string;
            /** @description Id of the key or token; `cli` for the command line. Absent where it is not known. */
            actor?: string;
            /** Format: date-time */
            at: string;
            /**
             * Format: int64
             * @description 1 for acts; for refusals, how many requests. After a connection to the database that broke it may be too high.
             */
            count: number;
            /** @description Of refusals, `code` and `route`. */
            details: components["schemas"]["Exact"];
            event_id: string;
            /** @description Id of what it was done to. Absent for the tenant as a whole, and of refusals. */
            object?: string;
        };
        AuditEvents: {
            events: components["schemas"]["AuditEvent"][];
            /** @description Send it with the same arguments for the next page; absent at the end. */
            next_cursor?: string | null;
        };
        /** @description What replaces the removed ancestors of a checkpoint for one channel. */
        Base: {
            channel: string;
            seed?: components["schemas"]["Value"] | null;
            /** @description Oldest first. */
            writes: components["schemas"]["BaseWrite"][];
        };
        BaseWrite: {
            data: components["schemas"]["DataAnswered"];
            tag: string;
            task_id: string;
        };
        BeginUpload: {
            /** @description Labels. */
            namespace: string[];
            path: string;
        };
        BegunUpload: {
            upload_id: string;
        };
        BreakLease: {
            thread_id: string;
        };
        Caller: {
            capabilities: components["schemas"]["Capabilities"];
            /**
             * @description What was presented: the id of a key (`key_…`) or token (`tok_…`), `issuer:NAME:SUBJECT`, or `local` on a server
             *     without keys. No secret.
             */
            credential: string;
            /**
             * Format: date-time
             * @description Of a token.
             */
            expires_at?: string | null;
            grants?: components["schemas"]["Grants"] | null;
            /** @description The subject as one legal namespace label. */
            label?: string | null;
            /**
             * @description The subject's former label, which leaves `:` as it is; its namespaces are granted, too. Equal to `label` where the subject has
             *     no colon.
             */
            label_with_colons?: string | null;
            /** @description True for the key of an operator, who looks after all tenants and reads the contents of none. Absent for others. */
            operator?: boolean | null;
            /** @description Absent for a key of the whole tenant. */
            subject?: string | null;
            tenant: string;
        };
        /**
         * @description What the caller may do with some thing of each kind. An operation whose `x-permission` is `threads:read` can succeed where `threads`
         *     has `read`; which things those are stands in `grants`.
         */
        Capabilities: {
            namespaces: components["schemas"]["GrantedAction"][];
            sessions: components["schemas"]["GrantedAction"][];
            snapshots: components["schemas"]["GrantedAction"][];
            /** @description `read` for what needs `tenant:read`, `write` for what needs `tenant`. */
            tenant: components["schemas"]["GrantedAction"][];
            threads: components["schemas"]["GrantedAction"][];
        };
        ChannelStorage: {
            channel: string;
            /** Format: int64 */
            logical_bytes: number;
            /**
             * Format: int64
             * @description Of the value that the newest checkpoint with a value of this channel shows.
             */
            newest_bytes: number;
            /** Format: int64 */
            versions: number;
        };
        ChannelValue: {
            channel: string;
            data: components["schemas"]["DataAnswered"];
            tag: string;
        };
        Checkpoint: {
            /** @description For forks: values the client holds of channels that are not in `new_versions`. */
            carried?: components["schemas"]["NewValue"][] | null;
            checkpoint_id: string;
            /** @description Empty for the root graph. */
            checkpoint_ns?: string | null;
            /** @description An object. */
            metadata: components["schemas"]["Exact"];
            parent_checkpoint_id?: string | null;
            /** @description The checkpoint without `channel_values`: an object. */
            skeleton: components["schemas"]["Exact"];
            /** @description One per channel of `new_versions`. */
            values: components["schemas"]["NewValue"][];
        };
        CheckpointPage: {
            /** @description Nodes that the histories of the listed checkpoints need, each once. */
            chain: components["schemas"]["Node"][];
            checkpoints: components["schemas"]["CheckpointView"][];
            history_channels: string[];
            /** @description Send it with the same arguments for the next page; absent at the end. */
            next_cursor?: string | null;
        };
        CheckpointValues: {
            /** @description In channel order (bytes). */
            channels: components["schemas"]["ShownChannel"][];
            checkpoint_id: string;
            checkpoint_ns: string;
            thread_id: string;
        };
        CheckpointView: {
            bases: components["schemas"]["Base"][];
            checkpoint_id: string;
            checkpoint_ns: string;
            metadata: components["schemas"]["Exact"];
            parent_checkpoint_id?: string | null;
            /** @description The parent's `__pregel_tasks` writes when the skeleton's `v` is below 4. */
            pending_sends: components["schemas"]["Value"][];
            skeleton: components["schemas"]["Exact"];
            thread_id: string;
            /** @description In channel order (bytes). */
            values: components["schemas"]["ChannelValue"][];
            /** @description In (`task_path`, `task_id`, `idx`) order (bytes). */
            writes: components["schemas"]["TaskWrite"][];
        };
        Commit: {
            /**
             * Format: int64
             * @description Needed while the thread's lease is held.
             */
            fence?: number | null;
            /** @description What was last read of the thread; absent before the first read. */
            generation?: string | null;
            /** @description 1-256, applied in order. */
            ops: components["schemas"]["CommitOp"][];
            thread_id: string;
            /** @description Random per saver object. */
            writer?: string | null;
        };
        CommitOp: components["schemas"]["CommitOpCheckpoint"] | components["schemas"]["CommitOpWrites"];
        CommitOpCheckpoint: {
            checkpoint: components["schemas"]["Checkpoint"];
        };
        CommitOpWrites: {
            writes: components["schemas"]["Writes"];
        };
        Committed: {
            /** @description Of the thread; send it with the next commit. */
            generation: string;
        };
        Compacted: {
            archive_id: string;
            /** Format: int64 */
            head: number;
        };
        CompactStream: {
            archive_stream_prefix: string;
            /**
             * Format: int64
             * @description How many entries go to the archive. With it a stream can be compacted twice without an append in between.
             */
            count?: number | null;
            document?: components["schemas"]["ExtendDocument"] | null;
            /**
             * Format: int64
             * @description The head of the stream as the caller read it.
             */
            expected_head: number;
            key: string[];
            kind: string;
            replacement: components["schemas"]["NewEntry"][];
            stream: string;
            /**
             * Format: int64
             * @description The last entry that goes to the archive.
             */
            through_seq: number;
        };
        CompleteUpload: {
            /**
             * Format: int64
             * @description The version that the file must have; 0: there must be none.
             */
            if_version?: number | null;
            /** @description What the file says it is; absent: what its name says. */
            media_type?: string | null;
            /** @description Those that the caller has sent; absent: whatever has arrived. */
            parts?: components["schemas"]["NamedPart"][] | null;
        };
        Copied: {
            /** Format: int64 */
            checkpoints: number;
        };
        /** @description Offset and length. */
        CopiedPart: number[];
        CopyThread: {
            source_thread_id: string;
            target_thread_id: string;
        };
        Counted: {
            /** Format: int64 */
            value: number;
        };
        CountItems: {
            exact?: boolean | null;
            filter?: components["schemas"]["Exact"] | null;
            prefix?: string[] | null;
        };
        CountThreads: {
            assistant_id?: string | null;
            /** @description From this time on. */
            created_after?: string | null;
            /** @description Before this time. */
            created_before?: string | null;
            /** @description As in the metadata of the thread's checkpoints, like the next two. */
            graph_id?: string | null;
            /** @description At most 1,000. */
            ids?: string[] | null;
            metadata?: components["schemas"]["Exact"] | null;
            owner?: string | null;
            /** @description Ids that begin with it. */
            prefix?: string | null;
            /** @description Part of the title, in small or large letters, or the beginning of the id. */
            q?: string | null;
            /** @description Threads that stand as one of these. */
            status?: components["schemas"]["ThreadStatus"][] | null;
            updated_after?: string | null;
            updated_before?: string | null;
            user_id?: string | null;
            values?: components["schemas"]["Exact"] | null;
        };
        CreatedKey: components["schemas"]["Key"] & {
            /** @description The secret; in no log and in no table. */
            key: string;
        };
        CreatedSession: {
            agent?: string | null;
            /** @description By this request. */
            created: boolean;
            /** Format: date-time */
            created_at: string;
            title?: string | null;
            /** Format: date-time */
            updated_at: string;
            /** Format: int64 */
            updated_at_ms: number;
            user?: string | null;
        };
        CreatedThread: {
            /** @description False: it was there. */
            created: boolean;
            thread: components["schemas"]["Thread"];
        };
        CreateKey: {
            /** @description For people: 1 to 100 bytes without control characters. */
            name?: string | null;
            /** @description It reads what it would otherwise change. */
            read_only?: boolean;
            /** @description Whom the key speaks for; absent, it has the whole tenant. */
            subject?: string | null;
            /**
             * Format: int64
             * @description 1-315,360,000. Absent: it does not end by itself.
             */
            ttl_seconds?: number | null;
        };
        CreateSession: {
            agent?: string | null;
            /** @description 1 to 8 parts of any text. */
            key: string[];
            /** @description 1 to 64 of `[a-z0-9_-]`. */
            kind: string;
            title?: string | null;
            user?: string | null;
        };
        CreateTenantKey: {
            /** @description For people: 1 to 100 bytes without control characters. */
            name?: string | null;
            /** @description True: the key of another operator. */
            operators?: boolean;
            /** @description It reads what it would otherwise change. */
            read_only?: boolean;
            /** @description Whom the key speaks for; absent, it has the whole tenant. */
            subject?: string | null;
            /** @description Whose key; or send `operators`. */
            tenant?: string | null;
            /**
             * Format: int64
             * @description 1-315,360,000. Absent: it does not end by itself.
             */
            ttl_seconds?: number | null;
        };
        CreateThread: {
            metadata?: components["schemas"]["Exact"] | null;
            thread_id?: string | null;
            /** @description At most 1,024 bytes. */
            title?: string | null;
            ttl?: components["schemas"]["ThreadTtl"] | null;
        };
        /** @description Serialized bytes: base64 (standard alphabet, padded) in application/json, `bin` in application/msgpack. */
        Data: Uint8Array;
        DataAnswered: components["schemas"]["Data"] | components["schemas"]["SameValue"] | components["schemas"]["Difference"] | components["schemas"]["ValueInParts"];
        DataIn: components["schemas"]["Data"] | components["schemas"]["Difference"] | components["schemas"]["ValueInParts"];
        DeletedFiles: {
            /**
             * Format: int64
             * @description How many there were.
             */
            deleted: number;
        };
        DeleteFiles: {
            dialect?: components["schemas"]["FileDialect"] | null;
            /** Format: int64 */
            if_version?: number | null;
            namespace: string[];
            /** @description `/` is everything. */
            path: components["schemas"]["AnyText"];
        };
        DeleteForRuns: {
            /** @description At most 1,000. */
            run_ids: string[];
        };
        DeleteItem: {
            /**
             * Format: int64
             * @description The version that the item must have.
             */
            if_version?: number | null;
            key: components["schemas"]["ItemKey"];
            namespace: string[];
        };
        DeleteSession: {
            key: string[];
            kind: string;
            /** @description Only this one; the session and its documents stay. */
            stream?: string | null;
        };
        DeleteThread: {
            /**
             * Format: int64
             * @description Needed while the thread's lease is held.
             */
            fence?: number | null;
            /** @description What was last read of the thread. */
            generation?: string | null;
            thread_id: string;
        };
        /** @description How a value comes out of another one, its base: pieces of the base and bytes, in their order. */
        Difference: {
            /** @description SHA-256 of the base: a value of this thread. */
            base: components["schemas"]["Data"];
            /**
             * Format: int64
             * @description Bytes of the result.
             */
            length: number;
            /** @description At most 1,024. */
            ops: components["schemas"]["DifferenceOp"][];
            /** @description SHA-256 of the result. */
            sha256: components["schemas"]["Data"];
        };
        DifferenceOp: components["schemas"]["DifferenceOpCopy"] | components["schemas"]["DifferenceOpInsert"];
        /** @description Offset in the base, and length. */
        DifferenceOpCopy: {
            /** @description Offset in the base, and length. */
            copy: components["schemas"]["CopiedPart"];
        };
        DifferenceOpInsert: {
            insert: components["schemas"]["Data"];
        };
        Document: {
            content: components["schemas"]["DocumentContent"];
            /** Format: int64 */
            size: number;
            /** Format: int64 */
            updated_at_ms: number;
            /** Format: int64 */
            version: number;
        };
        /** @description Any string, also with NUL or with lone surrogates. In application/msgpack a `str`; one with lone surrogates is a `bin` with the JSON text of the string. */
        DocumentContent: string | Uint8Array;
        Documents: {
            documents: components["schemas"]["ListedDocument"][];
        };
        DownloadedFile: {
            bytes?: components["schemas"]["Data"] | null;
            /** @description `file_not_found`, `value_too_large`, `too_large_for_batch` (the answer has its bytes: ask again), or a text. */
            error?: string | null;
            media_type?: string | null;
            path: components["schemas"]["AnyText"];
            /** @description Of the bytes, in hexadecimal. */
            sha256?: string | null;
            /** Format: int64 */
            version?: number | null;
        };
        DownloadedFiles: {
            results: components["schemas"]["DownloadedFile"][];
        };
        DownloadFiles: {
            dialect?: components["schemas"]["FileDialect"] | null;
            namespace: string[];
            paths: components["schemas"]["AnyText"][];
        };
        /** @description A file or folder of the drive. */
        DriveEntry: {
            /** @description As a download has it. */
            etag?: string | null;
            is_dir: boolean;
            media_type?: string | null;
            /** @description As its writer wrote it; absent for folders. */
            modified_at?: string | null;
            name: string;
            path: string;
            /**
             * Format: int64
             * @description Bytes; 0 for folders.
             */
            size: number;
        };
        DriveListing: {
            entries: components["schemas"]["DriveEntry"][];
            /** @description There may be more. */
            next_cursor?: string | null;
            path: string;
        };
        EditedFile: {
            /**
             * Format: int64
             * @description How many were replaced.
             */
            occurrences: number;
            path: components["schemas"]["AnyText"];
            /** Format: int64 */
            version: number;
        };
        EditFile: {
            dialect?: components["schemas"]["FileDialect"] | null;
            /** Format: int64 */
            if_version?: number | null;
            namespace: string[];
            new_string: components["schemas"]["AnyText"];
            old_string: components["schemas"]["AnyText"];
            path: components["schemas"]["AnyText"];
            /** @description Default false. */
            replace_all?: boolean | null;
        };
        /** @description What holds for a namespace. */
        EffectiveNamespaceSetting: {
            /**
             * Format: int32
             * @description Absent: 10 for items that look like files, 0 for others.
             */
            history?: number | null;
            text_fields?: string[] | null;
        };
        /** @description The answer of writes that have nothing to tell. */
        Empty: {
            [key: string]: components["schemas"]["Exact"];
        };
        Entries: {
            entries: components["schemas"]["Entry"][];
            /**
             * Format: int64
             * @description Number of the stream's last entry.
             */
            head: number;
            more: boolean;
        };
        Entry: {
            /** Format: int64 */
            at_ms: number;
            data: components["schemas"]["Exact"];
            id?: string | null;
            /** Format: int64 */
            seq: number;
        };
        /** @description What an erasure removed. Counts are of rows; of what a copy shares with its source, once. */
        ErasureReceipt: {
            /**
             * Format: int64
             * @description Stored answers to requests that may be repeated.
             */
            answers: number;
            /** Format: int64 */
            checkpoints: number;
            /** Format: int64 */
            chunks: number;
            /**
             * Format: int64
             * @description Contents of files that are too large for an item, and unfinished uploads.
             */
            contents: number;
            /** Format: int64 */
            delta_bases: number;
            /**
             * Format: int64
             * @description Of sessions: entries of streams and pieces of documents.
             */
            entries: number;
            /**
             * Format: int64
             * @description Of the store, below the subject's label.
             */
            items: number;
            /** Format: int64 */
            keys: number;
            /**
             * Format: int64
             * @description Objects that are deleted from the object store in the next minutes.
             */
            packs: number;
            /** Format: int64 */
            retention_policies: number;
            /** Format: int64 */
            retention_reports: number;
            /** Format: int64 */
            sessions: number;
            /**
             * Format: int64
             * @description As threads and items count themselves: before compression and sharing.
             */
            size_bytes: number;
            /**
             * Format: int64
             * @description That it made.
             */
            snapshots: number;
            /** Format: int64 */
            threads: number;
            /**
             * Format: int64
             * @description What was left of threads that had been deleted before.
             */
            tombstones: number;
            /**
             * Format: int64
             * @description Values of channels, each once.
             */
            values: number;
            /** Format: int64 */
            writes: number;
        };
        /** @description Exact JSON text: kept and answered byte for byte. In place in application/json; in application/msgpack a `bin` with the UTF-8 JSON text. */
        Exact: Uint8Array;
        /** @description What goes into the file. */
        Export: {
            /** @description What is in these namespaces and below. */
            namespaces?: string[][];
            /** @description These sessions, whole. */
            sessions?: components["schemas"]["ExportedSession"][];
            /** @description These snapshots, with what they keep. With none of all four: everything of the tenant. */
            snapshots?: string[];
            /** @description These threads, whole. */
            threads?: string[];
        };
        ExportedSession: {
            key: string[];
            kind: string;
        };
        /** @description What is added to a document. */
        ExtendDocument: {
            append: components["schemas"]["DocumentContent"];
            name: string;
        };
        FailedStoreOp: {
            error: components["schemas"]["StoreOpError"];
        };
        FieldVector: {
            /** @description Which part of the value it stands for, for whoever reads it: a path, `$` for all of it. */
            field?: string | null;
            vector: components["schemas"]["Numbers"];
        };
        FileAddress: {
            /** Format: date-time */
            expires_at: string;
            url: string;
        };
        /**
         * @description Which of deepagents' languages asks.
         * @enum {string}
         */
        FileDialect: "python" | "javascript";
        /** @description A file or a directory. */
        FileEntry: {
            created_at?: components["schemas"]["AnyText"] | null;
            /** @description SHA-256 of the bytes of the content, in hexadecimal; the version where it is not known. */
            etag?: string | null;
            is_dir: boolean;
            media_type?: string | null;
            /** @description The text in the value; empty for a directory, and where the value has none. */
            modified_at: components["schemas"]["AnyText"];
            /** @description That of a directory ends with a slash. */
            path: components["schemas"]["AnyText"];
            /** @description SHA-256 of the bytes of the content, in hexadecimal. */
            sha256?: string | null;
            /**
             * Format: int64
             * @description As the language counts it: Python the bytes of the text, and of bytes the length of their base64 text; JavaScript the units
             *     of the text, and of bytes their number.
             */
            size: number;
            /** Format: int64 */
            version?: number | null;
        };
        FileList: {
            entries: components["schemas"]["FileEntry"][];
            /** @description Send it with the same arguments for the next page; absent at the end. */
            next_cursor?: string | null;
        };
        FileStat: {
            entry: components["schemas"]["FileEntry"];
        };
        FileVersion: {
            path: components["schemas"]["AnyText"];
            /** Format: int64 */
            version: number;
        };
        /** @description `content` or `bytes`; the lines of a window have their ends as `\n` in Python. */
        FileWindow: {
            bytes?: components["schemas"]["Data"] | null;
            content?: components["schemas"]["AnyText"] | null;
            created_at?: components["schemas"]["AnyText"] | null;
            /** @description `utf-8` or `base64`: what the value holds. */
            encoding: string;
            /** Format: int64 */
            end_line?: number | null;
            media_type: string;
            modified_at?: components["schemas"]["AnyText"] | null;
            /**
             * Format: int64
             * @description Of the next window; absent at the end.
             */
            next_offset?: number | null;
            /** @description The window had no lines, and nothing was looked at. */
            no_lines_requested?: boolean;
            /**
             * Format: int64
             * @description Of the whole file, as the language counts it.
             */
            size: number;
            /**
             * Format: int64
             * @description From 1.
             */
            start_line?: number | null;
            /** Format: int64 */
            total_lines?: number | null;
            /** Format: int64 */
            version: number;
        };
        FindDocuments: {
            /** @description First parts of the keys. Absent: all. */
            key_prefix?: string[] | null;
            kind: string;
            name: string;
        };
        ForkedThread: {
            /** Format: int64 */
            checkpoints: number;
            generation: string;
        };
        ForkThread: {
            checkpoint_id: string;
            /** @description Default: the root graph's. */
            checkpoint_ns?: string | null;
            source: string;
            target: string;
        };
        FoundDocument: {
            content: components["schemas"]["DocumentContent"];
            key: string[];
            /** Format: int64 */
            updated_at_ms: number;
            /** Format: int64 */
            version: number;
        };
        FoundDocuments: {
            documents: components["schemas"]["FoundDocument"][];
        };
        GetCheckpoint: {
            /** @description Absent: the greatest by byte order. */
            checkpoint_id?: string | null;
            checkpoint_ns?: string | null;
            have?: components["schemas"]["Have"] | null;
            /**
             * @description SHA-256s of values of this thread that the caller holds, or their first 16 bytes or more; at most 1,024.
             *     When it is there, also empty, values of the answer may come as `same` and as differences.
             */
            have_values?: components["schemas"]["Data"][] | null;
            /** @description Channels whose history is wanted beside those that the checkpoint names itself. */
            history_channels?: string[] | null;
            thread_id: string;
            /**
             * @description Values that came in parts, over `value_in_parts_bytes_min`, come as the names of their parts. Default false: with their
             *     bytes, and 413 for one over `value_inline_bytes_max`.
             */
            value_parts?: boolean | null;
        };
        GetHistory: {
            channels: string[];
            checkpoint_id?: string | null;
            checkpoint_ns?: string | null;
            have?: components["schemas"]["Have"] | null;
            /**
             * @description SHA-256s of values of this thread that the caller holds, or their first 16 bytes or more; at most 1,024.
             *     When it is there, also empty, values of the answer may come as `same` and as differences.
             */
            have_values?: components["schemas"]["Data"][] | null;
            thread_id: string;
            /**
             * @description Values that came in parts, over `value_in_parts_bytes_min`, come as the names of their parts. Default false: with their
             *     bytes, and 413 for one over `value_inline_bytes_max`.
             */
            value_parts?: boolean | null;
        };
        GetItem: {
            key: components["schemas"]["ItemKey"];
            namespace: string[];
            /** @description Whether this read extends the item's life. Default true. */
            refresh_ttl?: boolean | null;
        };
        GetItemVersion: {
            key: components["schemas"]["ItemKey"];
            namespace: string[];
            /** Format: int64 */
            version: number;
        };
        GetThread: {
            thread_id: string;
        };
        GetValuePart: {
            name: components["schemas"]["Data"];
            thread_id: string;
        };
        GlobFiles: {
            dialect?: components["schemas"]["FileDialect"] | null;
            /**
             * Format: int64
             * @description Default and at most 10,000.
             */
            limit?: number | null;
            namespace: string[];
            path?: components["schemas"]["AnyText"] | null;
            pattern: string;
        };
        GlobResult: {
            matches: components["schemas"]["FileEntry"][];
            truncated: boolean;
            /** @description `budget`: a limit of the server. */
            truncation_reason?: string | null;
        };
        GotCheckpoint: {
            /** @description Newest first. */
            chain: components["schemas"]["Node"][];
            checkpoint?: components["schemas"]["CheckpointView"] | null;
            /** @description The node of the caller's own chain before which this one stops. */
            continues_at?: string | null;
            /** @description Names everything from the first node of the chain on. */
            digest?: string | null;
            /** @description Of the thread; absent when there is no such thread. */
            generation?: string | null;
            /** @description Channels whose histories the chain holds. */
            history_channels: string[];
        };
        GotItem: {
            item?: components["schemas"]["Item"] | null;
        };
        GotItemVersion: {
            version?: components["schemas"]["ItemVersionOf"] | null;
        };
        GotNamespaceSetting: {
            effective: components["schemas"]["EffectiveNamespaceSetting"];
            setting?: components["schemas"]["NamespaceSetting"] | null;
        };
        GotState: {
            state?: components["schemas"]["State"] | null;
        };
        GotStorage: {
            storage?: components["schemas"]["ThreadStorage"] | null;
        };
        GotThread: {
            thread?: components["schemas"]["Thread"] | null;
        };
        GotValues: {
            checkpoint?: components["schemas"]["CheckpointValues"] | null;
        };
        /** @description Things by name. Exactly one of `id`, `prefix` and `owned`. */
        Grant: {
            actions: components["schemas"]["GrantedAction"][];
            /** @description The one with this name. */
            id?: string | null;
            /** @description `true`: all that the token's subject made. */
            owned?: boolean | null;
            /** @description All whose names begin with this; it ends in `:` or `/`. */
            prefix?: string | null;
        };
        /**
         * @description `append` adds and never removes or replaces by force; `write` changes and removes, and covers `append` but not `read`.
         * @enum {string}
         */
        GrantedAction: "read" | "append" | "write";
        /** @description What a token may do with which things. An absent kind is granted to nobody. */
        Grants: {
            namespaces?: components["schemas"]["NamespaceGrant"][] | null;
            sessions?: components["schemas"]["Grant"][] | null;
            snapshots?: components["schemas"]["Grant"][] | null;
            /** @description With everything of the tenant, its keys, usage and audit log too. Of a token without a subject. */
            tenant?: components["schemas"]["GrantedAction"][] | null;
            threads?: components["schemas"]["Grant"][] | null;
        };
        GrepFiles: {
            dialect?: components["schemas"]["FileDialect"] | null;
            /** @description Only files that match. JavaScript: their names. */
            glob?: string | null;
            /**
             * Format: int64
             * @description Lines over all files.
             */
            max_count?: number | null;
            namespace: string[];
            path?: components["schemas"]["AnyText"] | null;
            /** @description Taken literally. */
            pattern: components["schemas"]["AnyText"];
        };
        GrepLine: {
            /**
             * Format: int64
             * @description From 1.
             */
            line: number;
            path: components["schemas"]["AnyText"];
            text: components["schemas"]["AnyText"];
        };
        GrepResult: {
            matches: components["schemas"]["GrepLine"][];
            truncated: boolean;
            /** @description `budget`: a limit of the server; absent where `max_count` cut. */
            truncation_reason?: string | null;
        };
        /** @description A chain that the caller holds already. */
        Have: {
            /** @description Its first node. */
            checkpoint_id: string;
            digest: string;
        };
        HeldLease: {
            /** Format: int64 */
            fence: number;
            thread_id: string;
        };
        Histories: {
            bases: components["schemas"]["Base"][];
            chain: components["schemas"]["Node"][];
            checkpoint_id?: string | null;
            continues_at?: string | null;
            digest?: string | null;
            parent_checkpoint_id?: string | null;
        };
        /** @description What an import did, or of a dry run, would do. */
        Imported: {
            dry_run: boolean;
            /** @description The file says that it is signed. */
            is_signed: boolean;
            items: components["schemas"]["ImportTally"];
            policies: components["schemas"]["ImportTally"];
            sessions: components["schemas"]["ImportTally"];
            settings: components["schemas"]["ImportTally"];
            snapshots: components["schemas"]["ImportTally"];
            threads: components["schemas"]["ImportTally"];
        };
        /** @description What became of the nouns of one kind. */
        ImportTally: {
            /**
             * Format: int64
             * @description Of a dry run: are there with other contents.
             */
            conflicts: number;
            /**
             * Format: int64
             * @description Were not there.
             */
            created: number;
            /**
             * Format: int64
             * @description Were there with other contents.
             */
            replaced: number;
            /**
             * Format: int64
             * @description Were there as in the file.
             */
            unchanged: number;
        };
        Inspected: {
            lastActive: string;
            sessionId: string;
            /**
             * @description `error` where something has failed since the session last began something; absent where nothing was traced, and of sessions
             *     behind the newest hundred of the traced ones.
             */
            status?: string | null;
            tenantId: string;
            /** Format: int64 */
            tokens?: number | null;
            /** Format: int64 */
            turns?: number | null;
            userId?: string | null;
        };
        InspectedMessages: {
            /** @description As they were appended. */
            messages: unknown[];
        };
        InspectedOrchestration: {
            agents: unknown[];
            /** @description As they were appended. */
            events: unknown[];
            /** @description The one that began last; null without any. */
            run: unknown;
        };
        InspectedSessions: {
            sessions: components["schemas"]["Inspected"][];
        };
        InspectedTrace: {
            /** @description As they were appended; those of orchestration with `id`, `timestamp`, `sequence`, `source` and `event`. */
            events: unknown[];
        };
        InspectorHealth: {
            /** @description `ok`. */
            status: string;
        };
        Item: {
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            expires_at?: string | null;
            key: components["schemas"]["ItemKey"];
            namespace: string[];
            /**
             * Format: double
             * @description How near it is to what was searched for, higher is nearer. Absent where it has nothing to compare.
             */
            score?: number | null;
            /**
             * Format: int64
             * @description Of the whole value's JSON text.
             */
            size_bytes: number;
            /** Format: double */
            ttl_minutes?: number | null;
            /** Format: date-time */
            updated_at: string;
            /** @description Absent where no values were asked for. */
            value?: components["schemas"]["Exact"];
            /**
             * Format: int64
             * @description Grows with each put, and never comes twice for a key.
             */
            version: number;
        };
        ItemCount: {
            /** Format: int64 */
            count: number;
        };
        /** @description Paths of texts, or `false` for none. */
        ItemIndex: string[] | boolean;
        /** @description Any string, also empty, with NUL or with lone surrogates. In application/msgpack a `str`; one with lone surrogates is a `bin` with the JSON text of the string. */
        ItemKey: string | Uint8Array;
        ItemPage: {
            items: components["schemas"]["Item"][];
            /** @description Send it with the same arguments for the next page; absent at the end. */
            next_cursor?: string | null;
            /**
             * Format: int64
             * @description Files below the prefix that are left out because their contents are too large for a value; the files API has them. On the
             *     first page of a listing.
             */
            omitted?: number;
        };
        /** @enum {string} */
        ItemSort: "created" | "updated" | "key";
        ItemVersion: {
            /** Format: int64 */
            version: number;
        };
        ItemVersionOf: {
            /** @description The item has this version now. */
            current: boolean;
            /** Format: int64 */
            size_bytes: number;
            /** Format: double */
            ttl_minutes?: number | null;
            /**
             * Format: date-time
             * @description When it was put.
             */
            updated_at: string;
            /** @description Absent where no values were asked for. */
            value?: components["schemas"]["Exact"];
            /** Format: int64 */
            version: number;
        };
        ItemVersions: {
            /** @description Send it with the same arguments for the next page; absent at the end. */
            next_cursor?: string | null;
            versions: components["schemas"]["ItemVersionOf"][];
        };
        Key: {
            /** Format: date-time */
            created_at: string;
            /**
             * Format: date-time
             * @description When it ends by itself. Absent of a key that does not.
             */
            expires_at?: string | null;
            key_id: string;
            /**
             * Format: date
             * @description The day in UTC of its last use, up to a minute late. Absent of a key that was never used since this is kept.
             */
            last_used_on?: string | null;
            /** @description What its maker called it. */
            name?: string | null;
            /** @description How its text begins. Absent of a key from before 0.2. */
            prefix?: string | null;
            /** @description It reads what it would otherwise change. */
            read_only: boolean;
            /**
             * Format: date-time
             * @description Absent while it is not revoked.
             */
            revoked_at?: string | null;
            /** @description Absent for a key of the whole tenant. */
            subject?: string | null;
        };
        Keys: {
            keys: components["schemas"]["Key"][];
            /** @description Send it for the next page; absent at the end. */
            next_cursor?: string | null;
        };
        LargeNamespace: {
            /** Format: int64 */
            items: number;
            namespace: string[];
            /**
             * Format: int64
             * @description As items count: before compression and sharing.
             */
            size_bytes: number;
            /**
             * Format: date-time
             * @description Of the item that was changed last.
             */
            updated_at?: string | null;
        };
        LargestNamespaces: {
            namespaces: components["schemas"]["LargeNamespace"][];
        };
        Lease: {
            /**
             * Format: date-time
             * @description By the database's clock.
             */
            expires_at: string;
            /**
             * Format: int64
             * @description Only grows; send it with every write while the lease is held.
             */
            fence: number;
        };
        /** @description The limits as `GET /v1/limits` answers them. */
        Limits: {
            /**
             * Format: int64
             * @description An archive of artifacts, unpacked, and how many times its size that may be.
             */
            archive_bytes_max: number;
            /**
             * Format: int64
             * @description Members of an archive of artifacts.
             */
            archive_members_max: number;
            /** Format: int64 */
            archive_ratio_max: number;
            /**
             * Format: int64
             * @description A request body after decompression.
             */
            body_bytes_max: number;
            /**
             * Format: int64
             * @description What a client has to send or take of a body, while it is its turn.
             */
            body_bytes_per_second_min: number;
            /**
             * Format: int64
             * @description Entries of all lists and maps of a request body together. Numbers of vectors do not count.
             */
            body_entries_max: number;
            /**
             * Format: int64
             * @description How far it may fall behind that, in a pause or in many.
             */
            body_pause_seconds_max: number;
            /** Format: int64 */
            budget_ms_max: number;
            /**
             * Format: int64
             * @description Bodies of requests and answers in memory at one time, over all requests.
             */
            bytes_in_flight_max: number;
            /**
             * Format: int64
             * @description And what one key holds, or the tokens that one key makes for one subject, whatever is narrowed from them. Its largest body comes on top.
             */
            bytes_in_flight_per_credential_max: number;
            /**
             * Format: int64
             * @description Of these, what one tenant holds.
             */
            bytes_in_flight_per_tenant_max: number;
            /** Format: int64 */
            channel_bytes_max: number;
            /**
             * Format: int64
             * @description Channels of one checkpoint.
             */
            channels_max: number;
            /** Format: int64 */
            checkpoint_id_bytes_max: number;
            /**
             * Format: int64
             * @description Checkpoint namespace; nested subgraphs join theirs with `|`.
             */
            checkpoint_ns_bytes_max: number;
            /**
             * Format: int64
             * @description Content of any file, and what of it is in memory at one time, on its way in or out.
             */
            content_bytes_max: number;
            /** Format: int64 */
            content_slice_bytes: number;
            /**
             * Format: int64
             * @description Cursor of a list, which leads to its next page.
             */
            cursor_bytes_max: number;
            /**
             * Format: int64
             * @description Values smaller than this are not remembered as bases.
             */
            difference_bytes_min: number;
            /**
             * Format: int64
             * @description Copies and inserts of one difference.
             */
            difference_ops_max: number;
            /**
             * Format: int64
             * @description Memory that the values of one answer take to be shown as JSON; what does not fit is told by size.
             */
            display_bytes_max: number;
            /**
             * Format: int64
             * @description One skeleton or metadata document, item, or entry or document of a session.
             */
            document_bytes_max: number;
            /**
             * Format: int64
             * @description Entries of all lists and objects of a skeleton, a metadata document or an item together.
             */
            document_entries_max: number;
            /**
             * Format: int64
             * @description Entries of one page of a drive's listing.
             */
            drive_entries_max: number;
            /**
             * Format: int64
             * @description Items that one search or count with a filter opens where values are encrypted at rest.
             */
            encrypted_candidates_max: number;
            /** Format: int64 */
            event_streams_max: number;
            /**
             * Format: int64
             * @description Streams of the Agent Server wire on one server: of one credential, of one tenant, of all.
             */
            event_streams_per_credential_max: number;
            /** Format: int64 */
            event_streams_per_tenant_max: number;
            /**
             * Format: int64
             * @description The text of a token of a configured issuer (JWT).
             */
            external_token_bytes_max: number;
            /**
             * Format: int64
             * @description Values that one search of threads takes out of each, by paths.
             */
            extracts_max: number;
            /** Format: int64 */
            feed_followers_max: number;
            /**
             * Format: int64
             * @description Followers of the change feed on one server: of one key, or of its tokens for one subject; of all but the tenant; of one tenant; of all.
             */
            feed_followers_per_credential_max: number;
            /** Format: int64 */
            feed_followers_per_tenant_max: number;
            /** Format: int64 */
            feed_followers_scoped_max: number;
            /**
             * Format: int64
             * @description How long a position of the change feed leads on.
             */
            feed_seconds_kept: number;
            /**
             * Format: int64
             * @description Text or bytes of one file that is written with its whole content.
             */
            file_bytes_max: number;
            /**
             * Format: int64
             * @description Content of a file up to which it is the value of its item; a larger one is kept beside the items.
             */
            file_value_bytes_max: number;
            /** Format: int64 */
            files_bytes_max: number;
            /**
             * Format: int64
             * @description Large files that one move or copy takes to another namespace root, together: their bytes are copied.
             */
            files_copied_bytes_max: number;
            /**
             * Format: int64
             * @description Entries of one listing of files, and matches of one glob.
             */
            files_listed_max: number;
            /**
             * Format: int64
             * @description Files of one upload, download, or move of a directory, and bytes of one download's answer.
             */
            files_per_request_max: number;
            /**
             * Format: int64
             * @description Files that one glob, grep or recursive deletion looks at.
             */
            files_searched_max: number;
            /**
             * Format: int64
             * @description The JSON text of one filter.
             */
            filter_bytes_max: number;
            /**
             * Format: int64
             * @description Conditions of one filter, and entries of one list of `$in`.
             */
            filter_terms_max: number;
            /**
             * Format: int64
             * @description Ids of threads that one follower of their changes names.
             */
            followed_threads_max: number;
            /**
             * Format: int64
             * @description Of a form that uploads a file, what comes before the file.
             */
            form_head_bytes_max: number;
            /**
             * Format: int64
             * @description Patterns that its braces stand for.
             */
            glob_alternatives_max: number;
            /**
             * Format: int64
             * @description A glob pattern.
             */
            glob_bytes_max: number;
            /**
             * Format: int64
             * @description How deep its braces, and its groups `@(…)`, are nested.
             */
            glob_depth_max: number;
            /**
             * Format: int64
             * @description How deep `!(…)` is nested in `!(…)`, and how many of them it has.
             */
            glob_negation_depth_max: number;
            /** Format: int64 */
            glob_negations_max: number;
            /**
             * Format: int64
             * @description Characters for each byte of a pattern, once its braces are written out. Python needs that where they stand in brackets.
             */
            glob_written_out_per_byte_max: number;
            /**
             * Format: int64
             * @description Grants of a kind in one token, and labels in one of them.
             */
            grants_max: number;
            /** Format: int64 */
            grep_bytes_max: number;
            /**
             * Format: int64
             * @description Lines that one grep answers, and their bytes.
             */
            grep_matches_max: number;
            /**
             * Format: int64
             * @description Digests in one `have_values`.
             */
            have_values_max: number;
            /** Format: int64 */
            head_bytes_max: number;
            /** Format: int64 */
            idempotency_key_bytes_max: number;
            /**
             * Format: int64
             * @description Ids in one request of prune and delete-for-runs.
             */
            ids_per_request_max: number;
            /**
             * Format: int64
             * @description Paths of one put.
             */
            index_paths_max: number;
            /**
             * Format: int64
             * @description Key of an item, as UTF-8; a lone surrogate counts 3 bytes.
             */
            item_key_bytes_max: number;
            /**
             * Format: int64
             * @description Earlier versions that an item keeps.
             */
            item_versions_max: number;
            /**
             * Format: int64
             * @description Nesting of skeleton, metadata and filter documents, and of values that are shown as JSON.
             */
            json_depth_max: number;
            /**
             * Format: int64
             * @description Checkpoints per namespace in `keep_last`.
             */
            keep_last_max: number;
            /**
             * Format: int64
             * @description Id of a key that is to be revoked.
             */
            key_id_bytes_max: number;
            /**
             * Format: int64
             * @description What the maker of a key calls it.
             */
            key_name_bytes_max: number;
            /**
             * Format: int64
             * @description Of a key that ends by itself: ten years.
             */
            key_ttl_seconds_max: number;
            /**
             * Format: int64
             * @description Keys of a tenant that are not revoked, up to which its keys can make more. The command line always can.
             */
            keys_per_tenant_max: number;
            /** Format: int64 */
            lease_holder_bytes_max: number;
            /** Format: int64 */
            lease_ttl_seconds_max: number;
            /** Format: int64 */
            list_bytes_max: number;
            /** Format: int64 */
            list_rows_max: number;
            /**
             * Format: int64
             * @description Media type of a file.
             */
            media_type_bytes_max: number;
            /** Format: int64 */
            model_bytes_max: number;
            /** Format: int64 */
            models_max: number;
            /** Format: int64 */
            namespace_bytes_max: number;
            /**
             * Format: int64
             * @description Labels of a namespace, and their bytes together.
             */
            namespace_labels_max: number;
            /**
             * Format: int64
             * @description Namespaces of a tenant that declare something.
             */
            namespace_settings_max: number;
            /**
             * Format: int64
             * @description Digits of a number in an item or a filter, and its power of ten.
             */
            number_digits_max: number;
            /**
             * Format: int64
             * @description Items that a listing may skip; beyond, use its cursor.
             */
            offset_max: number;
            /** Format: int64 */
            ops_per_commit_max: number;
            /**
             * Format: int64
             * @description Text that a search embeds; name of an embedding model, and how many a tenant may use.
             */
            query_bytes_max: number;
            /**
             * Format: int64
             * @description Ages in retention: `older_than`, `expire_after_seconds`. A hundred years.
             */
            retention_seconds_max: number;
            /**
             * Format: int64
             * @description `offset` and `limit` together of a search by score.
             */
            scored_rows_max: number;
            /**
             * Format: int64
             * @description What a search, a list or a count may take in the database.
             */
            search_seconds_max: number;
            /**
             * Format: int64
             * @description Entries that are looked at together for a budget of tokens.
             */
            session_budget_page_rows: number;
            /**
             * Format: int64
             * @description Documents that one `find` answers.
             */
            session_documents_max: number;
            /**
             * Format: int64
             * @description Entries of one append, and of one load.
             */
            session_entries_max: number;
            /**
             * Format: int64
             * @description Nesting of one entry. Python's decoder gives up at its limit of recursion, 1,000 of a new interpreter.
             */
            session_entry_depth_max: number;
            /** Format: int64 */
            session_key_bytes_max: number;
            /**
             * Format: int64
             * @description Parts of a session's key, and its bytes together: two for each part, and one for each NUL, on top of its text.
             */
            session_key_parts_max: number;
            /**
             * Format: int64
             * @description Kind of a session.
             */
            session_kind_bytes_max: number;
            /**
             * Format: int64
             * @description Entries of one load, in bytes: it ends with the entry that reaches this.
             */
            session_load_bytes_max: number;
            /**
             * Format: int64
             * @description Names inside of a session: streams, documents, counters, ids of entries; also user, agent and title.
             */
            session_name_bytes_max: number;
            /** Format: int64 */
            signed_url_seconds_default: number;
            /**
             * Format: int64
             * @description How long a signed address of a file is valid: at most, and where its maker did not say.
             */
            signed_url_seconds_max: number;
            /**
             * Format: int64
             * @description The client's own record in a snapshot.
             */
            snapshot_document_bytes_max: number;
            /** Format: int64 */
            snapshot_id_bytes_max: number;
            /** Format: int64 */
            snapshot_items_max: number;
            /** Format: int64 */
            snapshot_label_bytes_max: number;
            /**
             * Format: int64
             * @description Labels of one snapshot, and bytes of the name and of the value of one.
             */
            snapshot_labels_max: number;
            /** Format: int64 */
            snapshot_namespaces_max: number;
            /** Format: int64 */
            snapshot_sessions_max: number;
            /**
             * Format: int64
             * @description Threads of one snapshot, namespaces, items in them, and sessions.
             */
            snapshot_threads_max: number;
            /**
             * Format: int64
             * @description Checkpoints, writes, values and chunks of a thread whose storage is reported.
             */
            storage_report_rows_max: number;
            /**
             * Format: int64
             * @description Values that the reads of one batch find, together; a search ends with the page that goes beyond.
             */
            store_answer_bytes_max: number;
            /**
             * Format: int64
             * @description Operations of one batch of the store.
             */
            store_ops_max: number;
            /**
             * Format: int64
             * @description States of subgraphs in one answer.
             */
            subgraph_states_max: number;
            /**
             * Format: int64
             * @description Codec tag of a value.
             */
            tag_bytes_max: number;
            /** Format: int64 */
            task_id_bytes_max: number;
            /**
             * Format: int64
             * @description Path of a task, which is no part of an index: nested tasks lengthen theirs by about 40 bytes a level.
             */
            task_path_bytes_max: number;
            /**
             * Format: int64
             * @description Paths of the tasks of one commit, each counted once for every write of its task: they are stored with the writes.
             */
            task_paths_per_commit_bytes_max: number;
            /**
             * Format: int64
             * @description Items with a word of the query that are ranked; of more the newest.
             */
            text_candidates_max: number;
            /** Format: int64 */
            text_field_bytes_max: number;
            /**
             * Format: int64
             * @description Paths in `text_fields` of a namespace's setting, and bytes of one.
             */
            text_fields_max: number;
            /**
             * Format: int64
             * @description The query of a search by words, and different words in it.
             */
            text_query_bytes_max: number;
            /** Format: int64 */
            text_query_words_max: number;
            /**
             * Format: int64
             * @description Thread id.
             */
            thread_id_bytes_max: number;
            /** Format: int64 */
            thread_metadata_bytes_max: number;
            /**
             * Format: int64
             * @description Policies of a tenant's threads.
             */
            thread_policies_max: number;
            /**
             * Format: int64
             * @description Title of a thread, and the JSON text of its metadata.
             */
            title_bytes_max: number;
            /**
             * Format: int64
             * @description The text of a token.
             */
            token_bytes_max: number;
            /**
             * Format: int64
             * @description How many times in a row a token can be narrowed.
             */
            token_depth_max: number;
            /**
             * Format: int64
             * @description Living revocations of a tenant up to which tokens can revoke themselves. Keys of the whole tenant always can.
             */
            token_revocations_max: number;
            /**
             * Format: int64
             * @description Of these, what one token and all that are narrowed from it may have revoked.
             */
            token_revocations_per_chain_max: number;
            /**
             * Format: int64
             * @description Of a token whose maker did not say.
             */
            token_ttl_seconds_default: number;
            /** Format: int64 */
            token_ttl_seconds_max: number;
            /**
             * Format: int64
             * @description Time to live of an item or a thread. A hundred years.
             */
            ttl_minutes_max: number;
            /**
             * Format: int64
             * @description How long an upload waits for its next part.
             */
            upload_idle_seconds_max: number;
            /**
             * Format: int64
             * @description Parts of one upload.
             */
            upload_parts_max: number;
            /**
             * Format: int64
             * @description The address of a request, and its address and headers together.
             */
            url_bytes_max: number;
            /**
             * Format: int64
             * @description One value or write of a checkpoint. One over `value_inline_bytes_max` goes and comes in parts.
             */
            value_bytes_max: number;
            /**
             * Format: int64
             * @description Threads that one search or count by values opens, where the index of short values does not decide.
             */
            value_candidates_max: number;
            /**
             * Format: int64
             * @description A reader that takes values in parts gets larger ones so; clients send larger ones so.
             */
            value_in_parts_bytes_min: number;
            /**
             * Format: int64
             * @description One value or write inside of a commit's or an answer's body.
             */
            value_inline_bytes_max: number;
            /**
             * Format: int64
             * @description Every part of a value but the last, which may be shorter.
             */
            value_part_bytes: number;
            /**
             * Format: int64
             * @description How long a part that was put waits for its commit.
             */
            value_part_seconds_kept: number;
            /**
             * Format: int64
             * @description Parts of all values of one commit.
             */
            value_parts_per_commit_max: number;
            /**
             * Format: int64
             * @description Numbers in a vector, and vectors of an item.
             */
            vector_dims_max: number;
            /**
             * Format: int64
             * @description Path of a text in a value.
             */
            vector_field_bytes_max: number;
            /** Format: int64 */
            vectors_per_item_max: number;
            /**
             * Format: int64
             * @description Version of a channel: the text of a string, or the digits of a number.
             */
            version_bytes_max: number;
            /** Format: int64 */
            waiting_bytes_per_tenant_max: number;
            /**
             * Format: int64
             * @description Writes of a tenant that wait in one line of a server, and their bytes.
             */
            waiting_commands_per_tenant_max: number;
            /**
             * Format: int64
             * @description An archive of a workspace, unpacked; `archive_ratio_max` times its size at most.
             */
            workspace_bytes_max: number;
            /** Format: int64 */
            workspace_links_max: number;
            /**
             * Format: int64
             * @description Its members, links among them, and bytes of the path of one.
             */
            workspace_members_max: number;
            /**
             * Format: int64
             * @description What a client calls a workspace.
             */
            workspace_name_bytes_max: number;
            /** Format: int64 */
            workspace_path_bytes_max: number;
            /** Format: int64 */
            writer_bytes_max: number;
            /**
             * Format: int64
             * @description Values and writes of one commit, over all of its checkpoints and groups.
             */
            writes_per_commit_max: number;
            /** Format: int64 */
            writes_per_op_max: number;
        };
        ListCheckpoints: {
            /** @description Ids strictly smaller. */
            before?: string | null;
            checkpoint_id?: string | null;
            /** @description Absent: any. */
            checkpoint_ns?: string | null;
            cursor?: string | null;
            filter?: components["schemas"]["Exact"] | null;
            /**
             * @description SHA-256s of values of this thread that the caller holds, or their first 16 bytes or more; at most 1,024.
             *     Goes with a `thread_id`.
             *     When it is there, also empty, values of the answer may come as `same` and as differences.
             */
            have_values?: components["schemas"]["Data"][] | null;
            history_channels?: string[] | null;
            /** Format: int64 */
            limit?: number | null;
            /** @description Absent: every thread the caller may read. */
            thread_id?: string | null;
            /**
             * @description Values that came in parts, over `value_in_parts_bytes_min`, come as the names of their parts. Default false: with their
             *     bytes, and 413 for one over `value_inline_bytes_max`.
             */
            value_parts?: boolean | null;
            /** @description false: no values, writes and chain. */
            values?: boolean | null;
        };
        ListDocuments: {
            key: string[];
            kind: string;
            name_prefix?: string | null;
        };
        ListedDocument: {
            name: string;
            /** Format: int64 */
            size: number;
            /** Format: int64 */
            updated_at_ms: number;
            /** Format: int64 */
            version: number;
        };
        ListFiles: {
            /** @description `next_cursor` of the page before, with the same arguments. */
            cursor?: string | null;
            dialect?: components["schemas"]["FileDialect"] | null;
            /**
             * Format: int64
             * @description Default and at most 10,000.
             */
            limit?: number | null;
            /** @description Exactly this one: files of namespaces below it are not seen. */
            namespace: string[];
            path: components["schemas"]["AnyText"];
            /** @description All files below the path, no directories. Default false. */
            recursive?: boolean | null;
        };
        ListItemVersions: {
            /** @description `next_cursor` of the page before. */
            cursor?: string | null;
            key: components["schemas"]["ItemKey"];
            /**
             * Format: int64
             * @description Default 100; at most 1,000 and about 4 MiB of values come at one time.
             */
            limit?: number | null;
            namespace: string[];
            /** @description True: with the values. Default false. */
            values?: boolean | null;
        };
        ListLargestNamespaces: {
            /**
             * Format: int64
             * @description Default 10, at most 100.
             */
            limit?: number | null;
            /** @description Labels that the namespaces begin with. */
            prefix?: string[] | null;
        };
        ListNamespaces: {
            /** @description All must hold. */
            conditions?: components["schemas"]["NamespaceCondition"][] | null;
            /** @description True: the answer has `counts`, and at most 100 come at one time. Default false. */
            counts?: boolean | null;
            /** @description `next_cursor` of the page before, with the same arguments and no offset. */
            cursor?: string | null;
            /**
             * Format: int64
             * @description Default 100; at most 1,000 come at one time.
             */
            limit?: number | null;
            /**
             * Format: int64
             * @description Longer namespaces are cut to so many labels, and equal ones are one.
             */
            max_depth?: number | null;
            /** Format: int64 */
            offset?: number | null;
        };
        ListNamespaceSettings: {
            /** @description Labels that the namespaces begin with. */
            prefix?: string[] | null;
        };
        ListSessionKinds: {
            /** @description `next_cursor` of the page before. */
            cursor?: string | null;
            /**
             * Format: int64
             * @description At most 100, which is the default.
             */
            limit?: number | null;
        };
        ListSessions: {
            /** @description `next_cursor` of the page before, with the same arguments. */
            cursor?: string | null;
            /** @description First parts of the keys. Absent: all. */
            key_prefix?: string[] | null;
            kind: string;
            /**
             * Format: int64
             * @description Default 500, at most 1,000.
             */
            limit?: number | null;
            /** @description Only sessions with entries in this stream, and `updated_at_ms` is the stream's. */
            stream?: string | null;
            user?: string | null;
        };
        ListSnapshots: {
            cursor?: string | null;
            labels?: components["schemas"]["SnapshotLabels"] | null;
            /**
             * Format: int64
             * @description 0-1,000, 100 when it is absent.
             */
            limit?: number | null;
        };
        ListTimeline: {
            /** @description Ids strictly greater. */
            after?: string | null;
            /** @description Ids strictly smaller. */
            before?: string | null;
            /** @description Absent: the root graph. `*`: every namespace; one of that name is not to be had alone. */
            checkpoint_ns?: string | null;
            cursor?: string | null;
            /**
             * Format: int64
             * @description From 1 to `list_rows_max`, which is the default.
             */
            limit?: number | null;
            thread_id: string;
        };
        LiveToken: {
            /** Format: date-time */
            expires_at: string;
            /** Format: date-time */
            minted_at: string;
            /** @description Id of the key that made it; `cli` for the command line, `local` for a server without keys. */
            minter: string;
            /** @description Absent of a token from before the log said so. */
            read_only?: boolean | null;
            token_id: string;
        };
        LoadEntries: {
            /**
             * Format: int64
             * @description Only what comes behind this number.
             */
            after_seq?: number | null;
            /**
             * Format: int64
             * @description The answer ends before the entry that would go beyond; the first always comes.
             */
            bytes_max?: number | null;
            key: string[];
            kind: string;
            /**
             * Format: int64
             * @description At most 10,000.
             */
            limit?: number | null;
            stream?: string | null;
            /**
             * Format: int64
             * @description The last so many, at most 10,000. Not together with `limit`.
             */
            tail?: number | null;
            /**
             * Format: int64
             * @description The last entries that fit, by the estimate for Agentrail's messages; at least one.
             */
            token_budget?: number | null;
        };
        /** @description Also what the command line prints. */
        MintedToken: {
            /** Format: date-time */
            expires_at: string;
            grants: components["schemas"]["Grants"];
            subject?: string | null;
            /** @description The secret; in no log and in no table. */
            token: string;
            /** @description Names the token, to revoke it. */
            token_id: string;
        };
        MintToken: {
            grants?: components["schemas"]["Grants"] | null;
            /** @description Instead of grants: what the subject has, to read; without a subject, the whole tenant. */
            read_only?: boolean;
            /** @description For whom the token speaks. Of a key with a subject: this one, also when it is absent. */
            subject?: string | null;
            /**
             * Format: int64
             * @description 1-86,400; an hour when absent.
             */
            ttl_seconds?: number | null;
        };
        MovedFiles: {
            /** Format: int64 */
            files: number;
            path: components["schemas"]["AnyText"];
            /**
             * Format: int64
             * @description Of the first file.
             */
            version: number;
        };
        MoveFiles: {
            dialect?: components["schemas"]["FileDialect"] | null;
            from: components["schemas"]["AnyText"];
            /**
             * Format: int64
             * @description The version that the one file must have.
             */
            if_version?: number | null;
            namespace: string[];
            /** @description Replaces files that are there. Default false. */
            overwrite?: boolean | null;
            to: components["schemas"]["AnyText"];
            /** @description Default the same. */
            to_namespace?: string[] | null;
        };
        NamedPart: {
            /** Format: int32 */
            part: number;
            /** @description Hexadecimal. */
            sha256: string;
        };
        NamespaceCondition: {
            match: components["schemas"]["NamespaceMatch"];
            /** @description `*` stands for any one label. */
            path: string[];
        };
        /** @description Namespaces whose first labels are these. */
        NamespaceGrant: {
            actions: components["schemas"]["GrantedAction"][];
            /** @description Whole labels; none: all of the tenant. Of a token with a subject, the first one is the subject's label. */
            prefix: string[];
        };
        /** @enum {string} */
        NamespaceMatch: "prefix" | "suffix";
        Namespaces: {
            /**
             * @description Of each of them how many items are in it and below it that the caller may read. 10,000: so many, or more. Absent where nobody
             *     asked for `counts`.
             */
            counts?: number[] | null;
            namespaces: string[][];
            /** @description Send it with the same arguments for the next page; absent at the end. */
            next_cursor?: string | null;
        };
        NamespaceSetting: {
            /** Format: date-time */
            changed_at: string;
            /** Format: int32 */
            history?: number | null;
            /** @description Words of items that were there before are still being indexed: searches may miss them. */
            indexing?: boolean;
            namespace: string[];
            text_fields?: string[] | null;
        };
        NamespaceSettingName: {
            namespace: string[];
        };
        NamespaceSettingPut: {
            setting: components["schemas"]["NamespaceSetting"];
        };
        NamespaceSettings: {
            settings: components["schemas"]["NamespaceSetting"][];
        };
        NarrowToken: {
            grants?: components["schemas"]["Grants"] | null;
            /**
             * Format: int64
             * @description 1-86,400, and not beyond the end of what was presented.
             */
            ttl_seconds?: number | null;
        };
        /** @description A document that is put together with entries. */
        NewDocument: {
            content: components["schemas"]["DocumentContent"];
            /**
             * Format: int64
             * @description The version that the document must have; 0: there must be none.
             */
            if_version?: number | null;
            name: string;
        };
        /** @description An entry of a stream. */
        NewEntry: {
            data: components["schemas"]["Exact"];
            /** @description At most 512 bytes. An entry whose id the stream has had is left out. */
            id?: string | null;
        };
        /** @description What a session is made with. */
        NewSession: {
            agent?: string | null;
            title?: string | null;
            user?: string | null;
        };
        NewValue: {
            channel: string;
            data?: components["schemas"]["DataIn"] | null;
            /** @description Codec; `empty` for a channel without a value. */
            tag: string;
            /** @description A JSON scalar. */
            version: components["schemas"]["Exact"];
        };
        NewWrite: {
            channel: string;
            data?: components["schemas"]["DataIn"] | null;
            /**
             * Format: int32
             * @description 0 and more: the first wins; negative: replaces.
             */
            idx: number;
            tag: string;
        };
        /** @description One ancestor on the walk that rebuilds delta channels. */
        Node: {
            bases: components["schemas"]["Base"][];
            checkpoint_id: string;
            /** @description In lists only. */
            checkpoint_ns?: string | null;
            parent_checkpoint_id?: string | null;
            seeds: components["schemas"]["ChannelValue"][];
            writes: components["schemas"]["TaskWrite"][];
        };
        /** @description Finite numbers, kept as 32-bit floats. In application/msgpack also a `bin` with their bytes, little-endian. */
        Numbers: number[];
        OneDocument: {
            key: string[];
            kind: string;
            name: string;
        };
        OneSession: {
            key: string[];
            kind: string;
        };
        PreviewMessage: {
            text: string;
            /** @description `human`, `ai`, `tool` and the like; empty where it does not say. */
            type: string;
        };
        PreviewTodos: {
            done: number;
            total: number;
        };
        /** @description The body of every error, as RFC 9457 has it. */
        Problem: {
            /** @description For programs; stable. */
            code: components["schemas"]["ProblemCode"] | string;
            /**
             * Format: int64
             * @description Of `head_moved`: the number of the stream's last entry; 0 when it was never written.
             */
            current_head?: number | null;
            /**
             * Format: int64
             * @description Of `version_conflict`: the version that the item has; 0 when there is none.
             */
            current_version?: number | null;
            /** @description For people. */
            detail: string;
            /** @description The detail again; only where Agentrail's Inspector asks. */
            error?: string | null;
            /** @description The input that is at fault. */
            field?: string | null;
            /**
             * Format: int64
             * @description The limit that was broken.
             */
            limit?: number | null;
            /** @description Finds the request in the server's log. */
            request_id: string;
            /** Format: int32 */
            status: number;
            title: string;
            /** @description URN of the code. */
            type: string;
        };
        /**
         * @description What happened, for programs.
         * @enum {string}
         */
        ProblemCode: "malformed_body" | "bad_request" | "unauthorized" | "key_expired" | "token_expired" | "token_revoked" | "not_granted" | "forbidden_host" | "forbidden_origin" | "forbidden_forwarding" | "not_found" | "snapshot_not_found" | "archive_not_found" | "thread_not_found" | "session_not_found" | "document_not_found" | "run_not_found" | "assistant_not_found" | "file_not_found" | "method_not_allowed" | "not_acceptable" | "thread_restored" | "lease_held" | "fence_stale" | "thread_absent" | "thread_exists" | "namespace_exists" | "session_exists" | "version_conflict" | "base_mismatch" | "file_exists" | "thread_taken" | "session_taken" | "head_moved" | "import_conflict" | "resend_whole" | "parts_missing" | "position_gone" | "key_destroyed" | "too_large" | "value_too_large" | "quota_exceeded" | "range_not_satisfiable" | "unsupported_media_type" | "invalid" | "invalid_path" | "offset_past_end" | "not_text" | "old_string_empty" | "string_not_found" | "string_not_unique" | "invalid_glob" | "not_a_file" | "export_damaged" | "export_truncated" | "export_version_unsupported" | "export_signature_wrong" | "needs_graph" | "search_too_wide" | "search_needs_plaintext" | "idempotency_mismatch" | "head_too_large" | "too_many_requests" | "internal" | "unavailable" | "threads_indexing" | "deadline_exceeded" | "overloaded" | "commit_unknown";
        Prune: {
            /** @description Only say what would go. Default false. */
            dry_run?: boolean | null;
            /**
             * @description Threads that wait at an interrupt are not deleted; their waiting checkpoints stay with those that they were called
             *     from. Default false.
             */
            keep_interrupted?: boolean | null;
            /**
             * Format: int64
             * @description 1-1,000,000. So many of the greatest ids of each namespace stay. Default 1. Not with `delete`.
             */
            keep_last?: number | null;
            older_than?: components["schemas"]["Age"] | null;
            strategy?: components["schemas"]["PruneStrategy"] | null;
            /** @description At most 1,000; of one that is named twice, once. */
            thread_ids: string[];
        };
        PrunedThread: components["schemas"]["Removed"] & {
            /** @description The thread went whole. */
            deleted: boolean;
            thread_id: string;
        };
        PruneReport: {
            dry_run: boolean;
            /** @description In the order asked for. */
            threads: components["schemas"]["PrunedThread"][];
            total: components["schemas"]["Removed"];
        };
        /** @enum {string} */
        PruneStrategy: "keep_latest" | "delete";
        PutDocument: {
            content: components["schemas"]["DocumentContent"];
            /**
             * Format: int64
             * @description The version that the document must have; 0: there must be none. Absent: the last put wins.
             */
            if_version?: number | null;
            key: string[];
            kind: string;
            name: string;
        };
        PutItem: {
            /**
             * Format: int64
             * @description The version that the item must have; 0: there must be no item. Absent: the last put wins.
             */
            if_version?: number | null;
            index?: components["schemas"]["ItemIndex"] | null;
            key: components["schemas"]["ItemKey"];
            /** @description Name of what made the vectors; only vectors of one model are compared. Default `default`. */
            model?: string | null;
            namespace: string[];
            /**
             * Format: double
             * @description The item expires after so many minutes without a put, or a read that refreshes. Absent: never.
             */
            ttl_minutes?: number | null;
            /** @description An object. Replaces all of the item's value. */
            value: components["schemas"]["Exact"];
            /**
             * @description What the value means, as numbers: searches by vector find the item by the nearest of them. They replace those that the
             *     item had; absent: it has none.
             */
            vectors?: components["schemas"]["FieldVector"][] | null;
        };
        PutNamespaceSetting: {
            /**
             * Format: int64
             * @description Earlier versions that an item keeps, 0-1,000. Absent: a shorter prefix says it, else 10 for items that look like files
             *     and 0 for others. Each item follows with its next put.
             */
            history?: number | null;
            namespace: string[];
            /**
             * @description Paths of the fields whose words are indexed: names, with `.` between them; `$` stands for all texts of the value; an
             *     empty list for none. Absent: a shorter prefix says it, else none.
             */
            text_fields?: string[] | null;
        };
        PutRetentionPolicy: {
            /** @description Only report what would go. Default false. */
            dry_run?: boolean | null;
            /**
             * Format: int64
             * @description 1-3,153,600,000. A thread without a commit for so long is deleted.
             */
            expire_after_seconds?: number | null;
            /** @description Threads that wait at an interrupt do not expire, and keep what a resume needs. Default true. */
            keep_interrupted?: boolean | null;
            /**
             * Format: int64
             * @description 1-1,000,000. So many of the greatest checkpoint ids of each namespace stay. Default 1 beside `older_than_seconds`.
             */
            keep_last?: number | null;
            /**
             * Format: int64
             * @description 1-3,153,600,000. What was stored within that time stays too.
             */
            older_than_seconds?: number | null;
            thread_id?: string | null;
        };
        PutTenantQuota: {
            /** Format: int64 */
            bytes_max?: number | null;
            /** Format: int64 */
            items_max?: number | null;
            /**
             * Format: int64
             * @description On each server. As many may come at once after a pause.
             */
            requests_per_second?: number | null;
            /**
             * Format: int64
             * @description The same for each key and each token.
             */
            requests_per_second_per_token?: number | null;
            tenant: string;
            /** Format: int64 */
            threads_max?: number | null;
        };
        PutValuePart: {
            data: components["schemas"]["Data"];
            /**
             * Format: int64
             * @description As in the commit.
             */
            fence?: number | null;
            /** @description As in the commit. */
            generation?: string | null;
            /**
             * Format: int64
             * @description The place of the part in its value, from 0.
             */
            index: number;
            thread_id: string;
        };
        /** @description What is absent is unlimited. */
        Quota: {
            /** Format: int64 */
            bytes_max?: number | null;
            /** Format: int64 */
            items_max?: number | null;
            /**
             * Format: int64
             * @description On each server.
             */
            requests_per_second?: number | null;
            /**
             * Format: int64
             * @description Of each key and each token, on each server.
             */
            requests_per_second_per_token?: number | null;
            /** Format: int64 */
            threads_max?: number | null;
        };
        /** @description What is stored for a channel: a value, or the seed and the writes of a delta channel, oldest first. */
        RawChannel: {
            channel: string;
            seed?: components["schemas"]["RawValue"] | null;
            value?: components["schemas"]["RawValue"] | null;
            writes: components["schemas"]["RawValue"][];
        };
        RawValue: {
            data: components["schemas"]["Data"];
            tag: string;
        };
        ReadFile: {
            dialect?: components["schemas"]["FileDialect"] | null;
            /**
             * Format: int64
             * @description Lines of the window; below 0 is 0. Default 2,000, in JavaScript 500.
             */
            limit?: number | null;
            namespace: string[];
            /**
             * Format: int64
             * @description Lines before the window; below 0 is 0.
             */
            offset?: number | null;
            path: components["schemas"]["AnyText"];
        };
        ReleaseLease: {
            /** Format: int64 */
            fence: number;
            holder: string;
            thread_id: string;
        };
        /** @description Below zero where more was written, for the delta channels of what stays, than removed. */
        Removed: {
            /** Format: int64 */
            checkpoints: number;
            /**
             * Format: int64
             * @description Before compression and sharing, as a thread's `size_bytes`.
             */
            size_bytes: number;
            /**
             * Format: int64
             * @description Content as it is stored, in the database or in an object store.
             */
            stored_bytes: number;
            /**
             * Format: int64
             * @description Values that nothing names any more.
             */
            values: number;
            /** Format: int64 */
            writes: number;
        };
        RenewLease: {
            /** Format: int64 */
            fence: number;
            holder: string;
            thread_id: string;
            /**
             * Format: int64
             * @description 1-3,600.
             */
            ttl_seconds: number;
        };
        RestoredNamespace: {
            into: string[];
            namespace: string[];
            /**
             * Format: int64
             * @description Items that were not there at the moment of the snapshot.
             */
            removed: number;
            /**
             * Format: int64
             * @description Items that are there as they were.
             */
            unchanged: number;
            /** Format: int64 */
            written: number;
        };
        RestoredSession: {
            /** @description The session was not there. */
            created: boolean;
            /** Format: int64 */
            entries: number;
            into: string[];
            key: string[];
            kind: string;
            /** Format: int64 */
            replaced_entries: number;
        };
        RestoredSnapshot: {
            dry_run: boolean;
            namespaces: components["schemas"]["RestoredNamespace"][];
            /** Format: date-time */
            restored_at: string;
            /** @description What was there before; absent where nothing was replaced, or `safety` is false. */
            safety_snapshot_id?: string | null;
            sessions: components["schemas"]["RestoredSession"][];
            snapshot_id: string;
            threads: components["schemas"]["RestoredThread"][];
        };
        RestoredThread: {
            /** Format: int64 */
            checkpoints: number;
            /** @description The thread was not there. */
            created: boolean;
            /** @description The new one; of a dry run the present one, empty where there is no thread. */
            generation: string;
            into: string;
            /** Format: int64 */
            replaced_checkpoints: number;
            thread_id: string;
        };
        RestoreItemVersion: {
            /**
             * Format: int64
             * @description The version that the item must have now.
             */
            if_version?: number | null;
            key: components["schemas"]["ItemKey"];
            namespace: string[];
            /**
             * Format: int64
             * @description The version whose value comes back.
             */
            version: number;
        };
        RestoreNamespace: {
            /** @description Absent: in place. Else what lies below goes below this one. */
            into?: string[] | null;
            namespace: string[];
        };
        RestoreNamespaces: "all" | components["schemas"]["RestoreNamespace"][];
        RestoreSession: {
            /** @description Absent: in place. Else another key of the kind. */
            into?: string[] | null;
            key: string[];
            kind: string;
        };
        RestoreSessions: "all" | components["schemas"]["RestoreSession"][];
        RestoreSnapshot: {
            /** @description Default false. */
            dry_run?: boolean | null;
            /** @description Leases that the caller holds on threads that are written to. */
            leases?: components["schemas"]["HeldLease"][] | null;
            namespaces?: components["schemas"]["RestoreNamespaces"] | null;
            /** @description Default true. */
            safety?: boolean | null;
            sessions?: components["schemas"]["RestoreSessions"] | null;
            snapshot_id: string;
            /** @description Of a subject's threads and sessions that are made, whose they are to be. At most 1,000. */
            subjects?: {
                [key: string]: string;
            };
            threads?: components["schemas"]["RestoreThreads"] | null;
        };
        RestoreThread: {
            /** @description Absent: in place. */
            into?: string | null;
            thread_id: string;
        };
        RestoreThreads: "all" | components["schemas"]["RestoreThread"][];
        RetentionDue: {
            /** Format: int64 */
            policies: number;
        };
        RetentionPolicies: {
            /** @description Send it for the next page; absent at the end. */
            next_cursor?: string | null;
            policies: components["schemas"]["RetentionPolicy"][];
        };
        RetentionPolicy: {
            /** Format: date-time */
            created_at: string;
            dry_run: boolean;
            /**
             * Format: date-time
             * @description When the next round begins.
             */
            due_at: string;
            /** Format: int64 */
            expire_after_seconds?: number | null;
            keep_interrupted: boolean;
            /** Format: int32 */
            keep_last?: number | null;
            /** Format: int64 */
            older_than_seconds?: number | null;
            /** @description Absent: of the tenant. */
            thread_id?: string | null;
            /** Format: date-time */
            updated_at: string;
        };
        RetentionPolicyAnswer: {
            policy?: components["schemas"]["RetentionPolicy"] | null;
        };
        RetentionPolicyName: {
            /** @description Absent: the tenant's. */
            thread_id?: string | null;
        };
        RetentionReport: {
            dry_run: boolean;
            /** Format: int64 */
            errors: number;
            /** Format: date-time */
            finished_at: string;
            /** @description Kind of the last error. */
            last_error?: string | null;
            /** @description What went, or in a dry run would go. */
            removed: components["schemas"]["Removed"];
            report_id: string;
            /** Format: date-time */
            started_at: string;
            /** @description Absent: of the tenant's policy. */
            thread_id?: string | null;
            /**
             * Format: int64
             * @description Looked at: those that changed since the last round, or are old enough.
             */
            threads_examined: number;
            /** Format: int64 */
            threads_expired: number;
            /** Format: int64 */
            threads_pruned: number;
            /**
             * Format: int64
             * @description Their lease was held; the next round looks again.
             */
            threads_skipped: number;
        };
        RetentionReports: {
            /** @description Send it with the same arguments for the next page; absent at the end. */
            next_cursor?: string | null;
            reports: components["schemas"]["RetentionReport"][];
        };
        RevokedKey: {
            key_id: string;
        };
        RevokedToken: {
            token_id: string;
        };
        RevokeKey: {
            key_id: string;
            /** @description Also where it is the key that asks. */
            own?: boolean;
        };
        RevokeTenantKey: {
            key_id: string;
            /** @description True: the key of an operator. */
            operators?: boolean;
            /** @description Also where it is the key that asks. */
            own?: boolean;
            /** @description Whose key; or send `operators`. */
            tenant?: string | null;
        };
        RevokeToken: {
            /** @description The text of a token, instead of its id. */
            token?: string | null;
            token_id?: string | null;
        };
        RewindThread: {
            /** @description Of the newest checkpoint that stays. */
            checkpoint_id: string;
            /** @description Default: the root graph's. */
            checkpoint_ns?: string | null;
            /** @description Default false. */
            dry_run?: boolean | null;
            /**
             * Format: int64
             * @description Needed while the thread's lease is held.
             */
            fence?: number | null;
            /** @description Keep the thread as it was as a snapshot. Default true. */
            safety?: boolean | null;
            thread_id: string;
        };
        RewoundThread: {
            /**
             * Format: int64
             * @description Those that stay.
             */
            checkpoints: number;
            /** Format: int64 */
            checkpoints_removed: number;
            dry_run: boolean;
            generation: string;
            /** @description Restore it to undo the rewind. It stays until it is deleted. */
            safety_snapshot_id?: string | null;
            /** Format: int64 */
            writes_removed: number;
        };
        RotatedSecrets: {
            /**
             * Format: int64
             * @description How many secrets there were.
             */
            removed: number;
        };
        RotateTenantSecrets: {
            tenant: string;
        };
        /** @description The value that the caller holds under this name. */
        SameValue: {
            /** @description SHA-256 of a value that the request named or that came earlier in this answer. */
            same: components["schemas"]["Data"];
        };
        SearchItems: {
            /** @description `next_cursor` of the page before, with the same arguments and no offset. */
            cursor?: string | null;
            /** @description Only the namespace itself, nothing below it. Default false. */
            exact?: boolean | null;
            filter?: components["schemas"]["Exact"] | null;
            /**
             * Format: int64
             * @description Default 10; at most 1,000 and about 4 MiB of values come at one time.
             */
            limit?: number | null;
            metric?: components["schemas"]["VectorMetric"] | null;
            mode?: components["schemas"]["SearchMode"] | null;
            /** @description Whose vectors are compared. Default `default`. */
            model?: string | null;
            /**
             * Format: int64
             * @description Matches to skip. Default 0.
             */
            offset?: number | null;
            /** @description Labels that the namespaces begin with. Absent or empty: all that the caller may read. */
            prefix?: string[] | null;
            /**
             * @description `text`, `hybrid`: items with at least one of its words, those with rare ones and many of them first; at most 1,024 bytes
             *     and 32 words. `vector`, and `hybrid` without a `query_vector`: the server makes its vector, where it has an endpoint for
             *     embeddings; it is compared with those that the server has made.
             */
            query?: string | null;
            query_vector?: components["schemas"]["Numbers"] | null;
            /** @description Whether this read extends the lives of the items that it returns. Default true. */
            refresh_ttl?: boolean | null;
            /** @description Only these top-level fields of the values. */
            select?: string[] | null;
            sort?: components["schemas"]["ItemSort"] | null;
            /** @description False: no values. Default true. */
            values?: boolean | null;
        };
        /** @enum {string} */
        SearchMode: "vector" | "text" | "hybrid";
        SearchThreads: {
            assistant_id?: string | null;
            /** @description From this time on. */
            created_after?: string | null;
            /** @description Before this time. */
            created_before?: string | null;
            /** @description `next_cursor` of the page before, with the same arguments. */
            cursor?: string | null;
            /** @description As in the metadata of the thread's checkpoints, like the next two. */
            graph_id?: string | null;
            /** @description At most 1,000. */
            ids?: string[] | null;
            /**
             * @description What else comes with each thread that has checkpoints. Each thread's newest checkpoint is read for it. Values come whole up to 256 KiB
             *     a thread, larger ones with `values_preview`; a page ends when its values and interrupts have 8 MiB, and `next_cursor` goes on.
             */
            include?: components["schemas"]["ThreadPart"][] | null;
            /**
             * Format: int64
             * @description Default 100; at most 1,000, and about 4 MiB of metadata come at one time.
             */
            limit?: number | null;
            metadata?: components["schemas"]["Exact"] | null;
            order?: components["schemas"]["SortOrder"] | null;
            owner?: string | null;
            /** @description Ids that begin with it. */
            prefix?: string | null;
            /** @description Part of the title, in small or large letters, or the beginning of the id. */
            q?: string | null;
            sort?: components["schemas"]["ThreadSort"] | null;
            /** @description Threads that stand as one of these. */
            status?: components["schemas"]["ThreadStatus"][] | null;
            updated_after?: string | null;
            updated_before?: string | null;
            user_id?: string | null;
            values?: components["schemas"]["Exact"] | null;
        };
        ServerEmbeddings: {
            /** @description Numbers of a vector. */
            dims: number;
            model: string;
        };
        /** @description What this server has been set up with. */
        ServerFeatures: {
            /** @description Whether SDKs and UIs of LangGraph find their routes here. */
            agent_server: boolean;
            /** @description Whether the page at `/console/` is served. */
            console: boolean;
            embeddings?: components["schemas"]["ServerEmbeddings"] | null;
            /** @description Whether the server has a master key. */
            encryption: boolean;
            /** @description Where signed addresses lead to, if not here. */
            files_origin?: string | null;
            /** @description Whether cold content moves to an object store. */
            object_store: boolean;
            redis: boolean;
        };
        ServerInfo: {
            /** @description `postgres` or `sqlite`. This and what follows: for callers only. */
            engine?: string | null;
            features?: components["schemas"]["ServerFeatures"] | null;
            /** @description Whether local programs need no key. */
            keyless: boolean;
            /** @description `threadkeep`. */
            name: string;
            /**
             * Format: date-time
             * @description When this process began; others may serve the same database.
             */
            started_at?: string | null;
            version: string;
        };
        Session: {
            agent?: string | null;
            /** Format: int64 */
            created_at_ms: number;
            key: string[];
            title?: string | null;
            /** Format: int64 */
            updated_at_ms: number;
            user?: string | null;
        };
        SessionKind: {
            kind: string;
            /** @description Whether there may be more than were counted; `updated_at_ms` is of those that were. */
            partial: boolean;
            /**
             * Format: int64
             * @description That the caller may read, counted up to 10,000.
             */
            sessions: number;
            /**
             * Format: int64
             * @description The newest change of one.
             */
            updated_at_ms: number;
        };
        SessionKinds: {
            kinds: components["schemas"]["SessionKind"][];
            next_cursor?: string | null;
        };
        SessionsPage: {
            next_cursor?: string | null;
            sessions: components["schemas"]["Session"][];
        };
        ShownChannel: {
            channel: string;
            /** @description Whether the value is replayed from a seed and writes. */
            is_delta: boolean;
            raw?: components["schemas"]["RawChannel"] | null;
            /**
             * Format: int64
             * @description Of what is decoded.
             */
            size_bytes: number;
            /** @description Codec of the value; absent for a channel that is kept as writes. */
            tag?: string | null;
            value: unknown;
            /** @description A string or a number, as the client sent it. */
            version?: unknown;
        };
        /** @description What a thread shows of its ttl. */
        ShownThreadTtl: {
            /**
             * Format: date-time
             * @description As long as nobody changes the thread. The sweep comes a little later.
             */
            expires_at: string;
            /** Format: double */
            minutes: number;
            strategy: components["schemas"]["PruneStrategy"];
        };
        Snapshot: {
            archive?: components["schemas"]["SnapshotArchive"] | null;
            /** Format: date-time */
            created_at: string;
            document?: components["schemas"]["Exact"] | null;
            /** Format: date-time */
            expires_at?: string | null;
            labels: components["schemas"]["SnapshotLabels"];
            namespaces: components["schemas"]["SnapshotNamespace"][];
            owner?: string | null;
            sessions: components["schemas"]["SnapshotSession"][];
            /**
             * Format: int64
             * @description Before compression and sharing.
             */
            size_bytes: number;
            snapshot_id: string;
            /**
             * Format: date-time
             * @description The one moment that everything in it is of.
             */
            taken_at: string;
            threads: components["schemas"]["SnapshotThread"][];
        };
        /** @description The archive of a snapshot. */
        SnapshotArchive: {
            /**
             * Format: int64
             * @description Members but for folders.
             */
            file_count: number;
            sha256: string;
            /**
             * Format: int64
             * @description Of the tar, without packing, as `sha256`.
             */
            size_bytes: number;
            /**
             * Format: date-time
             * @description When all of it was there.
             */
            staged_at: string;
            workspace: string;
        };
        /**
         * @description How much of a thread: everything, or the newest checkpoint of each namespace with what its delta channels need.
         * @enum {string}
         */
        SnapshotHistory: "all" | "head";
        /** @description At most 32 names with values of up to 256 bytes each. */
        SnapshotLabels: {
            [key: string]: string;
        };
        SnapshotName: {
            snapshot_id: string;
        };
        SnapshotNamespace: {
            /** Format: int64 */
            items: number;
            namespace: string[];
            /** Format: int64 */
            size_bytes: number;
        };
        SnapshotSession: {
            /** Format: int64 */
            entries: number;
            key: string[];
            kind: string;
            /** Format: int64 */
            size_bytes: number;
        };
        SnapshotSessionName: {
            key: string[];
            kind: string;
        };
        SnapshotsPage: {
            /** @description Send it with the same arguments for the next page; absent at the end. */
            next_cursor?: string | null;
            snapshots: components["schemas"]["Snapshot"][];
        };
        SnapshotThread: {
            /** Format: int64 */
            checkpoints: number;
            /** @description At that moment. */
            generation: string;
            history: components["schemas"]["SnapshotHistory"];
            /** Format: int64 */
            size_bytes: number;
            thread_id: string;
        };
        /** @enum {string} */
        SortOrder: "asc" | "desc";
        /** @description What was staged. */
        StagedArchive: components["schemas"]["SnapshotArchive"] & {
            /** @description For `archive` of a snapshot that is taken. */
            archive_id: string;
        };
        State: {
            checkpoint_id: string;
            checkpoint_ns: string;
            /** @description As the client said when it made the checkpoint. */
            created_at?: string | null;
            /** @description Those of all tasks. */
            interrupts: components["schemas"]["StateInterrupt"][];
            metadata: unknown;
            /** @description Names of the tasks that have still to run. */
            next: string[];
            parent_checkpoint_id?: string | null;
            /** @description With `raw` only. */
            raw?: components["schemas"]["RawChannel"][] | null;
            tasks: components["schemas"]["StateTask"][];
            thread_id: string;
            /** @description An object by channel, without those that are the graph's own affair; of a graph with one unnamed value, the value. */
            values: unknown;
            /** @description Pending writes, in (task path, task id, index) order. */
            writes: components["schemas"]["StateWrite"][];
        };
        StateInterrupt: {
            id?: string | null;
            response_schema?: unknown;
            value: unknown;
        };
        StateTask: {
            error?: unknown;
            /** @description Absent where the checkpoint's id is none that LangGraph makes. */
            id?: string | null;
            interrupts: components["schemas"]["StateInterrupt"][];
            /** @description Name of the node; `__start__` for the function of a functional graph. */
            name: string;
            /** @description `["__pregel_pull", name]` or `["__pregel_push", index, …]`. */
            path: unknown[];
            /** @description What the task wrote, once it has ended. */
            result?: unknown;
        };
        StateWrite: {
            channel: string;
            raw?: components["schemas"]["RawValue"] | null;
            tag: string;
            task_id: string;
            value: unknown;
        };
        StatFile: {
            dialect?: components["schemas"]["FileDialect"] | null;
            namespace: string[];
            path: components["schemas"]["AnyText"];
        };
        StoreBatch: {
            /** @description Default true. */
            atomic?: boolean | null;
            /** @description At most 1,000. */
            ops: components["schemas"]["StoreOp"][];
        };
        /** @description What was stored. */
        StoredArtifacts: {
            files: components["schemas"]["StoredFile"][];
            /** @description Of the drive. */
            folder: string;
            /** @description Files that were written. */
            stored: number;
            /** @description Files that were there already. */
            unchanged: number;
        };
        StoredDocument: {
            /**
             * Format: int64
             * @description Of the whole content, in bytes of UTF-8; of what was sent, where the caller may not read the session.
             */
            size: number;
            /** Format: int64 */
            updated_at_ms: number;
            /** Format: int64 */
            version: number;
        };
        /** @description A file that was written. */
        StoredFile: {
            /** @description There was none before. */
            created: boolean;
            path: string;
            /** Format: int64 */
            size_bytes: number;
            /** @description It had these bytes already: nothing was written. */
            unchanged: boolean;
            /** Format: int64 */
            version: number;
        };
        StoreOp: components["schemas"]["StoreOpPut"] | components["schemas"]["StoreOpGet"] | components["schemas"]["StoreOpDelete"] | components["schemas"]["StoreOpSearch"] | components["schemas"]["StoreOpListNamespaces"] | components["schemas"]["StoreOpCount"];
        StoreOpCount: {
            count: components["schemas"]["CountItems"];
        };
        StoreOpDelete: {
            delete: components["schemas"]["DeleteItem"];
        };
        /** @description What a call for the operation alone would have answered as a problem. */
        StoreOpError: {
            code: string;
            /** Format: int64 */
            current_version?: number | null;
            detail: string;
            field?: string | null;
            /** Format: int64 */
            limit?: number | null;
            /** Format: int32 */
            status: number;
        };
        StoreOpGet: {
            get: components["schemas"]["GetItem"];
        };
        StoreOpListNamespaces: {
            list_namespaces: components["schemas"]["ListNamespaces"];
        };
        StoreOpPut: {
            put: components["schemas"]["PutItem"];
        };
        StoreOpSearch: {
            search: components["schemas"]["SearchItems"];
        };
        /** @description As the call for the operation alone answers it, or why there is no result. */
        StoreResult: components["schemas"]["ItemVersion"] | components["schemas"]["ItemPage"] | components["schemas"]["Namespaces"] | components["schemas"]["ItemCount"] | components["schemas"]["FailedStoreOp"] | components["schemas"]["GotItem"] | components["schemas"]["Empty"];
        StoreResults: {
            results: components["schemas"]["StoreResult"][];
        };
        Stream: {
            /** Format: int64 */
            head: number;
            stream: string;
            /** Format: int64 */
            updated_at_ms: number;
        };
        Streams: {
            streams: components["schemas"]["Stream"][];
        };
        Subject: {
            /**
             * Format: int64
             * @description Of the store, below the subject's label.
             */
            items: number;
            /**
             * Format: int64
             * @description That are not revoked.
             */
            keys: number;
            /** @description Whether a count ended at 10,000; sizes and times are of what was counted. */
            partial: boolean;
            /** Format: int64 */
            sessions: number;
            /**
             * Format: int64
             * @description Of threads, sessions and items, before compression and sharing.
             */
            size_bytes: number;
            /**
             * Format: int64
             * @description That it took.
             */
            snapshots: number;
            subject: string;
            /** Format: int64 */
            threads: number;
            /**
             * Format: date-time
             * @description The newest change of a thread, session or item; absent where it has none.
             */
            updated_at?: string | null;
        };
        Subjects: {
            /** @description Send it for the next page; absent at the end. */
            next_cursor?: string | null;
            subjects: components["schemas"]["Subject"][];
        };
        TakeSnapshot: {
            /** @description `archive_id` of an archive that the caller staged. */
            archive?: string | null;
            document?: components["schemas"]["Exact"] | null;
            /**
             * Format: int64
             * @description The snapshot goes then. Absent: it stays.
             */
            expires_in_seconds?: number | null;
            labels?: components["schemas"]["SnapshotLabels"] | null;
            /** @description At most 100, each with everything below it, files included; together at most 100,000 items. */
            namespaces?: string[][] | null;
            /** @description At most 1,000. */
            sessions?: components["schemas"]["SnapshotSessionName"][] | null;
            /** @description 1 to 256 bytes. Absent: the server makes one up. */
            snapshot_id?: string | null;
            /** @description At most 1,000. */
            threads?: components["schemas"]["TakeThread"][] | null;
        };
        TakeThread: {
            history?: components["schemas"]["SnapshotHistory"] | null;
            thread_id: string;
        };
        TaskWrite: {
            channel: string;
            data: components["schemas"]["DataAnswered"];
            tag: string;
            task_id: string;
        };
        Tenant: {
            /**
             * Format: int64
             * @description Of values, writes, skeletons and metadata, before compression and sharing.
             */
            bytes: number;
            /** Format: int64 */
            items: number;
            /**
             * Format: date-time
             * @description When a thread, an item or a session was last written; absent where it has none of them.
             */
            last_write?: string | null;
            tenant: string;
            /** Format: int64 */
            threads: number;
        };
        Tenants: {
            /** @description Send it for the next page; absent at the end. */
            next_cursor?: string | null;
            tenants: components["schemas"]["Tenant"][];
        };
        Thread: {
            assistant_id?: string | null;
            /** Format: int64 */
            checkpoint_count: number;
            /** Format: date-time */
            created_at: string;
            /**
             * Format: int64
             * @description Checkpoints of the root graph with more than one child; absent in listings.
             */
            forks?: number | null;
            generation: string;
            graph_id?: string | null;
            /**
             * @description The questions of tasks that have still to run: a list by the id of the task, each an `id` and a `value`. Where a search asks for them,
             *     as `values`.
             */
            interrupts?: unknown;
            /** Format: int64 */
            last_step?: number | null;
            /** @description What was set, and what the metadata of checkpoints says under `graph_id`, `assistant_id` and `user_id`. */
            metadata: components["schemas"]["Exact"];
            owner?: string | null;
            preview?: components["schemas"]["ThreadPreview"] | null;
            /**
             * Format: int64
             * @description Before compression and sharing.
             */
            size_bytes: number;
            /**
             * Format: date-time
             * @description When checkpoints or writes last changed; of a thread without any, when it was made.
             */
            state_updated_at: string;
            status: components["schemas"]["ThreadStatus"];
            thread_id: string;
            /** @description What was set, else the text in `metadata.title`, else the first human text of the conversation. Absent: none of them is there. */
            title?: string | null;
            title_from?: components["schemas"]["TitleFrom"] | null;
            ttl?: components["schemas"]["ShownThreadTtl"] | null;
            /** Format: date-time */
            updated_at: string;
            user_id?: string | null;
            /** @description The id itself where it is a UUID, else the UUID by which clients of the Agent Server wire may name the thread. */
            uuid: string;
            /**
             * @description Those of the newest state, where a search asks for them: an object by channel; of a graph with one unnamed value, the value. Absent
             *     without checkpoints, and where they cannot be shown.
             */
            values?: unknown;
            /** @description True: `values` are over 256 KiB, and have the messages that lists show, with texts cut at 4 KiB, and channels up to 4 KiB. */
            values_preview?: boolean | null;
            /**
             * Format: int64
             * @description Of title, metadata and ttl: grows with each change of them, and comes never twice. 0: nothing was ever set.
             */
            version: number;
        };
        ThreadCount: {
            /** Format: int64 */
            count: number;
        };
        ThreadPage: {
            /** @description Send it with the same arguments for the next page; absent at the end. */
            next_cursor?: string | null;
            threads: components["schemas"]["Thread"][];
        };
        /**
         * @description What else comes with a thread.
         * @enum {string}
         */
        ThreadPart: "preview" | "values" | "interrupts";
        /**
         * @description What a thread is about, by its newest checkpoint of the root graph. Of values over 1 MiB nothing is shown. Texts are one line of at most
         *     200 characters.
         */
        ThreadPreview: {
            /** @description Something was too much, or cannot be shown. */
            cut: boolean;
            /** @description What a person said first in `messages`. */
            first_human?: string | null;
            /** @description Questions that nobody has answered. */
            interrupts: number;
            last_message?: components["schemas"]["PreviewMessage"] | null;
            /** @description How many there are; absent where the thread has no list of messages. */
            messages?: number | null;
            /** @description Names of the first 20 tasks that have still to run. */
            next: string[];
            todos?: components["schemas"]["PreviewTodos"] | null;
        };
        /** @enum {string} */
        ThreadSort: "created" | "updated" | "state_updated" | "status" | "size" | "thread_id";
        /**
         * @description How a thread stands, by the newest checkpoint of the root graph, its writes and the lease.
         * @enum {string}
         */
        ThreadStatus: "idle" | "busy" | "interrupted" | "error";
        ThreadStorage: {
            /** @description Largest first. */
            channels: components["schemas"]["ChannelStorage"][];
            /** Format: int64 */
            checkpoints: number;
            /** Format: int64 */
            chunks: number;
            /**
             * Format: int64
             * @description Values and chunks of the content scope, which copies share.
             */
            content_bytes: number;
            /**
             * Format: int64
             * @description Documents, writes and the values that checkpoints show, before compression and sharing.
             */
            logical_bytes: number;
            /**
             * Format: double
             * @description 1 - `stored_bytes` / `logical_bytes`; below 0 where compression and sharing cost more than they save.
             */
            share_saved: number;
            /**
             * Format: int64
             * @description Other threads with the same content scope: copies, or what this is a copy of.
             */
            shared_with: number;
            /**
             * Format: int64
             * @description Bodies, lists, maps and documents as they are stored, the whole content scope included, also what of it was moved to
             *     an object store.
             */
            stored_bytes: number;
            /**
             * Format: int64
             * @description Values that checkpoints show, each once.
             */
            versions: number;
            /** Format: int64 */
            writes: number;
        };
        ThreadTtl: {
            /**
             * Format: double
             * @description Minutes without a change, above 0, at most 52,560,000.
             */
            minutes: number;
            strategy?: components["schemas"]["PruneStrategy"] | null;
        };
        TimelineNamespace: {
            /** @description Name of the agent, as the metadata of its newest checkpoint tells. */
            agent?: string | null;
            checkpoint_ns: string;
            /** Format: int64 */
            checkpoints: number;
            /** @description Id of the newest. */
            newest: string;
            /** @description In the namespace above: what its newest checkpoint was made under. */
            parent_checkpoint_id?: string | null;
        };
        TimelineNode: {
            /**
             * @description Channels with another version than in the parent, without those that are the graph's own affair. Absent where the parent is not
             *     stored.
             */
            changed?: string[] | null;
            checkpoint_id: string;
            checkpoint_ns: string;
            /** @description As the client said when it made the checkpoint. */
            created_at?: string | null;
            /** @description Whether a task failed there. */
            error: boolean;
            /**
             * Format: int64
             * @description Tasks that asked something there, answered or not.
             */
            interrupts: number;
            /** @description The node that ran, where the versions that nodes have seen tell of exactly one. What was sent leaves no trace there. */
            node?: string | null;
            parent_checkpoint_id?: string | null;
            run_id?: string | null;
            /**
             * Format: int64
             * @description Of skeleton, metadata and writes; without values, which checkpoints share.
             */
            size_bytes: number;
            source?: string | null;
            /** Format: int64 */
            step?: number | null;
            /**
             * Format: int64
             * @description Writes on the checkpoint.
             */
            writes: number;
        };
        TimelinePage: {
            /** @description Of the thread; absent when there is no such thread. */
            generation?: string | null;
            /** @description On the first page only: up to `list_rows_max` namespaces of the thread, those with the newest checkpoints first. */
            namespaces: components["schemas"]["TimelineNamespace"][];
            /** @description Send it with the same arguments for the next page; absent at the end. */
            next_cursor?: string | null;
            nodes: components["schemas"]["TimelineNode"][];
        };
        /**
         * @description Where a title comes from.
         * @enum {string}
         */
        TitleFrom: "set" | "metadata" | "first_message";
        Tokens: {
            /** @description Send it for the next page; absent at the end. */
            next_cursor?: string | null;
            tokens: components["schemas"]["LiveToken"][];
        };
        UpdatedThread: {
            thread: components["schemas"]["Thread"];
        };
        UpdateThread: {
            /**
             * Format: int64
             * @description The version that the thread must have; 0 where nothing was ever set.
             */
            if_version?: number | null;
            metadata?: components["schemas"]["Exact"] | null;
            /** @description True: no other field stays. Default false. */
            replace_metadata?: boolean | null;
            thread_id: string;
            /** @description At most 1,024 bytes; null takes it away, so that the thread shows the text in `metadata.title` or its first message. */
            title?: string | null;
            ttl?: components["schemas"]["ThreadTtl"] | null;
        };
        Upload: {
            /** Format: date-time */
            created_at: string;
            /**
             * Format: date-time
             * @description When it goes, if nothing more arrives.
             */
            expires_at: string;
            is_complete: boolean;
            namespace: string[];
            parts: components["schemas"]["UploadPart"][];
            path: string;
            upload_id: string;
        };
        UploadedFile: {
            /** @description `invalid_path`, or a text. */
            error?: string | null;
            path: components["schemas"]["AnyText"];
            /** Format: int64 */
            version?: number | null;
        };
        UploadedFiles: {
            results: components["schemas"]["UploadedFile"][];
        };
        UploadFile: {
            bytes: components["schemas"]["Data"];
            /** @description Kept with the file; without it the path says. */
            media_type?: string | null;
            path: components["schemas"]["AnyText"];
        };
        UploadFiles: {
            dialect?: components["schemas"]["FileDialect"] | null;
            files: components["schemas"]["UploadFile"][];
            namespace: string[];
        };
        /** @description For the document. */
        UploadForm: {
            /** Format: binary */
            file: string;
            path: string;
        };
        UploadPart: {
            /** Format: int32 */
            part: number;
            sha256: string;
            /** Format: int64 */
            size_bytes: number;
        };
        Usage: {
            /**
             * Format: int64
             * @description Of values, writes, skeletons and metadata, before compression and sharing: the sum of the threads' `size_bytes`.
             */
            bytes: number;
            /** Format: int64 */
            items: number;
            /**
             * Format: date-time
             * @description When it was added up.
             */
            measured_at: string;
            quota: components["schemas"]["Quota"];
            /** Format: int64 */
            threads: number;
        };
        Value: {
            data: components["schemas"]["DataAnswered"];
            tag: string;
        };
        /** @description A value whose bytes travel in parts of their own. */
        ValueInParts: {
            /**
             * Format: int64
             * @description Bytes of the value.
             */
            length: number;
            /**
             * @description Names of its parts, in their order. In a commit as `POST /v1/checkpoints/parts/put` answered them, at most 128; in an answer
             *     for `POST /v1/checkpoints/parts/get`.
             */
            parts: components["schemas"]["Data"][];
        };
        ValuePart: {
            data: components["schemas"]["Data"];
        };
        ValuePartName: {
            /** @description For the commit. */
            name: components["schemas"]["Data"];
        };
        /** @enum {string} */
        VectorMetric: "cosine" | "l2" | "inner_product";
        WriteFile: {
            content: components["schemas"]["AnyText"];
            dialect?: components["schemas"]["FileDialect"] | null;
            /**
             * Format: int64
             * @description The version that the file must have; 0: there must be none.
             */
            if_version?: number | null;
            namespace: string[];
            path: components["schemas"]["AnyText"];
        };
        Writes: {
            /** @description Need not exist yet. */
            checkpoint_id: string;
            /** @description Empty for the root graph. */
            checkpoint_ns?: string | null;
            /**
             * Format: int64
             * @description Call number of the writer, from 0.
             */
            seq?: number | null;
            task_id: string;
            task_path?: string | null;
            writes: components["schemas"]["NewWrite"][];
        };
        WrittenFile: {
            /** @description There was no such file. */
            created: boolean;
            path: components["schemas"]["AnyText"];
            /** Format: int64 */
            version: number;
        };
    };
    responses: {
        /** @description `malformed_body`: The body cannot be read */
        "400.malformed_body": {
            headers: {
                /** @description Milliseconds until the answer began: `total;dur=1.234` */
                "server-timing"?: string;
                /** @description Of the request; finds it in the server's log */
                "x-request-id"?: string;
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "malformed_body",
                 *       "detail": "The body cannot be read",
                 *       "request_id": "4f6d0c1be2a94c0d8a5d3f0a1b2c3d4e",
                 *       "status": 400,
                 *       "title": "The body cannot be read",
                 *       "type": "urn:threadkeep:problem:malformed_body"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `unauthorized`: A valid key is needed; `key_expired`: The key has expired; `token_expired`: The token has expired; `token_revoked`: The token was revoked */
        "401.unauthorized.key_expired.token_expired.token_revoked": {
            headers: {
                /** @description Milliseconds until the answer began: `total;dur=1.234` */
                "server-timing"?: string;
                /** @description Of the request; finds it in the server's log */
                "x-request-id"?: string;
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "unauthorized",
                 *       "detail": "A valid key is needed",
                 *       "request_id": "4f6d0c1be2a94c0d8a5d3f0a1b2c3d4e",
                 *       "status": 401,
                 *       "title": "A valid key is needed",
                 *       "type": "urn:threadkeep:problem:unauthorized"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `not_granted`: The key does not allow this; `forbidden_host`: Not a Host of this server; `forbidden_origin`: Not from another site; `forbidden_forwarding`: Not through a proxy */
        "403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted": {
            headers: {
                /** @description Milliseconds until the answer began: `total;dur=1.234` */
                "server-timing"?: string;
                /** @description Of the request; finds it in the server's log */
                "x-request-id"?: string;
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "forbidden_host",
                 *       "detail": "Not a Host of this server",
                 *       "request_id": "4f6d0c1be2a94c0d8a5d3f0a1b2c3d4e",
                 *       "status": 403,
                 *       "title": "Not a Host of this server",
                 *       "type": "urn:threadkeep:problem:forbidden_host"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `not_granted`: The key does not allow this; `forbidden_host`: Not a Host of this server; `forbidden_origin`: Not from another site; `forbidden_forwarding`: Not through a proxy */
        "403.not_granted.forbidden_host.forbidden_origin.forbidden_forwarding": {
            headers: {
                /** @description Milliseconds until the answer began: `total;dur=1.234` */
                "server-timing"?: string;
                /** @description Of the request; finds it in the server's log */
                "x-request-id"?: string;
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "not_granted",
                 *       "detail": "The key does not allow this",
                 *       "request_id": "4f6d0c1be2a94c0d8a5d3f0a1b2c3d4e",
                 *       "status": 403,
                 *       "title": "The key does not allow this",
                 *       "type": "urn:threadkeep:problem:not_granted"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `document_not_found`: There is no such document */
        "404.document_not_found": {
            headers: {
                /** @description Milliseconds until the answer began: `total;dur=1.234` */
                "server-timing"?: string;
                /** @description Of the request; finds it in the server's log */
                "x-request-id"?: string;
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "document_not_found",
                 *       "detail": "There is no such document",
                 *       "request_id": "4f6d0c1be2a94c0d8a5d3f0a1b2c3d4e",
                 *       "status": 404,
                 *       "title": "There is no such document",
                 *       "type": "urn:threadkeep:problem:document_not_found"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `file_not_found`: The file is not there */
        "404.file_not_found": {
            headers: {
                /** @description Milliseconds until the answer began: `total;dur=1.234` */
                "server-timing"?: string;
                /** @description Of the request; finds it in the server's log */
                "x-request-id"?: string;
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "file_not_found",
                 *       "detail": "The file is not there",
                 *       "request_id": "4f6d0c1be2a94c0d8a5d3f0a1b2c3d4e",
                 *       "status": 404,
                 *       "title": "The file is not there",
                 *       "type": "urn:threadkeep:problem:file_not_found"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `not_found`: Not found */
        "404.not_found": {
            headers: {
                /** @description Milliseconds until the answer began: `total;dur=1.234` */
                "server-timing"?: string;
                /** @description Of the request; finds it in the server's log */
                "x-request-id"?: string;
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "not_found",
                 *       "detail": "Not found",
                 *       "request_id": "4f6d0c1be2a94c0d8a5d3f0a1b2c3d4e",
                 *       "status": 404,
                 *       "title": "Not found",
                 *       "type": "urn:threadkeep:problem:not_found"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `not_found`: Not found; `snapshot_not_found`: There is no such snapshot; `session_not_found`: There is no such stream */
        "404.not_found.session_not_found.snapshot_not_found": {
            headers: {
                /** @description Milliseconds until the answer began: `total;dur=1.234` */
                "server-timing"?: string;
                /** @description Of the request; finds it in the server's log */
                "x-request-id"?: string;
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "not_found",
                 *       "detail": "Not found",
                 *       "request_id": "4f6d0c1be2a94c0d8a5d3f0a1b2c3d4e",
                 *       "status": 404,
                 *       "title": "Not found",
                 *       "type": "urn:threadkeep:problem:not_found"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `session_not_found`: There is no such stream */
        "404.session_not_found": {
            headers: {
                /** @description Milliseconds until the answer began: `total;dur=1.234` */
                "server-timing"?: string;
                /** @description Of the request; finds it in the server's log */
                "x-request-id"?: string;
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "session_not_found",
                 *       "detail": "There is no such stream",
                 *       "request_id": "4f6d0c1be2a94c0d8a5d3f0a1b2c3d4e",
                 *       "status": 404,
                 *       "title": "There is no such stream",
                 *       "type": "urn:threadkeep:problem:session_not_found"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `snapshot_not_found`: There is no such snapshot */
        "404.snapshot_not_found": {
            headers: {
                /** @description Milliseconds until the answer began: `total;dur=1.234` */
                "server-timing"?: string;
                /** @description Of the request; finds it in the server's log */
                "x-request-id"?: string;
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "snapshot_not_found",
                 *       "detail": "There is no such snapshot",
                 *       "request_id": "4f6d0c1be2a94c0d8a5d3f0a1b2c3d4e",
                 *       "status": 404,
                 *       "title": "There is no such snapshot",
                 *       "type": "urn:threadkeep:problem:snapshot_not_found"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `thread_not_found`: There is no such thread */
        "404.thread_not_found": {
            headers: {
                /** @description Milliseconds until the answer began: `total;dur=1.234` */
                "server-timing"?: string;
                /** @description Of the request; finds it in the server's log */
                "x-request-id"?: string;
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "thread_not_found",
                 *       "detail": "There is no such thread",
                 *       "request_id": "4f6d0c1be2a94c0d8a5d3f0a1b2c3d4e",
                 *       "status": 404,
                 *       "title": "There is no such thread",
                 *       "type": "urn:threadkeep:problem:thread_not_found"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `not_found`: Not found; `thread_not_found`: There is no such thread */
        "404.thread_not_found.not_found": {
            headers: {
                /** @description Milliseconds until the answer began: `total;dur=1.234` */
                "server-timing"?: string;
                /** @description Of the request; finds it in the server's log */
                "x-request-id"?: string;
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "thread_not_found",
                 *       "detail": "There is no such thread",
                 *       "request_id": "4f6d0c1be2a94c0d8a5d3f0a1b2c3d4e",
                 *       "status": 404,
                 *       "title": "There is no such thread",
                 *       "type": "urn:threadkeep:problem:thread_not_found"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `archive_not_found`: There is no such archive; `thread_not_found`: There is no such thread; `session_not_found`: There is no such stream */
        "404.thread_not_found.session_not_found.archive_not_found": {
            headers: {
                /** @description Milliseconds until the answer began: `total;dur=1.234` */
                "server-timing"?: string;
                /** @description Of the request; finds it in the server's log */
                "x-request-id"?: string;
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "thread_not_found",
                 *       "detail": "There is no such thread",
                 *       "request_id": "4f6d0c1be2a94c0d8a5d3f0a1b2c3d4e",
                 *       "status": 404,
                 *       "title": "There is no such thread",
                 *       "type": "urn:threadkeep:problem:thread_not_found"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `not_acceptable`: No answer in an accepted media type */
        "406.not_acceptable": {
            headers: {
                /** @description Milliseconds until the answer began: `total;dur=1.234` */
                "server-timing"?: string;
                /** @description Of the request; finds it in the server's log */
                "x-request-id"?: string;
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "not_acceptable",
                 *       "detail": "No answer in an accepted media type",
                 *       "request_id": "4f6d0c1be2a94c0d8a5d3f0a1b2c3d4e",
                 *       "status": 406,
                 *       "title": "No answer in an accepted media type",
                 *       "type": "urn:threadkeep:problem:not_acceptable"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `lease_held`: The lease is held by another; `fence_stale`: The fence is not the current one; `thread_taken`: The thread belongs to somebody else */
        "409.fence_stale.lease_held.thread_taken": {
            headers: {
                /** @description Milliseconds until the answer began: `total;dur=1.234` */
                "server-timing"?: string;
                /** @description Of the request; finds it in the server's log */
                "x-request-id"?: string;
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "fence_stale",
                 *       "detail": "The fence is not the current one",
                 *       "request_id": "4f6d0c1be2a94c0d8a5d3f0a1b2c3d4e",
                 *       "status": 409,
                 *       "title": "The fence is not the current one",
                 *       "type": "urn:threadkeep:problem:fence_stale"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `version_conflict`: The version is another one; `file_exists`: The file exists */
        "409.file_exists.version_conflict": {
            headers: {
                /** @description Milliseconds until the answer began: `total;dur=1.234` */
                "server-timing"?: string;
                /** @description Of the request; finds it in the server's log */
                "x-request-id"?: string;
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "file_exists",
                 *       "detail": "The file exists",
                 *       "request_id": "4f6d0c1be2a94c0d8a5d3f0a1b2c3d4e",
                 *       "status": 409,
                 *       "title": "The file exists",
                 *       "type": "urn:threadkeep:problem:file_exists"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `session_taken`: The session belongs to somebody else; `head_moved`: The stream is not as it was */
        "409.head_moved.session_taken": {
            headers: {
                /** @description Milliseconds until the answer began: `total;dur=1.234` */
                "server-timing"?: string;
                /** @description Of the request; finds it in the server's log */
                "x-request-id"?: string;
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "head_moved",
                 *       "detail": "The stream is not as it was",
                 *       "request_id": "4f6d0c1be2a94c0d8a5d3f0a1b2c3d4e",
                 *       "status": 409,
                 *       "title": "The stream is not as it was",
                 *       "type": "urn:threadkeep:problem:head_moved"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `version_conflict`: The version is another one; `session_taken`: The session belongs to somebody else; `head_moved`: The stream is not as it was */
        "409.head_moved.version_conflict.session_taken": {
            headers: {
                /** @description Milliseconds until the answer began: `total;dur=1.234` */
                "server-timing"?: string;
                /** @description Of the request; finds it in the server's log */
                "x-request-id"?: string;
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "head_moved",
                 *       "detail": "The stream is not as it was",
                 *       "request_id": "4f6d0c1be2a94c0d8a5d3f0a1b2c3d4e",
                 *       "status": 409,
                 *       "title": "The stream is not as it was",
                 *       "type": "urn:threadkeep:problem:head_moved"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `lease_held`: The lease is held by another; `import_conflict`: What is here is not as in the file */
        "409.import_conflict.lease_held": {
            headers: {
                /** @description Milliseconds until the answer began: `total;dur=1.234` */
                "server-timing"?: string;
                /** @description Of the request; finds it in the server's log */
                "x-request-id"?: string;
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "import_conflict",
                 *       "detail": "What is here is not as in the file",
                 *       "request_id": "4f6d0c1be2a94c0d8a5d3f0a1b2c3d4e",
                 *       "status": 409,
                 *       "title": "What is here is not as in the file",
                 *       "type": "urn:threadkeep:problem:import_conflict"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `lease_held`: The lease is held by another */
        "409.lease_held": {
            headers: {
                /** @description Milliseconds until the answer began: `total;dur=1.234` */
                "server-timing"?: string;
                /** @description Of the request; finds it in the server's log */
                "x-request-id"?: string;
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "lease_held",
                 *       "detail": "The lease is held by another",
                 *       "request_id": "4f6d0c1be2a94c0d8a5d3f0a1b2c3d4e",
                 *       "status": 409,
                 *       "title": "The lease is held by another",
                 *       "type": "urn:threadkeep:problem:lease_held"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `lease_held`: The lease is held by another; `fence_stale`: The fence is not the current one */
        "409.lease_held.fence_stale": {
            headers: {
                /** @description Milliseconds until the answer began: `total;dur=1.234` */
                "server-timing"?: string;
                /** @description Of the request; finds it in the server's log */
                "x-request-id"?: string;
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "lease_held",
                 *       "detail": "The lease is held by another",
                 *       "request_id": "4f6d0c1be2a94c0d8a5d3f0a1b2c3d4e",
                 *       "status": 409,
                 *       "title": "The lease is held by another",
                 *       "type": "urn:threadkeep:problem:lease_held"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `lease_held`: The lease is held by another; `fence_stale`: The fence is not the current one; `thread_exists`: The thread exists; `namespace_exists`: The namespace has items; `session_exists`: The session exists; `thread_taken`: The thread belongs to somebody else; `session_taken`: The session belongs to somebody else */
        "409.lease_held.fence_stale.thread_exists.namespace_exists.session_exists.thread_taken.session_taken": {
            headers: {
                /** @description Milliseconds until the answer began: `total;dur=1.234` */
                "server-timing"?: string;
                /** @description Of the request; finds it in the server's log */
                "x-request-id"?: string;
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "lease_held",
                 *       "detail": "The lease is held by another",
                 *       "request_id": "4f6d0c1be2a94c0d8a5d3f0a1b2c3d4e",
                 *       "status": 409,
                 *       "title": "The lease is held by another",
                 *       "type": "urn:threadkeep:problem:lease_held"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `lease_held`: The lease is held by another; `thread_taken`: The thread belongs to somebody else */
        "409.lease_held.thread_taken": {
            headers: {
                /** @description Milliseconds until the answer began: `total;dur=1.234` */
                "server-timing"?: string;
                /** @description Of the request; finds it in the server's log */
                "x-request-id"?: string;
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "lease_held",
                 *       "detail": "The lease is held by another",
                 *       "request_id": "4f6d0c1be2a94c0d8a5d3f0a1b2c3d4e",
                 *       "status": 409,
                 *       "title": "The lease is held by another",
                 *       "type": "urn:threadkeep:problem:lease_held"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `parts_missing`: A part of the value is not there */
        "409.parts_missing": {
            headers: {
                /** @description Milliseconds until the answer began: `total;dur=1.234` */
                "server-timing"?: string;
                /** @description Of the request; finds it in the server's log */
                "x-request-id"?: string;
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "parts_missing",
                 *       "detail": "A part of the value is not there",
                 *       "request_id": "4f6d0c1be2a94c0d8a5d3f0a1b2c3d4e",
                 *       "status": 409,
                 *       "title": "A part of the value is not there",
                 *       "type": "urn:threadkeep:problem:parts_missing"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `session_taken`: The session belongs to somebody else */
        "409.session_taken": {
            headers: {
                /** @description Milliseconds until the answer began: `total;dur=1.234` */
                "server-timing"?: string;
                /** @description Of the request; finds it in the server's log */
                "x-request-id"?: string;
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "session_taken",
                 *       "detail": "The session belongs to somebody else",
                 *       "request_id": "4f6d0c1be2a94c0d8a5d3f0a1b2c3d4e",
                 *       "status": 409,
                 *       "title": "The session belongs to somebody else",
                 *       "type": "urn:threadkeep:problem:session_taken"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `thread_exists`: The thread exists; `thread_taken`: The thread belongs to somebody else */
        "409.thread_exists.thread_taken": {
            headers: {
                /** @description Milliseconds until the answer began: `total;dur=1.234` */
                "server-timing"?: string;
                /** @description Of the request; finds it in the server's log */
                "x-request-id"?: string;
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "thread_exists",
                 *       "detail": "The thread exists",
                 *       "request_id": "4f6d0c1be2a94c0d8a5d3f0a1b2c3d4e",
                 *       "status": 409,
                 *       "title": "The thread exists",
                 *       "type": "urn:threadkeep:problem:thread_exists"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `lease_held`: The lease is held by another; `thread_exists`: The thread exists; `thread_taken`: The thread belongs to somebody else */
        "409.thread_exists.thread_taken.lease_held": {
            headers: {
                /** @description Milliseconds until the answer began: `total;dur=1.234` */
                "server-timing"?: string;
                /** @description Of the request; finds it in the server's log */
                "x-request-id"?: string;
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "thread_exists",
                 *       "detail": "The thread exists",
                 *       "request_id": "4f6d0c1be2a94c0d8a5d3f0a1b2c3d4e",
                 *       "status": 409,
                 *       "title": "The thread exists",
                 *       "type": "urn:threadkeep:problem:thread_exists"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `thread_restored`: The thread was restored; `lease_held`: The lease is held by another; `fence_stale`: The fence is not the current one */
        "409.thread_restored.lease_held.fence_stale": {
            headers: {
                /** @description Milliseconds until the answer began: `total;dur=1.234` */
                "server-timing"?: string;
                /** @description Of the request; finds it in the server's log */
                "x-request-id"?: string;
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "thread_restored",
                 *       "detail": "The thread was restored",
                 *       "request_id": "4f6d0c1be2a94c0d8a5d3f0a1b2c3d4e",
                 *       "status": 409,
                 *       "title": "The thread was restored",
                 *       "type": "urn:threadkeep:problem:thread_restored"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `thread_restored`: The thread was restored; `lease_held`: The lease is held by another; `fence_stale`: The fence is not the current one; `thread_taken`: The thread belongs to somebody else */
        "409.thread_restored.thread_taken.lease_held.fence_stale": {
            headers: {
                /** @description Milliseconds until the answer began: `total;dur=1.234` */
                "server-timing"?: string;
                /** @description Of the request; finds it in the server's log */
                "x-request-id"?: string;
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "thread_restored",
                 *       "detail": "The thread was restored",
                 *       "request_id": "4f6d0c1be2a94c0d8a5d3f0a1b2c3d4e",
                 *       "status": 409,
                 *       "title": "The thread was restored",
                 *       "type": "urn:threadkeep:problem:thread_restored"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `thread_restored`: The thread was restored; `lease_held`: The lease is held by another; `fence_stale`: The fence is not the current one; `thread_taken`: The thread belongs to somebody else; `resend_whole`: Send the value whole; `parts_missing`: A part of the value is not there */
        "409.thread_restored.thread_taken.lease_held.fence_stale.resend_whole.parts_missing": {
            headers: {
                /** @description Milliseconds until the answer began: `total;dur=1.234` */
                "server-timing"?: string;
                /** @description Of the request; finds it in the server's log */
                "x-request-id"?: string;
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "thread_restored",
                 *       "detail": "The thread was restored",
                 *       "request_id": "4f6d0c1be2a94c0d8a5d3f0a1b2c3d4e",
                 *       "status": 409,
                 *       "title": "The thread was restored",
                 *       "type": "urn:threadkeep:problem:thread_restored"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `thread_taken`: The thread belongs to somebody else */
        "409.thread_taken": {
            headers: {
                /** @description Milliseconds until the answer began: `total;dur=1.234` */
                "server-timing"?: string;
                /** @description Of the request; finds it in the server's log */
                "x-request-id"?: string;
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "thread_taken",
                 *       "detail": "The thread belongs to somebody else",
                 *       "request_id": "4f6d0c1be2a94c0d8a5d3f0a1b2c3d4e",
                 *       "status": 409,
                 *       "title": "The thread belongs to somebody else",
                 *       "type": "urn:threadkeep:problem:thread_taken"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `version_conflict`: The version is another one */
        "409.version_conflict": {
            headers: {
                /** @description Milliseconds until the answer began: `total;dur=1.234` */
                "server-timing"?: string;
                /** @description Of the request; finds it in the server's log */
                "x-request-id"?: string;
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "version_conflict",
                 *       "detail": "The version is another one",
                 *       "request_id": "4f6d0c1be2a94c0d8a5d3f0a1b2c3d4e",
                 *       "status": 409,
                 *       "title": "The version is another one",
                 *       "type": "urn:threadkeep:problem:version_conflict"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `version_conflict`: The version is another one; `base_mismatch`: The file has another content */
        "409.version_conflict.base_mismatch": {
            headers: {
                /** @description Milliseconds until the answer began: `total;dur=1.234` */
                "server-timing"?: string;
                /** @description Of the request; finds it in the server's log */
                "x-request-id"?: string;
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "version_conflict",
                 *       "detail": "The version is another one",
                 *       "request_id": "4f6d0c1be2a94c0d8a5d3f0a1b2c3d4e",
                 *       "status": 409,
                 *       "title": "The version is another one",
                 *       "type": "urn:threadkeep:problem:version_conflict"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `version_conflict`: The version is another one; `session_taken`: The session belongs to somebody else */
        "409.version_conflict.session_taken": {
            headers: {
                /** @description Milliseconds until the answer began: `total;dur=1.234` */
                "server-timing"?: string;
                /** @description Of the request; finds it in the server's log */
                "x-request-id"?: string;
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "version_conflict",
                 *       "detail": "The version is another one",
                 *       "request_id": "4f6d0c1be2a94c0d8a5d3f0a1b2c3d4e",
                 *       "status": 409,
                 *       "title": "The version is another one",
                 *       "type": "urn:threadkeep:problem:version_conflict"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `key_destroyed`: The tenant's key was destroyed */
        "410.key_destroyed": {
            headers: {
                /** @description Milliseconds until the answer began: `total;dur=1.234` */
                "server-timing"?: string;
                /** @description Of the request; finds it in the server's log */
                "x-request-id"?: string;
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "key_destroyed",
                 *       "detail": "The tenant's key was destroyed",
                 *       "request_id": "4f6d0c1be2a94c0d8a5d3f0a1b2c3d4e",
                 *       "status": 410,
                 *       "title": "The tenant's key was destroyed",
                 *       "type": "urn:threadkeep:problem:key_destroyed"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `too_large`: Larger than a limit; `quota_exceeded`: A quota of the tenant is used up */
        "413.quota_exceeded.too_large": {
            headers: {
                /** @description Milliseconds until the answer began: `total;dur=1.234` */
                "server-timing"?: string;
                /** @description Of the request; finds it in the server's log */
                "x-request-id"?: string;
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "quota_exceeded",
                 *       "detail": "A quota of the tenant is used up",
                 *       "request_id": "4f6d0c1be2a94c0d8a5d3f0a1b2c3d4e",
                 *       "status": 413,
                 *       "title": "A quota of the tenant is used up",
                 *       "type": "urn:threadkeep:problem:quota_exceeded"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `too_large`: Larger than a limit; `value_too_large`: The content is too large for a value; `quota_exceeded`: A quota of the tenant is used up */
        "413.quota_exceeded.too_large.value_too_large": {
            headers: {
                /** @description Milliseconds until the answer began: `total;dur=1.234` */
                "server-timing"?: string;
                /** @description Of the request; finds it in the server's log */
                "x-request-id"?: string;
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "quota_exceeded",
                 *       "detail": "A quota of the tenant is used up",
                 *       "request_id": "4f6d0c1be2a94c0d8a5d3f0a1b2c3d4e",
                 *       "status": 413,
                 *       "title": "A quota of the tenant is used up",
                 *       "type": "urn:threadkeep:problem:quota_exceeded"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `too_large`: Larger than a limit */
        "413.too_large": {
            headers: {
                /** @description Milliseconds until the answer began: `total;dur=1.234` */
                "server-timing"?: string;
                /** @description Of the request; finds it in the server's log */
                "x-request-id"?: string;
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "too_large",
                 *       "detail": "Larger than a limit",
                 *       "request_id": "4f6d0c1be2a94c0d8a5d3f0a1b2c3d4e",
                 *       "status": 413,
                 *       "title": "Larger than a limit",
                 *       "type": "urn:threadkeep:problem:too_large"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `too_large`: Larger than a limit; `quota_exceeded`: A quota of the tenant is used up */
        "413.too_large.quota_exceeded": {
            headers: {
                /** @description Milliseconds until the answer began: `total;dur=1.234` */
                "server-timing"?: string;
                /** @description Of the request; finds it in the server's log */
                "x-request-id"?: string;
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "too_large",
                 *       "detail": "Larger than a limit",
                 *       "request_id": "4f6d0c1be2a94c0d8a5d3f0a1b2c3d4e",
                 *       "status": 413,
                 *       "title": "Larger than a limit",
                 *       "type": "urn:threadkeep:problem:too_large"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `too_large`: Larger than a limit; `value_too_large`: The content is too large for a value; `quota_exceeded`: A quota of the tenant is used up */
        "413.too_large.quota_exceeded.value_too_large": {
            headers: {
                /** @description Milliseconds until the answer began: `total;dur=1.234` */
                "server-timing"?: string;
                /** @description Of the request; finds it in the server's log */
                "x-request-id"?: string;
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "too_large",
                 *       "detail": "Larger than a limit",
                 *       "request_id": "4f6d0c1be2a94c0d8a5d3f0a1b2c3d4e",
                 *       "status": 413,
                 *       "title": "Larger than a limit",
                 *       "type": "urn:threadkeep:problem:too_large"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `too_large`: Larger than a limit; `value_too_large`: The content is too large for a value */
        "413.too_large.value_too_large": {
            headers: {
                /** @description Milliseconds until the answer began: `total;dur=1.234` */
                "server-timing"?: string;
                /** @description Of the request; finds it in the server's log */
                "x-request-id"?: string;
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "too_large",
                 *       "detail": "Larger than a limit",
                 *       "request_id": "4f6d0c1be2a94c0d8a5d3f0a1b2c3d4e",
                 *       "status": 413,
                 *       "title": "Larger than a limit",
                 *       "type": "urn:threadkeep:problem:too_large"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `unsupported_media_type`: The media type is not supported */
        "415.unsupported_media_type": {
            headers: {
                /** @description Milliseconds until the answer began: `total;dur=1.234` */
                "server-timing"?: string;
                /** @description Of the request; finds it in the server's log */
                "x-request-id"?: string;
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "unsupported_media_type",
                 *       "detail": "The media type is not supported",
                 *       "request_id": "4f6d0c1be2a94c0d8a5d3f0a1b2c3d4e",
                 *       "status": 415,
                 *       "title": "The media type is not supported",
                 *       "type": "urn:threadkeep:problem:unsupported_media_type"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `invalid`: The request is not valid; `export_damaged`: The export is damaged; `export_truncated`: The export was cut off; `export_version_unsupported`: The export has a later format; `export_signature_wrong`: The export is not signed with this key */
        "422.export_damaged.export_truncated.export_version_unsupported.export_signature_wrong.invalid": {
            headers: {
                /** @description Milliseconds until the answer began: `total;dur=1.234` */
                "server-timing"?: string;
                /** @description Of the request; finds it in the server's log */
                "x-request-id"?: string;
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "export_damaged",
                 *       "detail": "The export is damaged",
                 *       "request_id": "4f6d0c1be2a94c0d8a5d3f0a1b2c3d4e",
                 *       "status": 422,
                 *       "title": "The export is damaged",
                 *       "type": "urn:threadkeep:problem:export_damaged"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `invalid`: The request is not valid */
        "422.invalid": {
            headers: {
                /** @description Milliseconds until the answer began: `total;dur=1.234` */
                "server-timing"?: string;
                /** @description Of the request; finds it in the server's log */
                "x-request-id"?: string;
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "invalid",
                 *       "detail": "The request is not valid",
                 *       "request_id": "4f6d0c1be2a94c0d8a5d3f0a1b2c3d4e",
                 *       "status": 422,
                 *       "title": "The request is not valid",
                 *       "type": "urn:threadkeep:problem:invalid"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `invalid`: The request is not valid; `invalid_glob`: Not a glob pattern */
        "422.invalid_glob.invalid": {
            headers: {
                /** @description Milliseconds until the answer began: `total;dur=1.234` */
                "server-timing"?: string;
                /** @description Of the request; finds it in the server's log */
                "x-request-id"?: string;
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "invalid_glob",
                 *       "detail": "Not a glob pattern",
                 *       "request_id": "4f6d0c1be2a94c0d8a5d3f0a1b2c3d4e",
                 *       "status": 422,
                 *       "title": "Not a glob pattern",
                 *       "type": "urn:threadkeep:problem:invalid_glob"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `invalid`: The request is not valid; `invalid_path`: Not a path of a file; `idempotency_mismatch`: The key of the request was used before */
        "422.invalid_path.invalid.idempotency_mismatch": {
            headers: {
                /** @description Milliseconds until the answer began: `total;dur=1.234` */
                "server-timing"?: string;
                /** @description Of the request; finds it in the server's log */
                "x-request-id"?: string;
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "invalid_path",
                 *       "detail": "Not a path of a file",
                 *       "request_id": "4f6d0c1be2a94c0d8a5d3f0a1b2c3d4e",
                 *       "status": 422,
                 *       "title": "Not a path of a file",
                 *       "type": "urn:threadkeep:problem:invalid_path"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `invalid`: The request is not valid; `invalid_path`: Not a path of a file; `not_a_file`: The item is not a file; `idempotency_mismatch`: The key of the request was used before */
        "422.invalid_path.not_a_file.invalid.idempotency_mismatch": {
            headers: {
                /** @description Milliseconds until the answer began: `total;dur=1.234` */
                "server-timing"?: string;
                /** @description Of the request; finds it in the server's log */
                "x-request-id"?: string;
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "invalid_path",
                 *       "detail": "Not a path of a file",
                 *       "request_id": "4f6d0c1be2a94c0d8a5d3f0a1b2c3d4e",
                 *       "status": 422,
                 *       "title": "Not a path of a file",
                 *       "type": "urn:threadkeep:problem:invalid_path"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `invalid`: The request is not valid; `idempotency_mismatch`: The key of the request was used before */
        "422.invalid.idempotency_mismatch": {
            headers: {
                /** @description Milliseconds until the answer began: `total;dur=1.234` */
                "server-timing"?: string;
                /** @description Of the request; finds it in the server's log */
                "x-request-id"?: string;
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "invalid",
                 *       "detail": "The request is not valid",
                 *       "request_id": "4f6d0c1be2a94c0d8a5d3f0a1b2c3d4e",
                 *       "status": 422,
                 *       "title": "The request is not valid",
                 *       "type": "urn:threadkeep:problem:invalid"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `invalid`: The request is not valid; `search_needs_plaintext`: Values are encrypted: this cannot be searched; `idempotency_mismatch`: The key of the request was used before */
        "422.invalid.idempotency_mismatch.search_needs_plaintext": {
            headers: {
                /** @description Milliseconds until the answer began: `total;dur=1.234` */
                "server-timing"?: string;
                /** @description Of the request; finds it in the server's log */
                "x-request-id"?: string;
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "invalid",
                 *       "detail": "The request is not valid",
                 *       "request_id": "4f6d0c1be2a94c0d8a5d3f0a1b2c3d4e",
                 *       "status": 422,
                 *       "title": "The request is not valid",
                 *       "type": "urn:threadkeep:problem:invalid"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `invalid`: The request is not valid; `search_needs_plaintext`: Values are encrypted: this cannot be searched */
        "422.invalid.search_needs_plaintext": {
            headers: {
                /** @description Milliseconds until the answer began: `total;dur=1.234` */
                "server-timing"?: string;
                /** @description Of the request; finds it in the server's log */
                "x-request-id"?: string;
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "invalid",
                 *       "detail": "The request is not valid",
                 *       "request_id": "4f6d0c1be2a94c0d8a5d3f0a1b2c3d4e",
                 *       "status": 422,
                 *       "title": "The request is not valid",
                 *       "type": "urn:threadkeep:problem:invalid"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `invalid`: The request is not valid; `invalid_path`: Not a path of a file; `not_text`: The file is not text; `not_a_file`: The item is not a file; `idempotency_mismatch`: The key of the request was used before */
        "422.not_text.not_a_file.invalid_path.idempotency_mismatch.invalid": {
            headers: {
                /** @description Milliseconds until the answer began: `total;dur=1.234` */
                "server-timing"?: string;
                /** @description Of the request; finds it in the server's log */
                "x-request-id"?: string;
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "not_text",
                 *       "detail": "The file is not text",
                 *       "request_id": "4f6d0c1be2a94c0d8a5d3f0a1b2c3d4e",
                 *       "status": 422,
                 *       "title": "The file is not text",
                 *       "type": "urn:threadkeep:problem:not_text"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `invalid`: The request is not valid; `not_text`: The file is not text; `old_string_empty`: Nothing is to be replaced; `string_not_found`: The file does not have the text; `string_not_unique`: The file has the text several times; `not_a_file`: The item is not a file; `idempotency_mismatch`: The key of the request was used before */
        "422.not_text.old_string_empty.string_not_found.string_not_unique.not_a_file.idempotency_mismatch.invalid": {
            headers: {
                /** @description Milliseconds until the answer began: `total;dur=1.234` */
                "server-timing"?: string;
                /** @description Of the request; finds it in the server's log */
                "x-request-id"?: string;
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "not_text",
                 *       "detail": "The file is not text",
                 *       "request_id": "4f6d0c1be2a94c0d8a5d3f0a1b2c3d4e",
                 *       "status": 422,
                 *       "title": "The file is not text",
                 *       "type": "urn:threadkeep:problem:not_text"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `invalid`: The request is not valid; `offset_past_end`: The file has fewer lines; `not_text`: The file is not text; `not_a_file`: The item is not a file */
        "422.offset_past_end.not_text.not_a_file.invalid": {
            headers: {
                /** @description Milliseconds until the answer began: `total;dur=1.234` */
                "server-timing"?: string;
                /** @description Of the request; finds it in the server's log */
                "x-request-id"?: string;
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "offset_past_end",
                 *       "detail": "The file has fewer lines",
                 *       "request_id": "4f6d0c1be2a94c0d8a5d3f0a1b2c3d4e",
                 *       "status": 422,
                 *       "title": "The file has fewer lines",
                 *       "type": "urn:threadkeep:problem:offset_past_end"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `invalid`: The request is not valid; `search_too_wide`: The search would open too many threads */
        "422.search_too_wide.invalid": {
            headers: {
                /** @description Milliseconds until the answer began: `total;dur=1.234` */
                "server-timing"?: string;
                /** @description Of the request; finds it in the server's log */
                "x-request-id"?: string;
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "search_too_wide",
                 *       "detail": "The search would open too many threads",
                 *       "request_id": "4f6d0c1be2a94c0d8a5d3f0a1b2c3d4e",
                 *       "status": 422,
                 *       "title": "The search would open too many threads",
                 *       "type": "urn:threadkeep:problem:search_too_wide"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `too_many_requests`: Too many requests */
        "429.too_many_requests": {
            headers: {
                /** @description Seconds */
                "retry-after"?: number;
                /** @description Milliseconds until the answer began: `total;dur=1.234` */
                "server-timing"?: string;
                /** @description Of the request; finds it in the server's log */
                "x-request-id"?: string;
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "too_many_requests",
                 *       "detail": "Too many requests",
                 *       "request_id": "4f6d0c1be2a94c0d8a5d3f0a1b2c3d4e",
                 *       "status": 429,
                 *       "title": "Too many requests",
                 *       "type": "urn:threadkeep:problem:too_many_requests"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `head_too_large`: The address or the headers are too large */
        "431.head_too_large": {
            headers: {
                /** @description Milliseconds until the answer began: `total;dur=1.234` */
                "server-timing"?: string;
                /** @description Of the request; finds it in the server's log */
                "x-request-id"?: string;
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "head_too_large",
                 *       "detail": "The address or the headers are too large",
                 *       "request_id": "4f6d0c1be2a94c0d8a5d3f0a1b2c3d4e",
                 *       "status": 431,
                 *       "title": "The address or the headers are too large",
                 *       "type": "urn:threadkeep:problem:head_too_large"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `internal`: A defect in the server */
        "500.internal": {
            headers: {
                /** @description Milliseconds until the answer began: `total;dur=1.234` */
                "server-timing"?: string;
                /** @description Of the request; finds it in the server's log */
                "x-request-id"?: string;
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "internal",
                 *       "detail": "A defect in the server",
                 *       "request_id": "4f6d0c1be2a94c0d8a5d3f0a1b2c3d4e",
                 *       "status": 500,
                 *       "title": "A defect in the server",
                 *       "type": "urn:threadkeep:problem:internal"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `unavailable`: Not available now; `deadline_exceeded`: The time budget ran out; `overloaded`: Too much at once; `commit_unknown`: It is not known whether the write happened */
        "503.commit_unknown.unavailable.deadline_exceeded.overloaded": {
            headers: {
                /** @description Seconds */
                "retry-after"?: number;
                /** @description Milliseconds until the answer began: `total;dur=1.234` */
                "server-timing"?: string;
                /** @description Of the request; finds it in the server's log */
                "x-request-id"?: string;
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "commit_unknown",
                 *       "detail": "It is not known whether the write happened",
                 *       "request_id": "4f6d0c1be2a94c0d8a5d3f0a1b2c3d4e",
                 *       "status": 503,
                 *       "title": "It is not known whether the write happened",
                 *       "type": "urn:threadkeep:problem:commit_unknown"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `unavailable`: Not available now; `deadline_exceeded`: The time budget ran out; `overloaded`: Too much at once */
        "503.overloaded.unavailable.deadline_exceeded": {
            headers: {
                /** @description Seconds */
                "retry-after"?: number;
                /** @description Milliseconds until the answer began: `total;dur=1.234` */
                "server-timing"?: string;
                /** @description Of the request; finds it in the server's log */
                "x-request-id"?: string;
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "overloaded",
                 *       "detail": "Too much at once",
                 *       "request_id": "4f6d0c1be2a94c0d8a5d3f0a1b2c3d4e",
                 *       "status": 503,
                 *       "title": "Too much at once",
                 *       "type": "urn:threadkeep:problem:overloaded"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `unavailable`: Not available now; `threads_indexing`: The states or the UUID aliases of threads are still being derived; `deadline_exceeded`: The time budget ran out; `overloaded`: Too much at once */
        "503.threads_indexing.unavailable.deadline_exceeded.overloaded": {
            headers: {
                /** @description Seconds */
                "retry-after"?: number;
                /** @description Milliseconds until the answer began: `total;dur=1.234` */
                "server-timing"?: string;
                /** @description Of the request; finds it in the server's log */
                "x-request-id"?: string;
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "threads_indexing",
                 *       "detail": "The states or the UUID aliases of threads are still being derived",
                 *       "request_id": "4f6d0c1be2a94c0d8a5d3f0a1b2c3d4e",
                 *       "status": 503,
                 *       "title": "The states or the UUID aliases of threads are still being derived",
                 *       "type": "urn:threadkeep:problem:threads_indexing"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `unavailable`: Not available now; `deadline_exceeded`: The time budget ran out; `overloaded`: Too much at once */
        "503.unavailable.deadline_exceeded.overloaded": {
            headers: {
                /** @description Seconds */
                "retry-after"?: number;
                /** @description Milliseconds until the answer began: `total;dur=1.234` */
                "server-timing"?: string;
                /** @description Of the request; finds it in the server's log */
                "x-request-id"?: string;
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "unavailable",
                 *       "detail": "Not available now",
                 *       "request_id": "4f6d0c1be2a94c0d8a5d3f0a1b2c3d4e",
                 *       "status": 503,
                 *       "title": "Not available now",
                 *       "type": "urn:threadkeep:problem:unavailable"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `unavailable`: Not available now; `deadline_exceeded`: The time budget ran out; `overloaded`: Too much at once; `commit_unknown`: It is not known whether the write happened */
        "503.unavailable.deadline_exceeded.overloaded.commit_unknown": {
            headers: {
                /** @description Seconds */
                "retry-after"?: number;
                /** @description Milliseconds until the answer began: `total;dur=1.234` */
                "server-timing"?: string;
                /** @description Of the request; finds it in the server's log */
                "x-request-id"?: string;
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "unavailable",
                 *       "detail": "Not available now",
                 *       "request_id": "4f6d0c1be2a94c0d8a5d3f0a1b2c3d4e",
                 *       "status": 503,
                 *       "title": "Not available now",
                 *       "type": "urn:threadkeep:problem:unavailable"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
    };
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    inspect_health: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description For Agentrail's Inspector */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["InspectorHealth"];
                };
            };
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    inspect_sessions: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description For Agentrail's Inspector */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["InspectedSessions"];
                };
            };
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    inspect_messages: {
        parameters: {
            query?: {
                /** @description Of Agentrail. Default `default`. */
                tenantId?: string;
            };
            header?: never;
            path: {
                session: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description For Agentrail's Inspector */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["InspectedMessages"];
                };
            };
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    inspect_orchestration: {
        parameters: {
            query?: {
                /** @description Of Agentrail. Default `default`. */
                tenantId?: string;
            };
            header?: never;
            path: {
                session: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description For Agentrail's Inspector */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["InspectedOrchestration"];
                };
            };
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    inspect_trace: {
        parameters: {
            query?: {
                /** @description Of Agentrail. Default `default`. */
                tenantId?: string;
            };
            header?: never;
            path: {
                session: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description For Agentrail's Inspector */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["InspectedTrace"];
                };
            };
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    agentrail_get_memo: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
                owner: string;
                /** @description `session` or `user` */
                scope: string;
                tenant: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description With its content */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["AgentrailMemo"];
                };
            };
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            404: components["responses"]["404.document_not_found"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    agentrail_put_memo: {
        parameters: {
            query?: never;
            header?: {
                /** @description A write that is not begun within this time after its arrival is refused */
                "Threadkeep-Budget-Ms"?: number;
            };
            path: {
                name: string;
                owner: string;
                scope: string;
                tenant: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["AgentrailContent"];
            };
        };
        responses: {
            /** @description Durable */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["Empty"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            409: components["responses"]["409.session_taken"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.quota_exceeded.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded.commit_unknown"];
        };
    };
    agentrail_append_memo: {
        parameters: {
            query?: never;
            header?: {
                /** @description A write that is not begun within this time after its arrival is refused */
                "Threadkeep-Budget-Ms"?: number;
            };
            path: {
                name: string;
                owner: string;
                scope: string;
                tenant: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["AgentrailContent"];
            };
        };
        responses: {
            /** @description Durable */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["Empty"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            409: components["responses"]["409.session_taken"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.quota_exceeded.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid.idempotency_mismatch"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded.commit_unknown"];
        };
    };
    agentrail_put_session: {
        parameters: {
            query?: never;
            header?: {
                /** @description A write that is not begun within this time after its arrival is refused */
                "Threadkeep-Budget-Ms"?: number;
            };
            path: {
                session: string;
                tenant: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["AgentrailSession"];
            };
        };
        responses: {
            /** @description It is there */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["AgentrailSessionMade"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.not_granted.forbidden_host.forbidden_origin.forbidden_forwarding"];
            406: components["responses"]["406.not_acceptable"];
            409: components["responses"]["409.session_taken"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.quota_exceeded.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded.commit_unknown"];
        };
    };
    agentrail_list_archives: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                session: string;
                tenant: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description In the order of their ids */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["AgentrailArchives"];
                };
            };
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    agentrail_load_archive: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                archive: string;
                session: string;
                tenant: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description In their order */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["AgentrailList"];
                };
            };
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            404: components["responses"]["404.session_not_found"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    agentrail_list_artifacts: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                session: string;
                tenant: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Their ids */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["AgentrailArtifacts"];
                };
            };
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    agentrail_get_artifact: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                session: string;
                tenant: string;
                tool_call: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description With its content */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["AgentrailMemo"];
                };
            };
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            404: components["responses"]["404.document_not_found"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    agentrail_put_artifact: {
        parameters: {
            query?: never;
            header?: {
                /** @description A write that is not begun within this time after its arrival is refused */
                "Threadkeep-Budget-Ms"?: number;
            };
            path: {
                session: string;
                tenant: string;
                tool_call: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["AgentrailContent"];
            };
        };
        responses: {
            /** @description Durable */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["Empty"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            409: components["responses"]["409.session_taken"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.quota_exceeded.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded.commit_unknown"];
        };
    };
    agentrail_compact_session: {
        parameters: {
            query?: never;
            header?: {
                /** @description A write that is not begun within this time after its arrival is refused */
                "Threadkeep-Budget-Ms"?: number;
            };
            path: {
                session: string;
                tenant: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["AgentrailCompaction"];
            };
        };
        responses: {
            /** @description Durable */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["AgentrailArchive"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            404: components["responses"]["404.session_not_found"];
            406: components["responses"]["406.not_acceptable"];
            409: components["responses"]["409.head_moved.session_taken"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.quota_exceeded.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid.idempotency_mismatch"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded.commit_unknown"];
        };
    };
    agentrail_load_messages: {
        parameters: {
            query?: {
                /** @description The last so many. */
                limit?: number;
            };
            header?: never;
            path: {
                session: string;
                tenant: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description In their order */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["AgentrailMessages"];
                };
            };
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            404: components["responses"]["404.session_not_found"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    agentrail_append_messages: {
        parameters: {
            query?: never;
            header?: {
                /** @description A write that is not begun within this time after its arrival is refused */
                "Threadkeep-Budget-Ms"?: number;
            };
            path: {
                session: string;
                tenant: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["AgentrailNewMessages"];
            };
        };
        responses: {
            /** @description Durable */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["AgentrailAppended"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            409: components["responses"]["409.session_taken"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.quota_exceeded.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid.idempotency_mismatch"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded.commit_unknown"];
        };
    };
    agentrail_get_history: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                agent: string;
                session: string;
                tenant: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description As it was put */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["AgentrailHistoryRead"];
                };
            };
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            404: components["responses"]["404.document_not_found"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    agentrail_put_history: {
        parameters: {
            query?: never;
            header?: {
                /** @description A write that is not begun within this time after its arrival is refused */
                "Threadkeep-Budget-Ms"?: number;
            };
            path: {
                agent: string;
                session: string;
                tenant: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["AgentrailHistory"];
            };
        };
        responses: {
            /** @description Durable */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["Empty"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            409: components["responses"]["409.session_taken"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.quota_exceeded.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded.commit_unknown"];
        };
    };
    agentrail_load_mailbox: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                agent: string;
                session: string;
                tenant: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All of it */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["AgentrailList"];
                };
            };
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    agentrail_append_mailbox: {
        parameters: {
            query?: never;
            header?: {
                /** @description A write that is not begun within this time after its arrival is refused */
                "Threadkeep-Budget-Ms"?: number;
            };
            path: {
                agent: string;
                session: string;
                tenant: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["AgentrailEvents"];
            };
        };
        responses: {
            /** @description Durable */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["Empty"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            409: components["responses"]["409.session_taken"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.quota_exceeded.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded.commit_unknown"];
        };
    };
    agentrail_get_mailbox_state: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                agent: string;
                session: string;
                tenant: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description As it was put */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["AgentrailMailboxStateRead"];
                };
            };
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            404: components["responses"]["404.document_not_found"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    agentrail_put_mailbox_state: {
        parameters: {
            query?: never;
            header?: {
                /** @description A write that is not begun within this time after its arrival is refused */
                "Threadkeep-Budget-Ms"?: number;
            };
            path: {
                agent: string;
                session: string;
                tenant: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["AgentrailMailboxState"];
            };
        };
        responses: {
            /** @description Durable */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["Empty"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            409: components["responses"]["409.session_taken"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.quota_exceeded.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded.commit_unknown"];
        };
    };
    agentrail_load_events: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                session: string;
                tenant: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All of them */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["AgentrailList"];
                };
            };
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    agentrail_append_events: {
        parameters: {
            query?: never;
            header?: {
                /** @description A write that is not begun within this time after its arrival is refused */
                "Threadkeep-Budget-Ms"?: number;
            };
            path: {
                session: string;
                tenant: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["AgentrailEvents"];
            };
        };
        responses: {
            /** @description Durable */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["Empty"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            409: components["responses"]["409.session_taken"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.quota_exceeded.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded.commit_unknown"];
        };
    };
    agentrail_get_snapshot: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                session: string;
                tenant: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The last one */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["AgentrailSnapshotRead"];
                };
            };
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            404: components["responses"]["404.document_not_found"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    agentrail_put_snapshot: {
        parameters: {
            query?: never;
            header?: {
                /** @description A write that is not begun within this time after its arrival is refused */
                "Threadkeep-Budget-Ms"?: number;
            };
            path: {
                session: string;
                tenant: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["AgentrailSnapshot"];
            };
        };
        responses: {
            /** @description Durable */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["Empty"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            409: components["responses"]["409.session_taken"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.quota_exceeded.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded.commit_unknown"];
        };
    };
    agentrail_log_skill: {
        parameters: {
            query?: never;
            header?: {
                /** @description A write that is not begun within this time after its arrival is refused */
                "Threadkeep-Budget-Ms"?: number;
            };
            path: {
                session: string;
                tenant: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["Exact"];
            };
        };
        responses: {
            /** @description Durable */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["Empty"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            409: components["responses"]["409.session_taken"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.quota_exceeded.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid.idempotency_mismatch"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded.commit_unknown"];
        };
    };
    agentrail_get_todos: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                session: string;
                tenant: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description With their content */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["AgentrailMemo"];
                };
            };
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            404: components["responses"]["404.document_not_found"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    agentrail_put_todos: {
        parameters: {
            query?: never;
            header?: {
                /** @description A write that is not begun within this time after its arrival is refused */
                "Threadkeep-Budget-Ms"?: number;
            };
            path: {
                session: string;
                tenant: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["AgentrailContent"];
            };
        };
        responses: {
            /** @description Durable */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["Empty"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            409: components["responses"]["409.session_taken"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.quota_exceeded.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded.commit_unknown"];
        };
    };
    agentrail_load_trace: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                session: string;
                tenant: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All of it */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["AgentrailList"];
                };
            };
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    agentrail_append_trace: {
        parameters: {
            query?: never;
            header?: {
                /** @description A write that is not begun within this time after its arrival is refused */
                "Threadkeep-Budget-Ms"?: number;
            };
            path: {
                session: string;
                tenant: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["AgentrailTrace"];
            };
        };
        responses: {
            /** @description Durable */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["Empty"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            409: components["responses"]["409.session_taken"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.quota_exceeded.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded.commit_unknown"];
        };
    };
    agentrail_record_turn: {
        parameters: {
            query?: never;
            header?: {
                /** @description A write that is not begun within this time after its arrival is refused */
                "Threadkeep-Budget-Ms"?: number;
            };
            path: {
                session: string;
                tenant: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["Exact"];
            };
        };
        responses: {
            /** @description Durable */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["AgentrailTurn"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            409: components["responses"]["409.session_taken"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.quota_exceeded.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid.idempotency_mismatch"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded.commit_unknown"];
        };
    };
    agentrail_list_sessions: {
        parameters: {
            query?: {
                /** @description The last so many. */
                limit?: number;
            };
            header?: never;
            path: {
                tenant: string;
                user: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Those that the caller may read */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["AgentrailUserSessions"];
                };
            };
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    list_drive: {
        parameters: {
            query?: {
                /** @description `next_cursor` of the page before */
                cursor?: string;
                /** @description 1 to 1,000 */
                limit?: number;
                /** @description The folder; absent: the root */
                path?: string;
                /** @description All files below */
                recursive?: boolean;
                /** @description Whose drive: for keys without a subject */
                subject?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["DriveListing"];
                };
            };
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    upload_to_drive: {
        parameters: {
            query?: {
                /** @description Where to; in a form the field `path` */
                path?: string;
                /** @description Whose drive: for keys without a subject */
                subject?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description A form, or with any other Content-Type the bytes themselves */
        requestBody: {
            content: {
                "multipart/form-data": components["schemas"]["UploadForm"];
            };
        };
        responses: {
            /** @description Durable */
            201: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["DriveEntry"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            404: components["responses"]["404.not_found"];
            406: components["responses"]["406.not_acceptable"];
            409: components["responses"]["409.version_conflict"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.quota_exceeded.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.commit_unknown.unavailable.deadline_exceeded.overloaded"];
        };
    };
    get_drive_url: {
        parameters: {
            query: {
                /** @description As an attachment, whatever its type */
                download?: boolean;
                /** @description The file */
                path: string;
                /** @description 1 to 86,400; an hour when absent, and no longer than what was presented */
                seconds?: number;
                /** @description `isolated`: HTML and SVG are shown, too, as they look without scripts, forms and network. Needs `--files-origin` */
                show?: string;
                /** @description Whose drive: for keys without a subject */
                subject?: string;
                /** @description Only this version of the file */
                version?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The address */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["FileAddress"];
                };
            };
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            404: components["responses"]["404.not_found"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    inspect_health_by_token: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A token that only reads */
                token: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description For Agentrail's Inspector */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["InspectorHealth"];
                };
            };
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    inspect_sessions_by_token: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A token that only reads */
                token: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description For Agentrail's Inspector */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["InspectedSessions"];
                };
            };
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    inspect_messages_by_token: {
        parameters: {
            query?: {
                /** @description Of Agentrail. Default `default`. */
                tenantId?: string;
            };
            header?: never;
            path: {
                session: string;
                /** @description A token that only reads */
                token: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description For Agentrail's Inspector */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["InspectedMessages"];
                };
            };
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    inspect_orchestration_by_token: {
        parameters: {
            query?: {
                /** @description Of Agentrail. Default `default`. */
                tenantId?: string;
            };
            header?: never;
            path: {
                session: string;
                /** @description A token that only reads */
                token: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description For Agentrail's Inspector */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["InspectedOrchestration"];
                };
            };
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    inspect_trace_by_token: {
        parameters: {
            query?: {
                /** @description Of Agentrail. Default `default`. */
                tenantId?: string;
            };
            header?: never;
            path: {
                session: string;
                /** @description A token that only reads */
                token: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description For Agentrail's Inspector */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["InspectedTrace"];
                };
            };
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    list_audit_events: {
        parameters: {
            query?: {
                /**
                 * @description Only these: `key_created`, `key_revoked`, `token_minted`, `token_revoked`, `secrets_rotated`, `policy_put`,
                 *     `policy_deleted`, `namespace_setting_put`, `namespace_setting_deleted`, `quota_set`, `role_created`, `role_dropped`,
                 *     `subject_erased`, `snapshot_restored`, `snapshot_deleted`, `thread_rewound`, `lease_broken`, `exported`, `imported`, `refused`.
                 */
                act?: string;
                cursor?: string;
                /** @description At most 1,000; default 100. */
                limit?: number;
                /** @description Not before this time. Refusals have the beginning of their minute. */
                since?: string;
                /** @description Before this time. */
                until?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["AuditEvents"];
                };
            };
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    commit_checkpoints: {
        parameters: {
            query?: never;
            header?: {
                /** @description A write that is not begun within this time after its arrival is refused */
                "Threadkeep-Budget-Ms"?: number;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["Commit"];
            };
        };
        responses: {
            /** @description Durable */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["Committed"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            409: components["responses"]["409.thread_restored.thread_taken.lease_held.fence_stale.resend_whole.parts_missing"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.quota_exceeded.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded.commit_unknown"];
        };
    };
    delete_checkpoints_of_runs: {
        parameters: {
            query?: never;
            header?: {
                /** @description A write that is not begun within this time after its arrival is refused */
                "Threadkeep-Budget-Ms"?: number;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["DeleteForRuns"];
            };
        };
        responses: {
            /** @description Deleted, or never there */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["Empty"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            409: components["responses"]["409.lease_held"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    get_checkpoint: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["GetCheckpoint"];
            };
        };
        responses: {
            /** @description The checkpoint, if there is one */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["GotCheckpoint"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    get_channel_history: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["GetHistory"];
            };
        };
        responses: {
            /** @description The histories */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["Histories"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    list_checkpoints: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["ListCheckpoints"];
            };
        };
        responses: {
            /** @description A page */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["CheckpointPage"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    get_value_part: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["GetValuePart"];
            };
        };
        responses: {
            /** @description Its bytes, at most 4 MiB */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["ValuePart"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            409: components["responses"]["409.parts_missing"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    put_value_part: {
        parameters: {
            query?: never;
            header?: {
                /** @description A write that is not begun within this time after its arrival is refused */
                "Threadkeep-Budget-Ms"?: number;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["PutValuePart"];
            };
        };
        responses: {
            /** @description It is kept */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["ValuePartName"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            409: components["responses"]["409.thread_restored.thread_taken.lease_held.fence_stale"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.quota_exceeded.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    prune_threads: {
        parameters: {
            query?: never;
            header?: {
                /** @description A write that is not begun within this time after its arrival is refused */
                "Threadkeep-Budget-Ms"?: number;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["Prune"];
            };
        };
        responses: {
            /** @description Pruned, or what would go */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["PruneReport"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            409: components["responses"]["409.lease_held"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    list_timeline: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["ListTimeline"];
            };
        };
        responses: {
            /** @description A page */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["TimelinePage"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    get_checkpoint_values: {
        parameters: {
            query: {
                /** @description Only this one; another is another `channel`. Absent: all. */
                channel?: string[];
                /** @description Absent: the newest, by byte order. */
                checkpoint_id?: string;
                /** @description Absent: the root graph. */
                checkpoint_ns?: string;
                /**
                 * @description Where the value of a channel, or the value that `pointer` names, begins to be shown, if it is a list or an object. Below zero
                 *     it counts from the end. Default 0.
                 */
                from?: number;
                /** @description Cuts longer lists, and objects with more fields, at any depth. */
                items_max?: number;
                /** @description Only this place of the values, as a JSON Pointer that begins with the channel: `/messages/3/content`. */
                pointer?: string;
                /** @description Also what is stored, as it is: base64 with the tag of its codec. Default false. */
                raw?: boolean;
                /** @description Cuts longer texts: bytes of UTF-8. */
                string_bytes_max?: number;
                thread_id: string;
            };
            header?: {
                /** @description `ETag` of what the caller holds */
                "If-None-Match"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The values, if there is such a checkpoint */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["GotValues"];
                };
            };
            /** @description The caller holds it already */
            304: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.too_large"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    export_tenant: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["Export"];
            };
        };
        responses: {
            /** @description The file */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": string;
                    "application/vnd.threadkeep.export": string;
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            404: components["responses"]["404.not_found.session_not_found.snapshot_not_found"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.overloaded.unavailable.deadline_exceeded"];
        };
    };
    append_file: {
        parameters: {
            query?: never;
            header?: {
                /** @description 1-255 visible ASCII characters: the same key with the same body is answered like the first, without a second effect, for 24 hours */
                "Idempotency-Key"?: string;
                /** @description A write that is not begun within this time after its arrival is refused */
                "Threadkeep-Budget-Ms"?: number;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["AppendFile"];
            };
        };
        responses: {
            /** @description Durable */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["FileVersion"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            404: components["responses"]["404.file_not_found"];
            406: components["responses"]["406.not_acceptable"];
            409: components["responses"]["409.version_conflict.base_mismatch"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.quota_exceeded.too_large.value_too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.not_text.not_a_file.invalid_path.idempotency_mismatch.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded.commit_unknown"];
        };
    };
    put_file_content: {
        parameters: {
            query: {
                /** @description The version that the file must have; 0: there must be none */
                if_version?: number;
                /** @description Labels of the namespace, in their order */
                ns: string[];
                /** @description The file's path: the key of its item */
                path: string;
            };
            header?: {
                /** @description 1-255 visible ASCII characters: a put that is sent again with the same key, bytes and parameters within a day is answered as the first was, and done once */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        /** @description The bytes. Content-Type is kept, but for application/octet-stream */
        requestBody: {
            content: {
                "application/octet-stream": string;
            };
        };
        responses: {
            /** @description Durable */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["StoredFile"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            404: components["responses"]["404.not_found"];
            406: components["responses"]["406.not_acceptable"];
            409: components["responses"]["409.version_conflict"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.quota_exceeded.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid.idempotency_mismatch"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.commit_unknown.unavailable.deadline_exceeded.overloaded"];
        };
    };
    copy_files: {
        parameters: {
            query?: never;
            header?: {
                /** @description 1-255 visible ASCII characters: the same key with the same body is answered like the first, without a second effect, for 24 hours */
                "Idempotency-Key"?: string;
                /** @description A write that is not begun within this time after its arrival is refused */
                "Threadkeep-Budget-Ms"?: number;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["MoveFiles"];
            };
        };
        responses: {
            /** @description Copied */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["MovedFiles"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            404: components["responses"]["404.file_not_found"];
            406: components["responses"]["406.not_acceptable"];
            409: components["responses"]["409.file_exists.version_conflict"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.too_large.quota_exceeded.value_too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid_path.invalid.idempotency_mismatch"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded.commit_unknown"];
        };
    };
    delete_files: {
        parameters: {
            query?: never;
            header?: {
                /** @description 1-255 visible ASCII characters: the same key with the same body is answered like the first, without a second effect, for 24 hours */
                "Idempotency-Key"?: string;
                /** @description A write that is not begun within this time after its arrival is refused */
                "Threadkeep-Budget-Ms"?: number;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["DeleteFiles"];
            };
        };
        responses: {
            /** @description Deleted */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["DeletedFiles"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            404: components["responses"]["404.file_not_found"];
            406: components["responses"]["406.not_acceptable"];
            409: components["responses"]["409.version_conflict"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid.idempotency_mismatch"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded.commit_unknown"];
        };
    };
    download_files: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["DownloadFiles"];
            };
        };
        responses: {
            /** @description One result per path */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["DownloadedFiles"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    edit_file: {
        parameters: {
            query?: never;
            header?: {
                /** @description 1-255 visible ASCII characters: the same key with the same body is answered like the first, without a second effect, for 24 hours */
                "Idempotency-Key"?: string;
                /** @description A write that is not begun within this time after its arrival is refused */
                "Threadkeep-Budget-Ms"?: number;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["EditFile"];
            };
        };
        responses: {
            /** @description Durable */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["EditedFile"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            404: components["responses"]["404.file_not_found"];
            406: components["responses"]["406.not_acceptable"];
            409: components["responses"]["409.version_conflict"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.quota_exceeded.too_large.value_too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.not_text.old_string_empty.string_not_found.string_not_unique.not_a_file.idempotency_mismatch.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded.commit_unknown"];
        };
    };
    glob_files: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["GlobFiles"];
            };
        };
        responses: {
            /** @description What matches */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["GlobResult"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid_glob.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    grep_files: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["GrepFiles"];
            };
        };
        responses: {
            /** @description Lines */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["GrepResult"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid_glob.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    list_files: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["ListFiles"];
            };
        };
        responses: {
            /** @description A page */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["FileList"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    move_files: {
        parameters: {
            query?: never;
            header?: {
                /** @description 1-255 visible ASCII characters: the same key with the same body is answered like the first, without a second effect, for 24 hours */
                "Idempotency-Key"?: string;
                /** @description A write that is not begun within this time after its arrival is refused */
                "Threadkeep-Budget-Ms"?: number;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["MoveFiles"];
            };
        };
        responses: {
            /** @description Moved */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["MovedFiles"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            404: components["responses"]["404.file_not_found"];
            406: components["responses"]["406.not_acceptable"];
            409: components["responses"]["409.file_exists.version_conflict"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.too_large.quota_exceeded.value_too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid_path.invalid.idempotency_mismatch"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded.commit_unknown"];
        };
    };
    read_file: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["ReadFile"];
            };
        };
        responses: {
            /** @description The window */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["FileWindow"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            404: components["responses"]["404.file_not_found"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.too_large.value_too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.offset_past_end.not_text.not_a_file.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    stat_file: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["StatFile"];
            };
        };
        responses: {
            /** @description The file or directory */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["FileStat"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            404: components["responses"]["404.file_not_found"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    upload_files: {
        parameters: {
            query?: never;
            header?: {
                /** @description A write that is not begun within this time after its arrival is refused */
                "Threadkeep-Budget-Ms"?: number;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["UploadFiles"];
            };
        };
        responses: {
            /** @description One result per file */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["UploadedFiles"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded.commit_unknown"];
        };
    };
    begin_upload: {
        parameters: {
            query?: never;
            header?: {
                /** @description A write that is not begun within this time after its arrival is refused */
                "Threadkeep-Budget-Ms"?: number;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["BeginUpload"];
            };
        };
        responses: {
            /** @description Begun */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["BegunUpload"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.quota_exceeded.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    get_upload: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Of the upload */
                upload_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The upload */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["Upload"];
                };
            };
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            404: components["responses"]["404.not_found"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    abort_upload: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Of the upload */
                upload_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Gone */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["Empty"];
                };
            };
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    complete_upload: {
        parameters: {
            query?: never;
            header?: {
                /** @description A write that is not begun within this time after its arrival is refused */
                "Threadkeep-Budget-Ms"?: number;
            };
            path: {
                /** @description Of the upload */
                upload_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["CompleteUpload"];
            };
        };
        responses: {
            /** @description Durable */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["StoredFile"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            404: components["responses"]["404.not_found"];
            406: components["responses"]["406.not_acceptable"];
            409: components["responses"]["409.version_conflict"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.quota_exceeded.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.commit_unknown.unavailable.deadline_exceeded.overloaded"];
        };
    };
    put_upload_part: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description 1 to 10,000: where it comes in the file */
                part: number;
                /** @description Of the upload */
                upload_id: string;
            };
            cookie?: never;
        };
        /** @description The bytes */
        requestBody: {
            content: {
                "application/octet-stream": string;
            };
        };
        responses: {
            /** @description Durable */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["UploadPart"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            404: components["responses"]["404.not_found"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.quota_exceeded.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    get_file_url: {
        parameters: {
            query: {
                /** @description As an attachment, whatever its type */
                download?: boolean;
                /** @description Labels of the namespace, in their order */
                ns: string[];
                /** @description The file's path: the exact key of its item */
                path: string;
                /** @description 1 to 86,400; an hour when absent, and no longer than what was presented */
                seconds?: number;
                /** @description `isolated`: HTML and SVG are shown, too, as they look without scripts, forms and network. Needs `--files-origin` */
                show?: string;
                /** @description Only this version of the file */
                version?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The address */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["FileAddress"];
                };
            };
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            404: components["responses"]["404.not_found"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    write_file: {
        parameters: {
            query?: never;
            header?: {
                /** @description 1-255 visible ASCII characters: the same key with the same body is answered like the first, without a second effect, for 24 hours */
                "Idempotency-Key"?: string;
                /** @description A write that is not begun within this time after its arrival is refused */
                "Threadkeep-Budget-Ms"?: number;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["WriteFile"];
            };
        };
        responses: {
            /** @description Durable */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["WrittenFile"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            409: components["responses"]["409.version_conflict"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.quota_exceeded.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid_path.not_a_file.invalid.idempotency_mismatch"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded.commit_unknown"];
        };
    };
    import_tenant: {
        parameters: {
            query?: {
                /** @description Check the file, say what would happen, change nothing */
                dry_run?: boolean;
                /** @description Replace what is here with other contents */
                overwrite?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description The file */
        requestBody: {
            content: {
                "application/octet-stream": string;
            };
        };
        responses: {
            /** @description All of it is here */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["Imported"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            409: components["responses"]["409.import_conflict.lease_held"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.quota_exceeded.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.export_damaged.export_truncated.export_version_unsupported.export_signature_wrong.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.overloaded.unavailable.deadline_exceeded"];
        };
    };
    get_info: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The server */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["ServerInfo"];
                };
            };
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    list_keys: {
        parameters: {
            query?: {
                cursor?: string;
                /** @description At most 1,000; default 100. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["Keys"];
                };
            };
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    create_key: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["CreateKey"];
            };
        };
        responses: {
            /** @description Made */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["CreatedKey"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    revoke_key: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["RevokeKey"];
            };
        };
        responses: {
            /** @description Revoked */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["RevokedKey"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            404: components["responses"]["404.not_found"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    get_limits: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Every declared limit */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["Limits"];
                };
            };
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    list_tenant_keys: {
        parameters: {
            query?: {
                cursor?: string;
                /** @description At most 1,000; default 100. */
                limit?: number;
                /** @description True: the keys of operators. */
                operators?: boolean;
                /** @description Whose keys; or send `operators`. */
                tenant?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["Keys"];
                };
            };
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            404: components["responses"]["404.not_found"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    create_tenant_key: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["CreateTenantKey"];
            };
        };
        responses: {
            /** @description Made */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["CreatedKey"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    revoke_tenant_key: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["RevokeTenantKey"];
            };
        };
        responses: {
            /** @description Revoked */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["RevokedKey"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            404: components["responses"]["404.not_found"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    get_tenant_quota: {
        parameters: {
            query: {
                tenant: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Usage and quota */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["Usage"];
                };
            };
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            404: components["responses"]["404.not_found"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    put_tenant_quota: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["PutTenantQuota"];
            };
        };
        responses: {
            /** @description Usage and the new quota */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["Usage"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    rotate_tenant_secrets: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["RotateTenantSecrets"];
            };
        };
        responses: {
            /** @description Replaced */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["RotatedSecrets"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            404: components["responses"]["404.not_found"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    list_tenants: {
        parameters: {
            query?: {
                cursor?: string;
                /** @description At most 100; default 20. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["Tenants"];
                };
            };
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    list_retention_policies: {
        parameters: {
            query?: {
                cursor?: string;
                /** @description At most 1,000; default 100. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["RetentionPolicies"];
                };
            };
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    delete_retention_policy: {
        parameters: {
            query?: never;
            header?: {
                /** @description A write that is not begun within this time after its arrival is refused */
                "Threadkeep-Budget-Ms"?: number;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["RetentionPolicyName"];
            };
        };
        responses: {
            /** @description Deleted, or never there */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["Empty"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    get_retention_policy: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["RetentionPolicyName"];
            };
        };
        responses: {
            /** @description The policy, if there is one */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["RetentionPolicyAnswer"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    put_retention_policy: {
        parameters: {
            query?: never;
            header?: {
                /** @description A write that is not begun within this time after its arrival is refused */
                "Threadkeep-Budget-Ms"?: number;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["PutRetentionPolicy"];
            };
        };
        responses: {
            /** @description Stored */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["RetentionPolicyAnswer"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            404: components["responses"]["404.not_found"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    list_retention_reports: {
        parameters: {
            query?: {
                cursor?: string;
                /** @description At most 1,000; default 100. */
                limit?: number;
                /** @description Only of this thread's policy. */
                thread_id?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["RetentionReports"];
                };
            };
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    run_retention: {
        parameters: {
            query?: never;
            header?: {
                /** @description A write that is not begun within this time after its arrival is refused */
                "Threadkeep-Budget-Ms"?: number;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["RetentionPolicyName"];
            };
        };
        responses: {
            /** @description Due now */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["RetentionDue"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    store_artifacts: {
        parameters: {
            query?: {
                /** @description `2026-01-31`; absent: today, UTC */
                date?: string;
                /** @description Of one file; absent: the body is an archive */
                path?: string;
                /** @description Whose drive: for keys without a subject */
                subject?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description The archive, or the file */
        requestBody: {
            content: {
                "application/octet-stream": string;
            };
        };
        responses: {
            /** @description Durable */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["StoredArtifacts"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            404: components["responses"]["404.not_found"];
            406: components["responses"]["406.not_acceptable"];
            409: components["responses"]["409.version_conflict"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.quota_exceeded.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.commit_unknown.unavailable.deadline_exceeded.overloaded"];
        };
    };
    append_entries: {
        parameters: {
            query?: never;
            header?: {
                /** @description 1-255 visible ASCII characters: the same key with the same body is answered like the first, without a second effect, for 24 hours */
                "Idempotency-Key"?: string;
                /** @description A write that is not begun within this time after its arrival is refused */
                "Threadkeep-Budget-Ms"?: number;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["AppendEntries"];
            };
        };
        responses: {
            /** @description Durable */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["Appended"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            409: components["responses"]["409.head_moved.version_conflict.session_taken"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.quota_exceeded.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid.idempotency_mismatch"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded.commit_unknown"];
        };
    };
    compact_stream: {
        parameters: {
            query?: never;
            header?: {
                /** @description 1-255 visible ASCII characters: the same key with the same body is answered like the first, without a second effect, for 24 hours */
                "Idempotency-Key"?: string;
                /** @description A write that is not begun within this time after its arrival is refused */
                "Threadkeep-Budget-Ms"?: number;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["CompactStream"];
            };
        };
        responses: {
            /** @description Durable */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["Compacted"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            404: components["responses"]["404.session_not_found"];
            406: components["responses"]["406.not_acceptable"];
            409: components["responses"]["409.head_moved.session_taken"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.quota_exceeded.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid.idempotency_mismatch"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded.commit_unknown"];
        };
    };
    add_to_counter: {
        parameters: {
            query?: never;
            header?: {
                /** @description 1-255 visible ASCII characters: the same key with the same body is answered like the first, without a second effect, for 24 hours */
                "Idempotency-Key"?: string;
                /** @description A write that is not begun within this time after its arrival is refused */
                "Threadkeep-Budget-Ms"?: number;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["AddToCounter"];
            };
        };
        responses: {
            /** @description Durable */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["Counted"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            409: components["responses"]["409.session_taken"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.quota_exceeded.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid.idempotency_mismatch"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded.commit_unknown"];
        };
    };
    create_session: {
        parameters: {
            query?: never;
            header?: {
                /** @description A write that is not begun within this time after its arrival is refused */
                "Threadkeep-Budget-Ms"?: number;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["CreateSession"];
            };
        };
        responses: {
            /** @description It is there */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["CreatedSession"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            409: components["responses"]["409.session_taken"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.quota_exceeded.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded.commit_unknown"];
        };
    };
    delete_session: {
        parameters: {
            query?: never;
            header?: {
                /** @description A write that is not begun within this time after its arrival is refused */
                "Threadkeep-Budget-Ms"?: number;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["DeleteSession"];
            };
        };
        responses: {
            /** @description Deleted, or never there */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["Empty"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded.commit_unknown"];
        };
    };
    append_document: {
        parameters: {
            query?: never;
            header?: {
                /** @description 1-255 visible ASCII characters: the same key with the same body is answered like the first, without a second effect, for 24 hours */
                "Idempotency-Key"?: string;
                /** @description A write that is not begun within this time after its arrival is refused */
                "Threadkeep-Budget-Ms"?: number;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["AppendDocument"];
            };
        };
        responses: {
            /** @description Durable */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["StoredDocument"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            409: components["responses"]["409.session_taken"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.quota_exceeded.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid.idempotency_mismatch"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded.commit_unknown"];
        };
    };
    delete_document: {
        parameters: {
            query?: never;
            header?: {
                /** @description A write that is not begun within this time after its arrival is refused */
                "Threadkeep-Budget-Ms"?: number;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["OneDocument"];
            };
        };
        responses: {
            /** @description Deleted, or never there */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["Empty"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded.commit_unknown"];
        };
    };
    find_documents: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["FindDocuments"];
            };
        };
        responses: {
            /** @description All of them */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["FoundDocuments"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    get_document: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["OneDocument"];
            };
        };
        responses: {
            /** @description With its content */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["Document"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            404: components["responses"]["404.document_not_found"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    list_documents: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["ListDocuments"];
            };
        };
        responses: {
            /** @description All of them */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["Documents"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    put_document: {
        parameters: {
            query?: never;
            header?: {
                /** @description 1-255 visible ASCII characters: the same key with the same body is answered like the first, without a second effect, for 24 hours */
                "Idempotency-Key"?: string;
                /** @description A write that is not begun within this time after its arrival is refused */
                "Threadkeep-Budget-Ms"?: number;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["PutDocument"];
            };
        };
        responses: {
            /** @description Durable */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["StoredDocument"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            409: components["responses"]["409.version_conflict.session_taken"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.quota_exceeded.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid.idempotency_mismatch"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded.commit_unknown"];
        };
    };
    list_session_kinds: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["ListSessionKinds"];
            };
        };
        responses: {
            /** @description A page */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["SessionKinds"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    list_sessions: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["ListSessions"];
            };
        };
        responses: {
            /** @description A page */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["SessionsPage"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    load_entries: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["LoadEntries"];
            };
        };
        responses: {
            /** @description Entries */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["Entries"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            404: components["responses"]["404.session_not_found"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    list_streams: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["OneSession"];
            };
        };
        responses: {
            /** @description All of them */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["Streams"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    stage_archive: {
        parameters: {
            query: {
                /** @description `inside` (default) or `any` */
                links?: string;
                /** @description Of the tar without packing, 64 hex digits: refused where it is another */
                sha256?: string;
                /** @description What the caller calls the workspace: 1 to 256 bytes */
                workspace: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description The archive */
        requestBody: {
            content: {
                "application/octet-stream": string;
            };
        };
        responses: {
            /** @description Whole, and durable */
            201: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["StagedArchive"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.quota_exceeded.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    delete_snapshot: {
        parameters: {
            query?: never;
            header?: {
                /** @description A write that is not begun within this time after its arrival is refused */
                "Threadkeep-Budget-Ms"?: number;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["SnapshotName"];
            };
        };
        responses: {
            /** @description Deleted, or never there */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["Empty"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    get_snapshot: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["SnapshotName"];
            };
        };
        responses: {
            /** @description The snapshot */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["Snapshot"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            404: components["responses"]["404.snapshot_not_found"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    list_snapshots: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["ListSnapshots"];
            };
        };
        responses: {
            /** @description A page */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["SnapshotsPage"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    restore_snapshot: {
        parameters: {
            query?: never;
            header?: {
                /** @description 1-255 visible ASCII characters: the same key with the same body is answered like the first, without a second effect, for 24 hours */
                "Idempotency-Key"?: string;
                /** @description A write that is not begun within this time after its arrival is refused */
                "Threadkeep-Budget-Ms"?: number;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["RestoreSnapshot"];
            };
        };
        responses: {
            /** @description Restored */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["RestoredSnapshot"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            404: components["responses"]["404.snapshot_not_found"];
            406: components["responses"]["406.not_acceptable"];
            409: components["responses"]["409.lease_held.fence_stale.thread_exists.namespace_exists.session_exists.thread_taken.session_taken"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.quota_exceeded.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid.idempotency_mismatch"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    take_snapshot: {
        parameters: {
            query?: never;
            header?: {
                /** @description A write that is not begun within this time after its arrival is refused */
                "Threadkeep-Budget-Ms"?: number;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["TakeSnapshot"];
            };
        };
        responses: {
            /** @description It was taken before */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["Snapshot"];
                };
            };
            /** @description Taken */
            201: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["Snapshot"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            404: components["responses"]["404.thread_not_found.session_not_found.archive_not_found"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.too_large.quota_exceeded"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid.idempotency_mismatch"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    get_state: {
        parameters: {
            query: {
                /** @description Absent: the newest, by byte order. */
                checkpoint_id?: string;
                /** @description Absent: the root graph. */
                checkpoint_ns?: string;
                /**
                 * @description Where the value of a channel, or the value that `pointer` names, begins to be shown, if it is a list or an object. Below zero
                 *     it counts from the end. Default 0.
                 */
                from?: number;
                /** @description Cuts longer lists, and objects with more fields, at any depth. */
                items_max?: number;
                /** @description Only this place of the values, as a JSON Pointer that begins with the channel: `/messages/3/content`. */
                pointer?: string;
                /** @description Also what is stored, as it is: base64 with the tag of its codec. Default false. */
                raw?: boolean;
                /** @description Cuts longer texts: bytes of UTF-8. */
                string_bytes_max?: number;
                thread_id: string;
            };
            header?: {
                /** @description `ETag` of what the caller holds */
                "If-None-Match"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The state, if there is one */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["GotState"];
                };
            };
            /** @description The caller holds it already */
            304: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.too_large"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    run_store_batch: {
        parameters: {
            query?: never;
            header?: {
                /** @description 1-255 visible ASCII characters: the same key with the same body is answered like the first, without a second effect, for 24 hours */
                "Idempotency-Key"?: string;
                /** @description A write that is not begun within this time after its arrival is refused */
                "Threadkeep-Budget-Ms"?: number;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["StoreBatch"];
            };
        };
        responses: {
            /** @description One result per operation, in their order */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["StoreResults"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            409: components["responses"]["409.version_conflict"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.quota_exceeded.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid.idempotency_mismatch.search_needs_plaintext"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded.commit_unknown"];
        };
    };
    count_items: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["CountItems"];
            };
        };
        responses: {
            /** @description How many there are */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["ItemCount"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid.search_needs_plaintext"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    delete_item: {
        parameters: {
            query?: never;
            header?: {
                /** @description 1-255 visible ASCII characters: the same key with the same body is answered like the first, without a second effect, for 24 hours */
                "Idempotency-Key"?: string;
                /** @description A write that is not begun within this time after its arrival is refused */
                "Threadkeep-Budget-Ms"?: number;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["DeleteItem"];
            };
        };
        responses: {
            /** @description Deleted, or never there */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["Empty"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            409: components["responses"]["409.version_conflict"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid.idempotency_mismatch"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded.commit_unknown"];
        };
    };
    get_item: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["GetItem"];
            };
        };
        responses: {
            /** @description The item, if there is one */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["GotItem"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.too_large.value_too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    list_item_versions: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["ListItemVersions"];
            };
        };
        responses: {
            /** @description A page; empty where there is no such item, or it is not the caller's */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["ItemVersions"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    get_item_version: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["GetItemVersion"];
            };
        };
        responses: {
            /** @description The version, if it is there */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["GotItemVersion"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    restore_item_version: {
        parameters: {
            query?: never;
            header?: {
                /** @description 1-255 visible ASCII characters: the same key with the same body is answered like the first, without a second effect, for 24 hours */
                "Idempotency-Key"?: string;
                /** @description A write that is not begun within this time after its arrival is refused */
                "Threadkeep-Budget-Ms"?: number;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["RestoreItemVersion"];
            };
        };
        responses: {
            /** @description Durable */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["ItemVersion"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            404: components["responses"]["404.not_found"];
            406: components["responses"]["406.not_acceptable"];
            409: components["responses"]["409.version_conflict"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.quota_exceeded.too_large.value_too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid.idempotency_mismatch"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    list_namespaces: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["ListNamespaces"];
            };
        };
        responses: {
            /** @description Namespaces */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["Namespaces"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    list_largest_namespaces: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["ListLargestNamespaces"];
            };
        };
        responses: {
            /** @description The largest namespaces */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["LargestNamespaces"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    put_item: {
        parameters: {
            query?: never;
            header?: {
                /** @description 1-255 visible ASCII characters: the same key with the same body is answered like the first, without a second effect, for 24 hours */
                "Idempotency-Key"?: string;
                /** @description A write that is not begun within this time after its arrival is refused */
                "Threadkeep-Budget-Ms"?: number;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["PutItem"];
            };
        };
        responses: {
            /** @description Durable */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["ItemVersion"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            409: components["responses"]["409.version_conflict"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.quota_exceeded.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid.idempotency_mismatch.search_needs_plaintext"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded.commit_unknown"];
        };
    };
    search_items: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["SearchItems"];
            };
        };
        responses: {
            /** @description A page */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["ItemPage"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid.search_needs_plaintext"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    delete_namespace_setting: {
        parameters: {
            query?: never;
            header?: {
                /** @description A write that is not begun within this time after its arrival is refused */
                "Threadkeep-Budget-Ms"?: number;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["NamespaceSettingName"];
            };
        };
        responses: {
            /** @description Deleted, or never there */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["Empty"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    get_namespace_setting: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["NamespaceSettingName"];
            };
        };
        responses: {
            /** @description An absent `setting` means that there is none, or that the namespace is not the caller's */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["GotNamespaceSetting"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    list_namespace_settings: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["ListNamespaceSettings"];
            };
        };
        responses: {
            /** @description Settings */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["NamespaceSettings"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    put_namespace_setting: {
        parameters: {
            query?: never;
            header?: {
                /** @description A write that is not begun within this time after its arrival is refused */
                "Threadkeep-Budget-Ms"?: number;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["PutNamespaceSetting"];
            };
        };
        responses: {
            /** @description Durable */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["NamespaceSettingPut"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    list_subjects: {
        parameters: {
            query?: {
                cursor?: string;
                /** @description At most 100, which is the default. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["Subjects"];
                };
            };
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    delete_subject: {
        parameters: {
            query: {
                /** @description As in the keys and tokens that made its threads. */
                subject: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Erased */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["ErasureReceipt"];
                };
            };
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    list_threads: {
        parameters: {
            query?: {
                assistant_id?: string;
                cursor?: string;
                /** @description As in the metadata of the thread's checkpoints, like the next two. */
                graph_id?: string;
                /** @description 0-1,000. */
                limit?: number;
                /** @description Default: `desc`, for `thread_id` `asc`. */
                order?: "asc" | "desc";
                /** @description Ids that begin with it. */
                prefix?: string;
                sort?: "created" | "updated" | "state_updated" | "status" | "size" | "thread_id";
                user_id?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["ThreadPage"];
                };
            };
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.threads_indexing.unavailable.deadline_exceeded.overloaded"];
        };
    };
    copy_thread: {
        parameters: {
            query?: never;
            header?: {
                /** @description 1-255 visible ASCII characters: the same key with the same body is answered like the first, without a second effect, for 24 hours */
                "Idempotency-Key"?: string;
                /** @description A write that is not begun within this time after its arrival is refused */
                "Threadkeep-Budget-Ms"?: number;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["CopyThread"];
            };
        };
        responses: {
            /** @description Copied */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["Copied"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            409: components["responses"]["409.thread_exists.thread_taken.lease_held"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.quota_exceeded.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid.idempotency_mismatch"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    count_threads: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["CountThreads"];
            };
        };
        responses: {
            /** @description How many */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["ThreadCount"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.search_too_wide.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.threads_indexing.unavailable.deadline_exceeded.overloaded"];
        };
    };
    create_thread: {
        parameters: {
            query?: never;
            header?: {
                /** @description 1-255 visible ASCII characters: the same key with the same body is answered like the first, without a second effect, for 24 hours */
                "Idempotency-Key"?: string;
                /** @description A write that is not begun within this time after its arrival is refused */
                "Threadkeep-Budget-Ms"?: number;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["CreateThread"];
            };
        };
        responses: {
            /** @description The thread, and whether it was made now */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["CreatedThread"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            409: components["responses"]["409.thread_taken"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.quota_exceeded.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid.idempotency_mismatch"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    delete_thread: {
        parameters: {
            query?: never;
            header?: {
                /** @description A write that is not begun within this time after its arrival is refused */
                "Threadkeep-Budget-Ms"?: number;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["DeleteThread"];
            };
        };
        responses: {
            /** @description Deleted, or never there */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["Empty"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            409: components["responses"]["409.thread_restored.lease_held.fence_stale"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    fork_thread: {
        parameters: {
            query?: never;
            header?: {
                /** @description 1-255 visible ASCII characters: the same key with the same body is answered like the first, without a second effect, for 24 hours */
                "Idempotency-Key"?: string;
                /** @description A write that is not begun within this time after its arrival is refused */
                "Threadkeep-Budget-Ms"?: number;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["ForkThread"];
            };
        };
        responses: {
            /** @description Forked */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["ForkedThread"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            404: components["responses"]["404.thread_not_found.not_found"];
            406: components["responses"]["406.not_acceptable"];
            409: components["responses"]["409.thread_exists.thread_taken"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.quota_exceeded.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid.idempotency_mismatch"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    get_thread: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["GetThread"];
            };
        };
        responses: {
            /** @description The thread, if there is one */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["GotThread"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    acquire_lease: {
        parameters: {
            query?: never;
            header?: {
                /** @description A write that is not begun within this time after its arrival is refused */
                "Threadkeep-Budget-Ms"?: number;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["AcquireLease"];
            };
        };
        responses: {
            /** @description Held */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["Lease"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            409: components["responses"]["409.lease_held.thread_taken"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.quota_exceeded.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    break_lease: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["BreakLease"];
            };
        };
        responses: {
            /** @description Free */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["Empty"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    release_lease: {
        parameters: {
            query?: never;
            header?: {
                /** @description A write that is not begun within this time after its arrival is refused */
                "Threadkeep-Budget-Ms"?: number;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["ReleaseLease"];
            };
        };
        responses: {
            /** @description Free */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["Empty"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            409: components["responses"]["409.thread_taken"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    renew_lease: {
        parameters: {
            query?: never;
            header?: {
                /** @description A write that is not begun within this time after its arrival is refused */
                "Threadkeep-Budget-Ms"?: number;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["RenewLease"];
            };
        };
        responses: {
            /** @description Held for longer */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["Lease"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            409: components["responses"]["409.fence_stale.lease_held.thread_taken"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    rewind_thread: {
        parameters: {
            query?: never;
            header?: {
                /** @description 1-255 visible ASCII characters: the same key with the same body is answered like the first, without a second effect, for 24 hours */
                "Idempotency-Key"?: string;
                /** @description A write that is not begun within this time after its arrival is refused */
                "Threadkeep-Budget-Ms"?: number;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["RewindThread"];
            };
        };
        responses: {
            /** @description Rewound, or what would go */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["RewoundThread"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            404: components["responses"]["404.thread_not_found.not_found"];
            406: components["responses"]["406.not_acceptable"];
            409: components["responses"]["409.lease_held.fence_stale"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.quota_exceeded.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid.idempotency_mismatch"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    search_threads: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["SearchThreads"];
            };
        };
        responses: {
            /** @description A page */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["ThreadPage"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.search_too_wide.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.threads_indexing.unavailable.deadline_exceeded.overloaded"];
        };
    };
    get_thread_storage: {
        parameters: {
            query: {
                thread_id: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Sizes, if there is such a thread */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["GotStorage"];
                };
            };
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    update_thread: {
        parameters: {
            query?: never;
            header?: {
                /** @description 1-255 visible ASCII characters: the same key with the same body is answered like the first, without a second effect, for 24 hours */
                "Idempotency-Key"?: string;
                /** @description A write that is not begun within this time after its arrival is refused */
                "Threadkeep-Budget-Ms"?: number;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["UpdateThread"];
            };
        };
        responses: {
            /** @description The thread as it is now */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["UpdatedThread"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            404: components["responses"]["404.thread_not_found"];
            406: components["responses"]["406.not_acceptable"];
            409: components["responses"]["409.version_conflict"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid.idempotency_mismatch"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    list_tokens: {
        parameters: {
            query?: {
                cursor?: string;
                /** @description At most 1,000; default 100. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["Tokens"];
                };
            };
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    mint_token: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["MintToken"];
            };
        };
        responses: {
            /** @description Made */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["MintedToken"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    narrow_token: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["NarrowToken"];
            };
        };
        responses: {
            /** @description Made */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["MintedToken"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    revoke_token: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/msgpack": components["schemas"]["RevokeToken"];
            };
        };
        responses: {
            /** @description Revoked */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["RevokedToken"];
                };
            };
            400: components["responses"]["400.malformed_body"];
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            404: components["responses"]["404.not_found"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            413: components["responses"]["413.too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.invalid"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    get_usage: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Usage and quota */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["Usage"];
                };
            };
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
    whoami: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Whom the key or token speaks for */
            200: {
                headers: {
                    /** @description Milliseconds until the answer began: `total;dur=1.234` */
                    "server-timing"?: string;
                    /** @description Of the request; finds it in the server's log */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/msgpack": components["schemas"]["Caller"];
                };
            };
            401: components["responses"]["401.unauthorized.key_expired.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden_host.forbidden_origin.forbidden_forwarding.not_granted"];
            406: components["responses"]["406.not_acceptable"];
            410: components["responses"]["410.key_destroyed"];
            429: components["responses"]["429.too_many_requests"];
            431: components["responses"]["431.head_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.deadline_exceeded.overloaded"];
        };
    };
}
