/** Sets, runs and deletes a retention rule. A rule deletes only after a dry run has shown what would go. */

import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useId, useState } from "react";
import type { RetentionPolicy, RetentionReport } from "threadkeep";
import { useApi } from "../../api/context.js";
import { counted } from "../../content/json_tree.js";
import { ActionForm, CheckField, TextField } from "../../parts/action_form.js";
import { Failure, Loading } from "../../parts/states.js";
import { showToast } from "../../parts/toasts.js";
import { Size } from "../../parts/units.js";
import {
  beginDryRun,
  letDelete,
  needsOfRule,
  putBack,
  type RuleOwner,
  reportOf,
} from "./retention_queries.js";
import {
  type Age,
  draftOf,
  hasLimit,
  type Rule,
  type RuleDraft,
  ruleOf,
  sentencesOf,
  UNITS,
} from "./retention_rule.js";

const ASKED_MS = 1_000;

interface Given {
  owner: RuleOwner;
  before: RetentionPolicy | null;
  close: () => void;
}

/** The form of a rule, then what its dry run counted. */
export function ChangeRule({ owner, before: policy, close }: Given) {
  // What is stored changes by the dry run.
  const [before] = useState(policy);
  const [draft, setDraft] = useState(() => draftOf(before ?? undefined));
  const rule = ruleOf(draft);
  const isComplete = !("wrong" in rule) && (owner.threadId !== undefined || hasLimit(rule));
  return (
    <CountForm
      title="Set the rule"
      {...{ owner, before, close }}
      rule={isComplete ? rule : undefined}
    >
      <RuleFields draft={draft} onChange={setDraft} />
      <div role="status">
        {"wrong" in rule ? (
          <p className="note">“{rule.wrong}” is no whole number above 0.</p>
        ) : (
          sentencesOf(rule).map((one) => <p key={one}>{one}</p>)
        )}
        {isComplete || "wrong" in rule ? null : (
          <p className="note">A rule of the tenant needs a limit.</p>
        )}
      </div>
      <PauseNote before={before} />
    </CountForm>
  );
}

/** Counts what the stored rule would delete, then lets it. */
export function RunRule({ owner, before: policy, close }: Given & { before: RetentionPolicy }) {
  const [before] = useState(policy);
  return (
    <CountForm title="Run now" {...{ owner, before, close }} rule={before}>
      {sentencesOf(before).map((one) => (
        <p key={one}>{one}</p>
      ))}
      <PauseNote before={before} />
      {owner.threadId === undefined ? (
        <p className="note">The own rules of threads become due, too.</p>
      ) : null}
    </CountForm>
  );
}

interface CountFormGiven extends Given {
  title: string;
  /** Absent: the form is not complete. */
  rule: Rule | undefined;
  children: ReactNode;
}

/** Has the server count what a rule would delete, then shows the counts. */
function CountForm({ title, owner, before, close, rule, children }: CountFormGiven) {
  const { client } = useApi();
  const [put, setPut] = useState<RetentionPolicy>();
  if (put) return <Counted {...{ owner, before, put, close }} />;
  return (
    <ActionForm
      title={title}
      submit="Count what would go"
      needs={needsOfRule(owner)}
      isReady={rule !== undefined}
      run={async () => {
        if (rule === undefined) throw new Error("the form is not complete");
        return await beginDryRun(client, owner.threadId, rule);
      }}
      onDone={setPut}
      close={close}
    >
      {children}
    </ActionForm>
  );
}

function PauseNote({ before }: { before: RetentionPolicy | null }) {
  const isOn = before !== null && !before.dryRun;
  return (
    <p className="note">
      The count is a dry run of the server: the rule is stored, and deletes nothing until you say so
      in the next step.{isOn ? " The rule that is on now stops with it." : ""}
    </p>
  );
}

interface CountedGiven extends Given {
  /** The rule as a dry run. */
  put: RetentionPolicy;
}

