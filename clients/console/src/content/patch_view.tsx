/** A difference for a person: only what changed, each with its place. */

import { Marked } from "../parts/marked.js";
import type { FieldStep, ListStep, Patch } from "./json_diff.js";
import { counted } from "./json_tree.js";
import { JsonTree } from "./json_tree_view.js";

const STEPS_SHOWN = 200;

export function PatchView({ patch }: { patch: Patch }) {
  switch (patch.kind) {
    case "same":
      return null;
    case "set":
      return (
        <>
          <Side kind="removed" value={patch.before} />
          <Side kind="added" value={patch.after} />
        </>
      );
    case "object":
      return (
        <ul className="patch">
          {patch.fields.slice(0, STEPS_SHOWN).map(([name, step]) => (
            <li key={name}>
              <span className="json-name">
                <Marked text={name} />:
              </span>
              <StepView step={step} />
            </li>
          ))}
          <MoreSteps count={patch.fields.length - STEPS_SHOWN} />
        </ul>
      );
    case "list":
      return (
        <ul className="patch">
          {patch.steps.slice(0, STEPS_SHOWN).map((step, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the steps of a difference do not move
            <li key={at}>
              <StepView step={step} />
            </li>
          ))}
          <MoreSteps count={patch.steps.length - STEPS_SHOWN} />
        </ul>
      );
  }
}

function MoreSteps({ count }: { count: number }) {
  return count > 0 ? (
    <li className="note">{counted(count, "more change", "more changes")}</li>
  ) : null;
}

function StepView({ step }: { step: FieldStep | ListStep }) {
  switch (step.kind) {
    case "keep":
      return <span className="note">{counted(step.count, "entry", "entries")} unchanged</span>;
    case "removed":
      return <Side kind="removed" value={step.before} />;
    case "added":
      return <Side kind="added" value={step.after} />;
    case "edit":
      return <PatchView patch={step.patch} />;
  }
}

function Side({ kind, value }: { kind: "removed" | "added"; value: unknown }) {
  return (
    <div className={`side-${kind}`}>
      <span className="side-sign">{kind === "removed" ? "−" : "+"}</span>
      <span className="visually-hidden">{kind}</span>
      <JsonTree value={value} what={`what was ${kind}`} isOpen={false} />
    </div>
  );
}
