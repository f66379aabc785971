import type { Json } from "../../../session/index.js";
import { type Fields, type Foreign, isFields, own } from "../trajectory/foreign.js";

/** A line of the file. */
export type Line = { readonly line: number; readonly value: Fields };

/**
 * Lines that belong together: an answer of the model comes in several lines with one message id, and the results of the
 * tools that it called hang from the lines with the calls. The file says only which line follows which.
 */
export type Group = {
  readonly lines: Line[];
  readonly kind: "assistant" | "user" | "other";
  readonly aside: boolean;
  parent?: Group;
  readonly children: Group[];
  /** Whether anything is said in it or after it. */
  says: boolean;
};

export type Chains = {
  /** Groups that follow no other: of the conversation, and of sub-agents. */
  readonly roots: readonly Group[];
  /** Lines that have no place in the conversation. */
  readonly loose: readonly Line[];
};

/** How the lines of a file follow each other, or an `ImportError` when they do not. */
export function chainsOf(foreign: Foreign, lines: readonly Line[]): Chains {
  const byId = new Map<string, Group>();
  const byMessage = new Map<string, Group>();
  const byCall = new Map<string, Group>();
  const groups: Group[] = [];
  const loose: Line[] = [];
  for (const line of lines) {
    const id = own(line.value, "uuid");
    if (typeof id !== "string") {
      loose.push(line);
      continue;
    }
    if (byId.has(id)) foreign.refuse(`line ${line.line}.uuid`, "another line has the same id");
    const group = groupOf(line, byMessage, byCall) ?? newGroup(line, groups);
    group.lines.push(line);
    byId.set(id, group);
    if (group.kind !== "assistant") continue;
    const message = messageIn(line.value);
    const key = own(message, "id");
    if (line.value.type === "assistant" && typeof key === "string")
      byMessage.set(`${group.aside} ${key}`, group);
    for (const block of blocksIn(message))
      if (block.type === "tool_use" && typeof block.id === "string") byCall.set(block.id, group);
  }
  refuseCircles(foreign, lines);
  link(foreign, groups, byId);
  return { roots: rootsOf(foreign, groups), loose };
}

function newGroup({ value }: Line, groups: Group[]): Group {
  const { type } = value;
  const kind = type === "assistant" || type === "user" ? type : "other";
  const group: Group = {
    lines: [],
    kind,
    aside: value.isSidechain === true,
    children: [],
    says: kind !== "other",
  };
  groups.push(group);
  return group;
}

/** The group that a line continues. */
function groupOf(
  { value }: Line,
  byMessage: ReadonlyMap<string, Group>,
  byCall: ReadonlyMap<string, Group>,
): Group | undefined {
  const message = messageIn(value);
  if (value.type === "assistant")
    return byMessage.get(`${value.isSidechain === true} ${String(own(message, "id"))}`);
  if (value.type !== "user") return undefined;
  const [first] = blocksIn(message).filter((block) => block.type === "tool_result");
  const group = first && byCall.get(String(first.tool_use_id));
  return group?.aside === (value.isSidechain === true) ? group : undefined;
}

/** Lines must lead to one that follows none. */
function refuseCircles(foreign: Foreign, lines: readonly Line[]): void {
  const above = new Map<string, string>();
  for (const { value } of lines) {
    const [id, parent] = [own(value, "uuid"), own(value, "parentUuid")];
    if (typeof id === "string" && typeof parent === "string") above.set(id, parent);
  }
  const fine = new Set<string>();
  for (const { line, value } of lines) {
    const way = new Set<string>();
    for (
      let id: string | undefined = String(own(value, "uuid"));
      id !== undefined && !fine.has(id);
      id = above.get(id)
    ) {
      if (way.has(id))
        foreign.refuse(`line ${line}.parentUuid`, "the lines that follow each other go round in a circle");
      way.add(id);
    }
    for (const id of way) fine.add(id);
  }
}

function link(foreign: Foreign, groups: readonly Group[], byId: ReadonlyMap<string, Group>): void {
  let last: Group | undefined;
  for (const group of groups) {
    for (const { line, value } of group.lines) {
      const above = own(value, "parentUuid") ?? null;
      if (above !== null && !byId.has(String(above)))
        foreign.refuse(`line ${line}.parentUuid`, "the line that it follows is not in the file");
    }
    const [first] = group.lines as [Line];
    const above = own(first.value, "parentUuid") ?? own(first.value, "logicalParentUuid") ?? null;
    const boundary = own(first.value, "subtype") === "compact_boundary";
    const parent = byId.get(String(above)) ?? (boundary ? last : undefined);
    // A sub-agent has a conversation of its own, whatever it hangs from.
    if (parent !== undefined && parent !== group && parent.aside === group.aside) {
      group.parent = parent;
      parent.children.push(group);
    }
    if (!group.aside) last = group;
  }
}

/** Everything that can be reached, from the leaves up; what cannot goes round in a circle. */
function rootsOf(foreign: Foreign, groups: readonly Group[]): readonly Group[] {
  const roots = groups.filter(({ parent }) => parent === undefined);
  const order: Group[] = [];
  const open = [...roots];
  for (let group = open.pop(); group !== undefined; group = open.pop()) {
    order.push(group);
    open.push(...group.children);
  }
  if (order.length < groups.length) {
    const reached = new Set(order);
    const lost = groups.find((group) => !reached.has(group));
    foreign.refuse(
      `line ${lost?.lines[0]?.line ?? 0}.parentUuid`,
      "the lines that follow each other go round in a circle",
    );
  }
  for (const group of order.reverse()) if (group.children.some(({ says }) => says)) group.says = true;
  return roots;
}

export function messageIn(value: Fields): Fields {
  const message = own(value, "message");
  return isFields(message) ? message : {};
}

/** The blocks of a message; words alone are one. */
export function blocksIn(message: Fields): readonly Fields[] {
  const content = own(message, "content");
  if (typeof content === "string") return [{ type: "text", text: content }];
  return Array.isArray(content) ? (content as readonly Json[]).filter(isFields) : [];
}
