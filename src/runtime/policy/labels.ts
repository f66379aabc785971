import {
  adopted,
  type Content,
  type Fact,
  type FactId,
  keepInSnapshots,
  type Principal,
  type Session,
  savedAsJson,
  type View,
} from "../../session/index.js";

/** Where something in a conversation comes from. Of these, "user", "system" and "trusted" (tools that say so) are trusted. */
export type Origin = "user" | "system" | "trusted" | "tool" | "web" | "file" | "memory" | "agent" | "import";

/** The origins of what a session has in its conversation, each with the first fact that brought it in. */
export type Labels = { readonly [origin in Origin]?: FactId };

const TRUSTED: ReadonlySet<string> = new Set(["user", "system", "trusted"] satisfies Origin[]);

export function isTrusted(origin: string): boolean {
  return TRUSTED.has(origin);
}

/** The origins in a session that are not trusted. */
export function untrustedIn(session: Session): readonly Origin[] {
  const labels = session.view(labelsView);
  let found = untrusted.get(labels);
  if (found === undefined) {
    found = (Object.keys(labels) as Origin[]).filter((origin) => !isTrusted(origin)).sort();
    untrusted.set(labels, found);
  }
  return found;
}

/** Asked at every call, and the labels of a conversation seldom change. */
const untrusted = new WeakMap<Labels, readonly Origin[]>();

/** Where the conversation of a session comes from. It only grows: a summary does not make what it sums up better. */
export const labelsView: View<Labels> = keepInSnapshots<Labels>({
  name: "labels",
  start: Object.freeze({}),
  step(labels, fact, session) {
    const isResult = fact.type === "tool-result" || fact.type === "step-result";
    const children = isResult && session.soleParent === undefined ? session.parents.slice(1) : [];
    const inside = children.map((child) => untrustedOf(child.view(labelsView)));
    let all = inside.length === 0 ? labels : unite([labels, ...inside]);
    for (const origin of broughtBy(session))
      if (!Object.hasOwn(all, origin)) all = Object.freeze({ ...all, [origin]: session.id });
    return all;
  },
  merge(sides, merge) {
    const side = adopted(merge);
    return side === undefined ? unite(sides) : (sides[side] as Labels);
  },
  ...savedAsJson<Labels>(),
});

/** The origins that the newest fact of a session brings into the conversation, with the answer that it takes in. */
export function broughtBy(session: Session): readonly Origin[] {
  const { fact } = session;
  const answer = fact.type === "answer-take" ? session.parents[1]?.fact : undefined;
  return answer?.type === "signal-give" ? [sayerOf(answer.by)] : originsOf(fact);
}

/** The origins that a fact brings into the conversation. */
export function originsOf(fact: Fact): readonly Origin[] {
  switch (fact.type) {
    case "session-start":
      return fact.text === undefined ? NOTHING : [sayerOf(fact.by), ...attachedIn(fact.text)];
    case "message-say":
      return [
        fact.role === "system" && sayerOf(fact.by) === "user" ? "system" : sayerOf(fact.by),
        ...attachedIn(fact.content),
        ...(fact.labels ?? []).map(originOf),
      ];
    // A body may have read its request elsewhere.
    case "tool-call":
    case "step-call":
      return fact.labels === undefined ? NOTHING : fact.labels.map(originOf);
    // The description of a foreign tool reaches the model before anything is called.
    case "agent-configure":
      return fact.foreign === undefined ? NOTHING : ["tool"];
    // The words of others: their origins were left behind.
    case "session-detach":
      return fact.messages.length === 0 ? NOTHING : ["import"];
    case "record-import":
      return ["import"];
    case "tool-result":
      // A person took over, and says what came of it. The findings of their client are not their word.
      return [sayerOf(fact.by) === "user" && fact.origin === undefined ? "user" : originOf(fact.origin)];
    case "tool-failure":
      return ["tool"];
    // A pure step says nothing that its session, and so its labels, did not have before.
    case "step-result":
      if (sayerOf(fact.by) === "user") return ["user"];
      return fact.origin === "input" ? NOTHING : [originOf(fact.origin)];
    case "step-failure":
      return [sayerOf(fact.by)];
    case "memory-read":
      return ["memory"];
    case "skill-activate":
      return ["file"];
    default:
      return NOTHING;
  }
}

/** Most facts bring nothing. */
const NOTHING: readonly Origin[] = Object.freeze([]);

/** Attachments were not written, and maybe not read, by the person who passes them on. */
function attachedIn(content: Content): readonly Origin[] {
  return Array.isArray(content) && content.some((part) => part.type === "file") ? ["file"] : [];
}

const DECLARED: ReadonlySet<string> = new Set([
  "trusted",
  "tool",
  "web",
  "file",
  "memory",
  "agent",
  "import",
] satisfies Origin[]);

/** The origin that a result declares. A result that does not say is taken to be a tool's. */
function originOf(declared = "tool"): Origin {
  return DECLARED.has(declared) ? (declared as Origin) : "tool";
}

export function sayerOf(by: Principal): Origin {
  const end = by.indexOf(":");
  const kind = end < 0 ? by : by.slice(0, end);
  if (kind === "user") return "user";
  // The runtime and bodies speak in words of the program.
  if (kind === "runtime" || kind === "workflow") return "system";
  return kind === "agent" ? "agent" : "tool";
}

function unite(sides: readonly Labels[]): Labels {
  const [first = {}, ...others] = sides;
  const more = others
    .flatMap((side) => Object.entries(side))
    .filter(([origin]) => !Object.hasOwn(first, origin));
  return more.length === 0 ? first : Object.freeze({ ...Object.fromEntries(more), ...first });
}

function untrustedOf(labels: Labels): Labels {
  return Object.fromEntries(Object.entries(labels).filter(([origin]) => !isTrusted(origin))) as Labels;
}
