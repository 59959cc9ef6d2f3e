/** Shows the questions of a thread and the code that answers them. Only the program that has the graph can run it. */

import { type ReactNode, useId, useState } from "react";
import { CodeTabs } from "../parts/code.js";
import { Marked } from "../parts/marked.js";
import { type Action, decisionsOf, type Interrupt, questionOf, resumeCode } from "./interrupts.js";
import { JsonTree } from "./json_tree_view.js";
import { PlainText } from "./text_view.js";

interface Given {
  threadId: string;
  interrupts: readonly Interrupt[];
  /** Stands in place of the code while a question is not there whole: an answer may repeat all of it. */
  instead?: ReactNode;
}

export function InterruptCard({ threadId, interrupts, instead }: Given) {
  return (
    <section className="interrupt" aria-label={`${threadId} waits for a person`}>
      {interrupts.map((one, at) => (
        <QuestionView key={one.id ?? String(at)} value={one.value} />
      ))}
      {instead ?? <AnswerCode threadId={threadId} interrupts={interrupts} />}
    </section>
  );
}

function AnswerCode({ threadId, interrupts }: Omit<Given, "instead">) {
  const decisions = decisionsOf(interrupts);
  const [decision, setDecision] = useState(decisions[0] ?? "approve");
  const selectId = useId();
  const { python, typescript } = resumeCode(threadId, interrupts, decision);
  return (
    <details className="resume">
      <summary>Answer by code</summary>
      {decisions.length > 0 ? (
        <p>
          <label htmlFor={selectId}>Decision </label>
          <select
            id={selectId}
            value={decision}
            onChange={(event) => setDecision(event.target.value)}
          >
            {decisions.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        </p>
      ) : null}
      <CodeTabs samples={{ Python: python, TypeScript: typescript }} label="Language" />
    </details>
  );
}

function QuestionView({ value }: { value: unknown }) {
  const question = questionOf(value);
  switch (question.kind) {
    case "text":
      return <PlainText text={question.text} />;
    case "other":
      return <JsonTree value={question.value} what="the question" />;
    case "actions":
      return question.actions.map((action, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: actions of a stored question do not move
        <ActionView key={at} action={action} />
      ));
  }
}

function ActionView({ action }: { action: Action }) {
  return (
    <div className="action">
      <p>
        May the agent call <Marked className="call-name" text={action.name} />?
      </p>
      {action.description ? <PlainText text={action.description} shown={500} /> : null}
      <JsonTree value={action.args} what="the arguments" />
      <p className="note">
        Decisions: <Marked text={action.decisions.join(", ")} />
      </p>
    </div>
  );
}