function Counted({ owner, before, put, close }: CountedGiven) {
  const { client } = useApi();
  const { threadId } = owner;
  const { data, error, refetch } = useQuery({
    queryKey: ["dry run of a rule", threadId ?? null, put.updatedAt.toISOString()],
    queryFn: ({ signal }) => reportOf(client, put, signal),
    refetchInterval: ({ state }) => (state.data ? false : ASKED_MS),
    gcTime: 0,
  });
  const leave = () => {
    close();
    showToast({
      text: "The rule is a dry run: it deletes nothing.",
      undo: async () => {
        await putBack(client, threadId, before);
        return before === null ? "There is no rule again." : "The rule is as it was.";
      },
    });
  };
  return (
    <ActionForm
      title="What would go"
      submit="Let it delete"
      needs={needsOfRule(owner)}
      isReady={Boolean(data)}
      isDangerous
      run={async () => {
        if (!(await letDelete(client, put))) throw new ChangedRule();
      }}
      onDone={() => {
        close();
        showToast({ text: "The rule is on. Its report follows." });
      }}
      onError={(failed) =>
        failed instanceof ChangedRule ? (
          <p className="failure" role="alert">
            Somebody else has changed the rule meanwhile. Nothing was done: close this and look
            again.
          </p>
        ) : (
          <Failure error={failed} />
        )
      }
      close={leave}
    >
      {error ? <Failure error={error} retry={() => void refetch()} /> : null}
      {data ? <WouldGo report={data} /> : error ? null : <Loading what="The server counts" />}
      <p className="note">
        What a rule deletes cannot be brought back. If you cancel, the rule stays a dry run, which
        reports and deletes nothing.
      </p>
    </ActionForm>
  );
}

class ChangedRule extends Error {}

function WouldGo({ report }: { report: RetentionReport }) {
  const { removed, threadsExpired, threadsPruned, threadsSkipped, errors, lastError } = report;
  return (
    <div className="callout" role="status">
      <p>
        It would delete {counted(threadsExpired, "whole thread", "whole threads")}, and checkpoints
        of {counted(threadsPruned, "other thread", "other threads")}: together{" "}
        {counted(removed.checkpoints, "checkpoint", "checkpoints")},{" "}
        {counted(removed.writes, "write", "writes")} and <Size bytes={removed.sizeBytes} />.
      </p>
      {threadsSkipped > 0 ? (
        <p>
          {counted(threadsSkipped, "thread has a lease", "threads have a lease")} and would wait.
        </p>
      ) : null}
      {errors > 0 ? (
        <p>
          {counted(errors, "thread", "threads")} could not be counted: <code>{lastError}</code>
        </p>
      ) : null}
    </div>
  );
}

export function DeleteRule({ owner, before: policy, close }: Given & { before: RetentionPolicy }) {
  const { client } = useApi();
  const { threadId, thing } = owner;
  const [before] = useState(policy);
  return (
    <ActionForm
      title="Delete the rule"
      submit="Delete"
      needs={[{ operation: "delete_retention_policy", thing }]}
      isDangerous
      run={() => client.deleteRetentionPolicy(threadId)}
      onDone={() => {
        close();
        showToast({
          text: "Deleted the rule",
          undo: async () => {
            await putBack(client, threadId, before);
            return "The rule is there again.";
          },
        });
      }}
      close={close}
    >
      <p className="callout">
        {threadId === undefined
          ? "Nothing is deleted by a rule any more, except in threads with a rule of their own."
          : "The rule of the tenant counts for the thread again. It may delete what this rule kept."}
      </p>
    </ActionForm>
  );
}

interface FieldsGiven {
  draft: RuleDraft;
  onChange: (draft: RuleDraft) => void;
}

function RuleFields({ draft, onChange }: FieldsGiven) {
  const change = (changes: Partial<RuleDraft>) => onChange({ ...draft, ...changes });
  return (
    <>
      <TextField
        label="Newest checkpoints that stay"
        value={draft.keepLast}
        onChange={(keepLast) => change({ keepLast })}
        note="of each namespace of a thread; empty for no limit"
        isFirst
      />
      <AgeField
        label="Checkpoints stay for"
        age={draft.olderThan}
        onChange={(olderThan) => change({ olderThan })}
      />
      <AgeField
        label="Threads are deleted without a commit for"
        age={draft.expireAfter}
        onChange={(expireAfter) => change({ expireAfter })}
      />
      <CheckField
        label="Keep threads that wait for a person, and what an answer needs"
        isChecked={draft.keepInterrupted}
        onChange={(keepInterrupted) => change({ keepInterrupted })}
      />
    </>
  );
}

interface AgeGiven {
  label: string;
  age: Age;
  onChange: (age: Age) => void;
}

function AgeField({ label, age, onChange }: AgeGiven) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <span className="age">
        <input
          id={id}
          inputMode="numeric"
          autoComplete="off"
          value={age.amount}
          onChange={({ target }) => onChange({ ...age, amount: target.value })}
        />
        <select
          aria-label={`${label}: unit`}
          value={age.unit}
          onChange={({ target }) => {
            const unit = UNITS.find(({ id: one }) => one === target.value);
            if (unit) onChange({ ...age, unit: unit.id });
          }}
        >
          {UNITS.map(({ id: one }) => (
            <option key={one}>{one}</option>
          ))}
        </select>
      </span>
    </div>
  );
}
