/** Namespaces as a tree of labels. */

export interface TreeNode {
  label: string;
  namespace: string[];
  children: TreeNode[];
}

/** The tree of these namespaces, in their order. A label that is only part of longer ones is a node too. */
export function treeOf(namespaces: readonly (readonly string[])[]): TreeNode[] {
  const roots: TreeNode[] = [];
  for (const labels of namespaces) {
    let level = roots;
    labels.forEach((label, at) => {
      let node = level.find((one) => one.label === label);
      if (!node) {
        node = { label, namespace: labels.slice(0, at + 1), children: [] };
        level.push(node);
      }
      level = node.children;
    });
  }
  return roots;
}
