/** The tree of namespaces counts what is in a label and below it, and says where there may be more. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type TreeNode, treeOf } from "../src/nouns/store/namespace_tree.js";
import { countText } from "../src/parts/units.js";

/** Each node as `labels count`, in the order of the tree. */
function linesOf(nodes: readonly TreeNode[]): string[] {
  return nodes.flatMap(({ namespace, items, children }) => [
    `${namespace.join("/")} ${items ? countText(items.count, items.hasMore) : "-"}`,
    ...linesOf(children),
  ]);
}

describe("the counts of a tree", () => {
  it("are those of the server, and sums where a label holds no item itself", () => {
    const namespaces = [["ann", "a"], ["ann", "b", "c"], ["bob"], ["bob", "x"]];
    expect(linesOf(treeOf([{ namespaces, counts: [2, 3, 9, 4] }]))).toEqual([
      "ann 5",
      "ann/a 2",
      "ann/b 3",
      "ann/b/c 3",
      // The count of `bob` has the items of `bob/x` already.
      "bob 9",
      "bob/x 4",
    ]);
  });

  it("say that there is more where the server stopped, or the next page may go on", () => {
    const namespaces = [
      ["ann", "a"],
      ["bob", "x"],
      ["bob", "y", "z"],
    ];
    const counts = [10_000, 1, 2];
    const capped = ["ann 10,000+", "ann/a 10,000+"];
    expect(linesOf(treeOf([{ namespaces, counts }]))).toEqual([
      ...[...capped, "bob 3", "bob/x 1", "bob/y 2", "bob/y/z 2"],
    ]);
    expect(linesOf(treeOf([{ namespaces, counts, nextCursor: "c" }]))).toEqual([
      ...[...capped, "bob 3+", "bob/x 1", "bob/y 2+", "bob/y/z 2"],
    ]);
  });

  it("go on over pages, and are left out where none came", () => {
    const first = { namespaces: [["a", "x"]], counts: [1], nextCursor: "c" };
    const last = { namespaces: [["a", "y"], ["b"]], counts: [2, 3] };
    expect(linesOf(treeOf([first, last]))).toEqual(["a 3", "a/x 1", "a/y 2", "b 3"]);
    expect(linesOf(treeOf([{ namespaces: [["a", "x"]] }]))).toEqual(["a -", "a/x -"]);
    expect(treeOf([])).toEqual([]);
  });

  it("sum up to all items, whatever the labels are", () => {
    const label = fc.constantFrom("a", "b", "__proto__", "constructor", "");
    const namespace = fc.array(label, { minLength: 1, maxLength: 3 });
    fc.assert(
      fc.property(fc.uniqueArray(namespace, { selector: String }), fc.nat(3), (all, cut) => {
        const names = all.map((one) => JSON.stringify(one));
        const sorted = [...new Set(names)].map((one) => JSON.parse(one) as string[]).sort(order);
        const below = (one: string[]) =>
          sorted.filter((other) => one.every((part, at) => part === other[at])).length;
        // One item in each namespace.
        const page = (part: string[][]) => ({ namespaces: part, counts: part.map(below) });
        const tree = treeOf([page(sorted.slice(0, cut)), page(sorted.slice(cut))]);
        const sum = tree.reduce((total, { items }) => total + (items?.count ?? 0), 0);
        expect(sum).toBe(sorted.length);
      }),
    );
  });
});

function order(a: readonly string[], b: readonly string[]): number {
  for (const [at, label] of a.entries()) {
    const other = b[at];
    if (other === undefined) return 1;
    if (label !== other) return label < other ? -1 : 1;
  }
  return a.length - b.length;
}
