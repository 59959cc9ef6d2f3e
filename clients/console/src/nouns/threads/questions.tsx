/** What a thread asks. A long question comes in part; the whole of it, and the code that answers it, when a person asks. */

import { useState } from "react";
import type { StateInterrupt, Thread } from "threadkeep";
import { hasCuts } from "../../content/cut.js";
import { CutSourceContext, WITHOUT_PLACES } from "../../content/cut_source.js";
import { InterruptCard } from "../../content/interrupt_view.js";
import { Failure, Loading } from "../../parts/states.js";
import { useTasks, versionOf } from "./queries.js";

interface Given {
  thread: Thread;
  interrupts: readonly StateInterrupt[];
}

export function Questions({ thread, interrupts }: Given) {
  const { threadId } = thread;
  if (interrupts.length === 0) return null;
  if (hasCuts(interrupts)) return <LongQuestions thread={thread} interrupts={interrupts} />;
  return (
    <CutSourceContext value={undefined}>
      <InterruptCard threadId={threadId} interrupts={interrupts} />
    </CutSourceContext>
  );
}

function LongQuestions({ thread, interrupts }: Given) {
  const { threadId } = thread;
  const [isAsked, setIsAsked] = useState(false);
  const whole = useTasks({ threadId, ns: "" }, versionOf(thread), {
    isWhole: true,
    enabled: isAsked,
  });
  if (isAsked && whole.data) {
    return (
      <CutSourceContext value={undefined}>
        <InterruptCard threadId={threadId} interrupts={whole.data.interrupts} />
      </CutSourceContext>
    );
  }
  const button = (
    <button type="button" className="button" onClick={() => setIsAsked(true)}>
      Load the whole question
    </button>
  );
  return (
    <CutSourceContext value={WITHOUT_PLACES}>
      <InterruptCard
        threadId={threadId}
        interrupts={interrupts}
        instead={isAsked && !whole.error ? <Loading /> : button}
      />
      {whole.error ? <Failure error={whole.error} retry={() => void whole.refetch()} /> : null}
    </CutSourceContext>
  );
}
