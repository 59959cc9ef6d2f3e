/** Retention: what the server deletes by itself, the reports of its rounds, and the forms that change the rule. */

import { type FormEvent, useState } from "react";
import type { RetentionPolicy } from "threadkeep";
import { methodText, pythonMethodText, samplesOf } from "../../api/snippets.js";
import { navigate } from "../../app/location.js";
import type { RetentionRoute } from "../../app/route.js";
import { ActionBar, useMissing } from "../../parts/action.js";
import { TextField } from "../../parts/action_form.js";
import { Allowed } from "../../parts/allowed.js";
import { ShowAsCode } from "../../parts/code.js";
import { Fact } from "../../parts/facts.js";
import { Link } from "../../parts/link.js";
import { Marked } from "../../parts/marked.js";
import { Empty, Failure, Loading } from "../../parts/states.js";
import { Time } from "../../parts/units.js";
import { useThread } from "./queries.js";
import { needsOfRule, type RuleOwner, ruleIn, useRule } from "./retention_queries.js";
import { RetentionReports } from "./retention_reports.js";
import { sentencesOf } from "./retention_rule.js";
import { ChangeRule, DeleteRule, RunRule } from "./rule_dialogs.js";
import { ThreadRules } from "./thread_rules.js";

export default function RetentionPage({ route: { thread } }: { route: RetentionRoute }) {
  return (
    <>
      <header className="page-head">
        <h1>Retention</h1>
        <ShowAsCode samples={samples(thread)} />
      </header>
      {thread === undefined ? (
        <RuleOf owner={{ threadId: undefined, thing: { tenant: true } }} />
      ) : (
        <RuleOfThread threadId={thread} />
      )}
      <OpenThread key={thread ?? ""} />
    </>
  );
}

function samples(threadId: string | undefined) {
  const path = "/v1/retention/policies/get";
  return samplesOf(
    { method: "POST", path, body: threadId === undefined ? {} : { thread_id: threadId } },
    {
      typescript: methodText("getRetentionPolicy", threadId),
      python: pythonMethodText(
        "get_retention_policy",
        threadId === undefined ? [] : [threadId],
        {},
      ),
    },
  );
}

/** A rule may be set for a thread that is not there yet. */
function RuleOfThread({ threadId }: { threadId: string }) {
  const { data, error, refetch } = useThread(threadId);
  return (
    <>
      <p>
        The own rule of the thread{" "}
        <Link to={{ page: "thread", threadId, tab: "conversation" }}>
          <Marked text={threadId} />
        </Link>
        {data === null ? ", which is not there now" : ""}.{" "}
        <Link to={{ page: "retention" }}>The rule of the tenant</Link>
      </p>
      {error && data === undefined ? (
        <Failure error={error} retry={() => void refetch()} />
      ) : data === undefined ? (
        <Loading />
      ) : (
        <RuleOf
          key={threadId}
          owner={{ threadId, thing: { thread: threadId, owner: data?.owner } }}
        />
      )}
    </>
  );
}

function RuleOf({ owner }: { owner: RuleOwner }) {
  const { threadId, thing } = owner;
  return (
    <Allowed needs={[{ operation: "get_retention_policy", thing }]}>
      <RuleView owner={owner} />
      <h2>Reports</h2>
      <RetentionReports threadId={threadId} />
    </Allowed>
  );
}

function RuleView({ owner }: { owner: RuleOwner }) {
  const { threadId, thing } = owner;
  const { data: policy, error, refetch } = useRule(threadId);
  if (error && policy === undefined) {
    return <Failure error={error} retry={() => void refetch()} />;
  }
  if (policy === undefined) return <Loading />;
  const changes = needsOfRule(owner);
  const change = {
    label: "Set the rule",
    needs: changes,
    dialog: (close: () => void) => <ChangeRule owner={owner} before={policy} close={close} />,
  };
  return (
    <>
      {error ? <Failure error={error} retry={() => void refetch()} /> : null}
      {policy === null ? <NoRule threadId={threadId} /> : <Sentences policy={policy} />}
      <ActionBar
        label="Actions of the rule"
        actions={
          policy === null
            ? [change]
            : [
                change,
                {
                  label: "Run now",
                  needs: changes,
                  dialog: (close) => <RunRule owner={owner} before={policy} close={close} />,
                },
                {
                  label: "Delete the rule",
                  needs: [{ operation: "delete_retention_policy", thing }],
                  dialog: (close) => <DeleteRule owner={owner} before={policy} close={close} />,
                },
              ]
        }
      />
    </>
  );
}

function NoRule({ threadId }: { threadId: string | undefined }) {
  if (threadId !== undefined) {
    return (
      <Empty title="The thread has no rule of its own">The rule of the tenant counts for it.</Empty>
    );
  }
  return (
    <Empty title="The tenant has no rule">
      Nothing is deleted by itself, except in threads with a rule or a time to live of their own.
    </Empty>
  );
}

function Sentences({ policy }: { policy: RetentionPolicy }) {
  const { threadId, dryRun, createdAt, updatedAt, dueAt } = policy;
  return (
    <>
      <div className="rule">
        {sentencesOf(ruleIn(policy)).map((one) => (
          <p key={one}>{one}</p>
        ))}
        <p>
          {threadId === undefined
            ? "It counts for all threads that have no rule of their own."
            : "It replaces the rule of the tenant for this thread."}
        </p>
        {dryRun ? (
          <p className="callout">It is a dry run: it reports what would go, and deletes nothing.</p>
        ) : null}
      </div>
      <dl className="facts">
        <Fact title="Set">
          <Time at={createdAt} />
        </Fact>
        <Fact title="Changed">
          <Time at={updatedAt} />
        </Fact>
        <Fact title="Next round due">
          <Time at={dueAt} />
        </Fact>
      </dl>
    </>
  );
}

function OpenThread() {
  const mayList = useMissing([{ operation: "list_retention_policies" }]) === undefined;
  const [threadId, setThreadId] = useState("");
  const open = (event: FormEvent) => {
    event.preventDefault();
    if (threadId !== "") navigate({ page: "retention", thread: threadId });
  };
  return (
    <section>
      <h2>Threads with rules of their own</h2>
      {mayList ? <ThreadRules /> : null}
      <form className="action-form" onSubmit={open}>
        <TextField label="Thread id" value={threadId} onChange={setThreadId} />
        <div className="toolbar">
          <button type="submit" className="button" disabled={threadId === ""}>
            Open the rule
          </button>
        </div>
      </form>
    </section>
  );
}
