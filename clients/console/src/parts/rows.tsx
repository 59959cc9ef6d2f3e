/** A long list of which only the visible rows are in the page. `j`, `k` and Enter walk through it, `x` marks the row. */

import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { type ReactNode, useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";
import { useShortcut } from "../app/keyboard.js";

interface Given<Row> {
  label: string;
  /** One that is undefined is not loaded. */
  rows: readonly (Row | undefined)[];
  /** Absent: rows are known by their places. */
  keyOf?: ((row: Row) => string) | undefined;
  /** About how high a row is. */
  heightPx: number;
  render: (row: Row, index: number) => ReactNode;
  onOpen?: ((row: Row) => void) | undefined;
  onMark?: ((row: Row) => void) | undefined;
  /** Called when the end comes near. */
  onEnd?: (() => void) | undefined;
  /** Called with the first row in view that is not loaded. */
  onAbsent?: ((index: number) => void) | undefined;
  /** Rows that come before the first one do not move it. */
  keepsFirst?: boolean;
}

const ROWS_BEYOND = 8;

export function Rows<Row>(given: Given<Row>) {
  const { rows, keyOf, onEnd, onAbsent } = given;
  const list = useRef<HTMLUListElement>(null);
  const [top, setTop] = useState(0);
  useLayoutEffect(() => {
    const found = list.current?.getBoundingClientRect().top ?? 0;
    setTop(found + window.scrollY);
  }, []);
  const virtual = useWindowVirtualizer({
    count: rows.length,
    estimateSize: () => given.heightPx,
    overscan: ROWS_BEYOND,
    scrollMargin: top,
    getItemKey: (index) => {
      const row = rows[index];
      return row === undefined || keyOf === undefined ? index : keyOf(row);
    },
  });
  const [marked, setMarked] = useMarkedRow(given, (index) => virtual.scrollToIndex(index));
  useKeptFirst(given, (index) => virtual.scrollToIndex(index, { align: "start" }));
  const items = virtual.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (rows.length > 0 && last >= rows.length - ROWS_BEYOND) onEnd?.();
  }, [last, rows.length, onEnd]);
  const absent = items.find(({ index }) => rows[index] === undefined)?.index;
  useEffect(() => {
    if (absent !== undefined) onAbsent?.(absent);
  }, [absent, onAbsent]);
  return (
    <ul
      ref={list}
      className="rows"
      aria-label={given.label}
      style={{ height: virtual.getTotalSize() }}
    >
      {items.map(({ index, key, start }) => {
        const row = rows[index];
        return row === undefined ? null : (
          <li
            key={key}
            ref={virtual.measureElement}
            data-index={index}
            data-marked={index === marked ? "" : undefined}
            style={{ transform: `translateY(${start - top}px)` }}
            onFocus={() => setMarked(index)}
          >
            {given.render(row, index)}
          </li>
        );
      })}
    </ul>
  );
}

interface Paged {
  hasNextPage: boolean;
  isFetchingNextPage: boolean;
  fetchNextPage: () => unknown;
}

/** Loads the next page, unless there is none or it is on its way: for `onEnd`. */
export function useLoadMore({ hasNextPage, isFetchingNextPage, fetchNextPage }: Paged) {
  return useCallback(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage]);
}

/** Shows the row again that was the first one. Heights of new rows are not known yet, so the list does it, not the page. */
function useKeptFirst<Row>({ rows, keyOf, keepsFirst }: Given<Row>, show: (index: number) => void) {
  const known = useRef<string>(undefined);
  const [first] = rows;
  const key = first === undefined ? undefined : keyOf?.(first);
  useLayoutEffect(() => {
    const before = known.current;
    known.current = key;
    if (!keepsFirst || before === undefined || before === key) return;
    const at = rows.findIndex((row) => row !== undefined && keyOf?.(row) === before);
    if (at > 0) show(at);
  });
}

/** The row that the keys are at. */
function useMarkedRow<Row>({ rows, onOpen, onMark }: Given<Row>, show: (index: number) => void) {
  const [marked, setMarked] = useState(-1);
  const move = (step: number) => {
    const next = Math.min(rows.length - 1, Math.max(0, marked + step));
    setMarked(next);
    if (rows.length > 0) show(next);
  };
  useShortcut("j", () => move(1));
  useShortcut("k", () => move(-1));
  useShortcut("Enter", () => {
    const row = rows[marked];
    if (row !== undefined) onOpen?.(row);
  });
  useShortcut("x", () => {
    const row = rows[marked];
    if (row !== undefined) onMark?.(row);
  });
  return [marked, setMarked] as const;
}
