/** Namespaces as a tree of labels, with the items in each and below it. */

import type { NamespacePage } from "threadkeep";
import { isCapped } from "../../parts/units.js";

export interface TreeNode {
  label: string;
  namespace: string[];
  children: TreeNode[];
  /** Items in it and below it; absent where the server tells none. */
  items?: ItemCount | undefined;
}

export interface ItemCount {
  count: number;
  /** Whether there are, or may be, more. */
  hasMore: boolean;
}

/** The tree of the namespaces that are loaded, in their order. A label that is only part of longer ones is a node too. */
export function treeOf(pages: readonly NamespacePage[]): TreeNode[] {
  const roots: TreeNode[] = [];
  for (const { namespaces, counts } of pages) {
    namespaces.forEach((labels, at) => {
      const node = nodeOf(roots, labels);
      const count = counts?.[at];
      if (node && count !== undefined) node.items = { count, hasMore: isCapped(count) };
    });
  }
  sumUp(roots, pages.at(-1)?.nextCursor !== undefined);
  return roots;
}

/** The node of a namespace, made with those above it where they are not there. */
function nodeOf(roots: TreeNode[], labels: readonly string[]): TreeNode | undefined {
  let level = roots;
  let node: TreeNode | undefined;
  labels.forEach((label, at) => {
    // Namespaces come in the order of their labels, so it is the last one or a new one.
    node = level.at(-1)?.label === label ? level.at(-1) : level.find((one) => one.label === label);
    if (!node) {
      node = { label, namespace: labels.slice(0, at + 1), children: [] };
      level.push(node);
    }
    level = node.children;
  });
  return node;
}

/** Counts a node that holds no item itself by those below it. `isOpen`: the next page may go on below the last one. */
function sumUp(level: TreeNode[], isOpen: boolean): void {
  level.forEach((node, at) => {
    const isLast = isOpen && at === level.length - 1;
    sumUp(node.children, isLast);
    node.items ??= sumOf(node.children, isLast);
  });
}

function sumOf(children: readonly TreeNode[], isOpen: boolean): ItemCount | undefined {
  if (children.length === 0) return undefined;
  let sum: ItemCount = { count: 0, hasMore: isOpen };
  for (const { items } of children) {
    if (items === undefined) return undefined;
    sum = { count: sum.count + items.count, hasMore: sum.hasMore || items.hasMore };
  }
  return sum;
}
