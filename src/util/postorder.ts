/**
 * The past of `head` and `head` itself, parents before children, each parent that `isOpen` when it is met. Iterative,
 * because histories outgrow the call stack. The caller notes what was given out, so that nothing is met twice.
 */
export function* postorder<Node>(
  head: Node,
  parentsOf: (node: Node) => readonly Node[],
  isOpen: (parent: Node) => boolean,
): Generator<Node, void> {
  const path = [{ node: head, next: 0 }];
  for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
    const parent = parentsOf(top.node)[top.next++];
    if (parent === undefined) {
      path.pop();
      yield top.node;
    } else if (isOpen(parent)) path.push({ node: parent, next: 0 });
  }
}
