import type { Json } from "../../../session/index.js";
import { type Fields, fieldsIn, objectsIn, own, textIn } from "../fields.js";
import type { Foreign } from "../foreign.js";

/** A line of the file. `id` is its uuid, or its number where words are in it and no uuid. */
export type Line = { readonly line: number; readonly value: Fields; readonly id?: string };

/** Lines that belong together: an answer in several lines with one message id, and the tool results. */
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

/** The order of the lines of a file. References to lines that are missing are reported. */
export function chainsOf(foreign: Foreign, read: readonly Line[]): Chains {
  const lines = read.map(idGiven);
  const before = linesBefore(lines);
  const byId = new Map<string, Group>();
  const byMessage = new Map<string, Group>();
  const byCall = new Map<string, Group>();
  const groups: Group[] = [];
  const loose: Line[] = [];
  for (const line of lines) {
    const { id } = line;
    if (id === undefined) {
      loose.push(line);
      continue;
    }
    if (byId.has(id)) foreign.refuse(`line ${line.line}.uuid`, "another line has the same id");
    const group = groupOf(line, byMessage, byCall) ?? newGroup(line, groups);
    group.lines.push(line);
    byId.set(id, group);
    if (group.kind !== "assistant") continue;
    const message = messageIn(line.value);
    const key = textIn(message, "id");
    if (line.value.type === "assistant" && key !== undefined) byMessage.set(`${group.aside} ${key}`, group);
    for (const block of blocksIn(message))
      if (block.type === "tool_use" && typeof block.id === "string") byCall.set(block.id, group);
  }
  refuseCircles(foreign, lines);
  link(foreign, groups, { byId, before });
  return { roots: rootsOf(foreign, groups), loose };
}

function newGroup({ value }: Line, groups: Group[]): Group {
  const { type } = value;
  const kind = type === "assistant" || type === "user" ? type : "other";
  const group: Group = { lines: [], kind, aside: isAside(value), children: [], says: kind !== "other" };
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
  if (value.type === "assistant") return byMessage.get(`${isAside(value)} ${String(own(message, "id"))}`);
  if (value.type !== "user") return undefined;
  const [first] = blocksIn(message).filter((block) => block.type === "tool_result");
  const group = first && byCall.get(String(first.tool_use_id));
  return group?.aside === isAside(value) ? group : undefined;
}

/** Whether a sub-agent says it: session files mark the line, the stream of the program names the call that started it. */
function isAside(value: Fields): boolean {
  return value.isSidechain === true || textIn(value, "parent_tool_use_id") !== undefined;
}

function idGiven(line: Line): Line {
  const { uuid, type } = line.value;
  if (typeof uuid === "string") return { ...line, id: uuid };
  return type === "user" || type === "assistant" ? { ...line, id: `line ${line.line}` } : line;
}

/** Shapes without `parentUuid` follow each other in the order of the file, each sub-agent by itself. */
function linesBefore(lines: readonly Line[]): ReadonlyMap<string, string> {
  const before = new Map<string, string>();
  const last = new Map<Json, string>();
  for (const { id, value } of lines) {
    if (id === undefined) continue;
    const conversation = isAside(value) ? (own(value, "parent_tool_use_id") ?? true) : false;
    const above = last.get(conversation);
    if (own(value, "parentUuid") === undefined && above !== undefined) before.set(id, above);
    last.set(conversation, id);
  }
  return before;
}

/** Lines must lead to one that follows none. */
function refuseCircles(foreign: Foreign, lines: readonly Line[]): void {
  const above = new Map<string, string>();
  for (const { id, value } of lines) {
    const parent = textIn(value, "parentUuid");
    if (id !== undefined && parent !== undefined) above.set(id, parent);
  }
  const fine = new Set<string>();
  for (const { line, id: start } of lines) {
    const way = new Set<string>();
    for (let id = start; id !== undefined && !fine.has(id); id = above.get(id)) {
      if (way.has(id))
        foreign.refuse(`line ${line}.parentUuid`, "the lines that follow each other go round in a circle");
      way.add(id);
    }
    for (const id of way) fine.add(id);
  }
}

type Places = { readonly byId: ReadonlyMap<string, Group>; readonly before: ReadonlyMap<string, string> };

function link(foreign: Foreign, groups: readonly Group[], { byId, before }: Places): void {
  let last: Group | undefined;
  const done: Group[] = [];
  for (const group of groups) {
    const [first] = group.lines as [Line];
    const above =
      own(first.value, "parentUuid") ??
      own(first.value, "logicalParentUuid") ??
      before.get(first.id as string) ??
      null;
    const boundary = own(first.value, "subtype") === "compact_boundary";
    const parent =
      byId.get(String(above)) ??
      (above !== null ? afterGap(foreign, group, done) : boundary ? last : undefined);
    // A sub-agent has a conversation of its own, whatever it hangs from.
    if (parent !== undefined && parent !== group && parent.aside === group.aside) {
      group.parent = parent;
      parent.children.push(group);
    }
    if (!group.aside) last = group;
    done.push(group);
  }
}

/** Where a line belongs that follows one that is not there: to what was before the unreadable line that it may follow. */
function afterGap(foreign: Foreign, group: Group, done: readonly Group[]): Group | undefined {
  const line = group.lines[0]?.line ?? 0;
  const gap = foreign.gaps.findLast((one) => one < line);
  const parent =
    gap === undefined
      ? undefined
      : done.findLast(({ aside, lines }) => aside === group.aside && (lines[0]?.line ?? 0) < gap);
  foreign.warnings.add(
    parent === undefined
      ? `line ${line} follows a line that is not in the file: from there on it is a session of its own.`
      : `line ${line} follows a line that cannot be read: it is placed after line ${parent.lines.at(-1)?.line}.`,
  );
  return parent;
}

/** Everything that can be reached, from the leaves up; the rest is a circle. */
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
  return fieldsIn(value, "message");
}

/** The blocks of a message; words alone are one. */
export function blocksIn(message: Fields): readonly Fields[] {
  const text = textIn(message, "content");
  return text === undefined ? objectsIn(message, "content") : [{ type: "text", text }];
}
