/** Times, sizes and counts: short to read, exact on hover. */

import { useEffect, useState } from "react";

const UNITS = ["KiB", "MiB", "GiB", "TiB"] as const;

/** A size in binary units. */
export function sizeText(bytes: number): string {
  if (bytes < 1_024) return `${bytes} B`;
  const power = Math.min(UNITS.length, Math.floor(Math.log2(bytes) / 10));
  const size = bytes / 1_024 ** power;
  return `${size < 10 ? size.toFixed(1) : Math.round(size)} ${UNITS[power - 1]}`;
}

export function Size({ bytes }: { bytes: number }) {
  return <span title={`${bytes.toLocaleString("en")} bytes`}>{sizeText(bytes)}</span>;
}

/** The server counts so far, and no further. */
const COUNTED_MAX = 10_000;

export function isCapped(count: number): boolean {
  return count >= COUNTED_MAX;
}

/** A count of the server; with a mark where there may be more. */
export function countText(count: number, hasMore = isCapped(count)): string {
  return `${count.toLocaleString("en")}${hasMore ? "+" : ""}`;
}

interface CountGiven {
  of: number;
  hasMore?: boolean;
  /** What is counted, for those who only hear it. */
  what: string;
}

export function Count({ of: count, hasMore = isCapped(count), what }: CountGiven) {
  return (
    <span className="count">
      {countText(count, hasMore)}
      <span className="visually-hidden"> {what}</span>
    </span>
  );
}

const AGES: [seconds: number, unit: Intl.RelativeTimeFormatUnit][] = [
  [86_400 * 365, "year"],
  [86_400 * 30, "month"],
  [86_400, "day"],
  [3_600, "hour"],
  [60, "minute"],
];
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });

/** How long ago a time is. */
export function ageText(time: Date, now: number): string {
  const seconds = (time.getTime() - now) / 1_000;
  const [size, unit] = AGES.find(([size]) => Math.abs(seconds) >= size) ?? [1, "second"];
  if (unit === "second")
    return Math.abs(seconds) < 10 ? "now" : relative.format(Math.round(seconds), unit);
  return relative.format(Math.round(seconds / size), unit);
}

const TICK_MS = 30_000;

/** A time, given as a date or as the text that a program wrote. A text that is no time is shown as it is. */
export function Time({ at }: { at: Date | string | undefined }) {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), TICK_MS);
    return () => clearInterval(timer);
  }, []);
  if (at === undefined) return <span>–</span>;
  const time = typeof at === "string" ? new Date(at) : at;
  if (Number.isNaN(time.getTime())) return <span>{String(at)}</span>;
  const exact = time.toISOString();
  return (
    <time dateTime={exact} title={exact}>
      {ageText(time, Math.max(now, Date.now()))}
    </time>
  );
}
