import {
  adopted,
  type Content,
  type Fact,
  type FactId,
  frozen,
  type Json,
  keepInSnapshots,
  type Principal,
  type Session,
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
  return (Object.keys(session.view(labelsView)) as Origin[]).filter((origin) => !isTrusted(origin)).sort();
}

/** Where the conversation of a session comes from. It only grows: a summary does not make what it sums up better. */
export const labelsView: View<Labels> = keepInSnapshots<Labels>({
  name: "labels",
  start: Object.freeze({}),
  step(labels, fact, session) {
    const isResult = fact.type === "tool-result" || fact.type === "step-result";
    const children = isResult ? session.parents.slice(1) : [];
    const inside = children.map((child) => untrustedOf(child.view(labelsView)));
    return broughtBy(session).reduce(
      (all, origin) => withOrigin(all, origin, session.id),
      unite([labels, ...inside]),
    );
  },
  merge(sides, merge) {
    const side = adopted(merge);
    return side === undefined ? unite(sides) : (sides[side] as Labels);
  },
  save: (labels) => labels as Json,
  load: (saved) => frozen(saved) as Labels,
});

/** The origins that the newest fact of a session brings into the conversation, with the answer that it takes in. */
export function broughtBy({ fact, parents }: Session): readonly Origin[] {
  const answer = fact.type === "answer-take" ? parents[1]?.fact : undefined;
  return answer?.type === "signal-give" ? [sayerOf(answer.by)] : originsOf(fact);
}

/** The origins that a fact brings into the conversation. */
export function originsOf(fact: Fact): readonly Origin[] {
  switch (fact.type) {
    case "session-start":
      return fact.text === undefined ? [] : [sayerOf(fact.by), ...attachedIn(fact.text)];
    case "message-say":
      return [
        fact.role === "system" && sayerOf(fact.by) === "user" ? "system" : sayerOf(fact.by),
        ...attachedIn(fact.content),
        ...(fact.labels ?? []).map(originOf),
      ];
    // A body may have read its request elsewhere.
    case "tool-call":
    case "step-call":
      return (fact.labels ?? []).map(originOf);
    // The description of a foreign tool reaches the model before anything is called.
    case "agent-configure":
      return fact.foreign === undefined ? [] : ["tool"];
    // The words of others: their origins were left behind.
    case "session-detach":
      return fact.messages.length === 0 ? [] : ["import"];
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
      return fact.origin === "input" ? [] : [originOf(fact.origin)];
    case "step-failure":
      return [sayerOf(fact.by)];
    case "memory-read":
      return ["memory"];
    case "skill-activate":
      return ["file"];
    default:
      return [];
  }
}

/** Attachments were not written, and maybe not read, by the person who passes them on. */
function attachedIn(content: Content): readonly Origin[] {
  return Array.isArray(content) && content.some((part) => part.type === "file") ? ["file"] : [];
}

const DECLARED: readonly Origin[] = ["trusted", "tool", "web", "file", "memory", "agent", "import"];

/** The origin that a result declares. A result that does not say is taken to be a tool's. */
function originOf(declared: string | undefined): Origin {
  return DECLARED.find((origin) => origin === declared) ?? "tool";
}

export function sayerOf(by: Principal): Origin {
  const [kind] = by.split(":");
  if (kind === "user") return "user";
  // The runtime and bodies speak in words of the program.
  if (kind === "runtime" || kind === "workflow") return "system";
  return kind === "agent" ? "agent" : "tool";
}

function withOrigin(labels: Labels, origin: Origin, source: FactId): Labels {
  return Object.hasOwn(labels, origin) ? labels : Object.freeze({ ...labels, [origin]: source });
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
