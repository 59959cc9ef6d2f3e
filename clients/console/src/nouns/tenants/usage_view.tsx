/** How much a tenant keeps and how much it may keep. */

import { useId } from "react";
import type { Usage } from "threadkeep";
import { Fact } from "../../parts/facts.js";
import { sizeText, Time } from "../../parts/units.js";

/** From here on a bar warns. */
const HIGH = 0.8;

/** Bars of what is used, where there is a limit, and the rates. */
export function UsageView({
  usage: { bytes, threads, items, measuredAt, quota },
}: {
  usage: Usage;
}) {
  return (
    <>
      <ul className="bars">
        <Bar title="Bytes" used={bytes} max={quota.bytesMax} short={sizeText} />
        <Bar title="Threads" used={threads} max={quota.threadsMax} />
        <Bar title="Items" used={items} max={quota.itemsMax} />
      </ul>
      <dl className="facts">
        <Rate title="Requests a second, on each server" rate={quota.requestsPerSecond} />
        <Rate title="of each key and token" rate={quota.requestsPerSecondPerToken} />
        <Fact title="Measured">
          <Time at={measuredAt} />
        </Fact>
      </dl>
    </>
  );
}

interface BarGiven {
  title: string;
  used: number;
  /** Absent: without end. */
  max: number | undefined;
  /** A shorter text of a number, beside the exact one. */
  short?: (count: number) => string;
}

function Bar({ title, used, max, short }: BarGiven) {
  const id = useId();
  const text = (count: number) =>
    short === undefined ? exact(count) : `${short(count)} (${exact(count)})`;
  return (
    <li>
      <strong id={id}>{title}</strong>{" "}
      <span>
        {text(used)}
        {max === undefined ? ", no limit" : ` of ${text(max)}, ${percent(used, max)}`}
      </span>
      {max === undefined ? null : (
        <meter
          aria-labelledby={id}
          min={0}
          max={Math.max(1, max)}
          low={max * HIGH}
          high={max * HIGH}
          optimum={0}
          value={Math.min(used, Math.max(1, max))}
        />
      )}
    </li>
  );
}

function Rate({ title, rate }: { title: string; rate: number | undefined }) {
  return <Fact title={title}>{rate === undefined ? "as the server is set up" : exact(rate)}</Fact>;
}

export function exact(count: number): string {
  return count.toLocaleString("en");
}

function percent(used: number, max: number): string {
  if (max === 0) return "100%";
  return `${Math.round((used / max) * 1_000) / 10}%`;
}
