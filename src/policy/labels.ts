import {
  adopted,
  type Content,
  type Fact,
  type FactId,
  frozen,
  type Json,
  type Principal,
  type Session,
  type View,
} from "../session/index.js";

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
export const labelsView: View<Labels> = {
  name: "labels",
  start: Object.freeze({}),
  step(labels, fact, session) {
    const inside =
      (fact.type === "tool-result" || fact.type === "step-result") && session.parents.length > 1
        ? session.parents.slice(1).map((child) => untrustedOf(child.view(labelsView)))
        : [];
    return [...originsOf(fact)].reduce(
      (all, origin) => withOrigin(all, origin, session.id),
      united([labels, ...inside]),
    );
  },
  merge(sides, merge) {
    const side = adopted(merge);
    return side === undefined ? united(sides) : (sides[side] as Labels);
  },
  save: (labels) => labels as Json,
  load: (saved) => frozen(saved) as Labels,
};

/** What a fact brings into the conversation. */
export function originsOf(fact: Fact): readonly Origin[] {
  switch (fact.type) {
    case "session-start":
      return fact.text === undefined ? [] : [sayerOf(fact.by), ...attachedIn(fact.text)];
    case "message-say":
      return [
        fact.role === "system" && sayerOf(fact.by) === "user" ? "system" : sayerOf(fact.by),
        ...attachedIn(fact.content),
      ];
    // Whoever describes a tool of others speaks to the model before anything is called.
    case "agent-configure":
      return fact.foreign === undefined ? [] : ["tool"];
    // The words of others, whoever they were: their origins were left behind.
    case "session-detach":
      return fact.messages.length === 0 ? [] : ["import"];
    case "record-import":
      return ["import"];
    case "tool-result":
      // A person took over, and says what came of it.
      return [sayerOf(fact.by) === "user" ? "user" : originOf(fact.origin)];
    case "tool-failure":
      return ["tool"];
    case "memory-read":
      return ["memory"];
    case "skill-activate":
      return ["file"];
    default:
      return [];
  }
}

/** What somebody passes on they have not written, and maybe not read. */
function attachedIn(content: Content): readonly Origin[] {
  return Array.isArray(content) && content.some((part) => part.type === "file") ? ["file"] : [];
}

function originOf(origin: string | undefined): Origin {
  const known: readonly string[] = ["trusted", "tool", "web", "file", "memory", "agent"] satisfies Origin[];
  return origin !== undefined && known.includes(origin) ? (origin as Origin) : "tool";
}

export function sayerOf(by: Principal): Origin {
  const [kind] = by.split(":");
  // What the runtime says it says of its own accord, in words of the program.
  if (kind === "user") return "user";
  return kind === "runtime" ? "system" : kind === "agent" ? "agent" : "tool";
}

function withOrigin(labels: Labels, origin: Origin, source: FactId): Labels {
  return Object.hasOwn(labels, origin) ? labels : Object.freeze({ ...labels, [origin]: source });
}

function united(sides: readonly Labels[]): Labels {
  const [first = {}, ...others] = sides;
  const more = others
    .flatMap((side) => Object.entries(side))
    .filter(([origin]) => !Object.hasOwn(first, origin));
  return more.length === 0 ? first : Object.freeze({ ...Object.fromEntries(more), ...first });
}

function untrustedOf(labels: Labels): Labels {
  return Object.fromEntries(Object.entries(labels).filter(([origin]) => !isTrusted(origin))) as Labels;
}

/** Whether everything that a value says was said in just these words by somebody who is trusted. */
export function isSaidByTrusted(value: Json | undefined, session: Session): boolean {
  const leaves = [...leavesOf(value ?? null)];
  if (leaves.length === 0) return true;
  const texts = trustedTexts(session);
  return leaves.every((leaf) => texts.some((text) => hasWord(text, leaf)));
}

function* leavesOf(value: Json): Generator<string, void> {
  if (typeof value === "string" || typeof value === "number") yield String(value);
  else if (Array.isArray(value)) for (const one of value) yield* leavesOf(one as Json);
  else if (typeof value === "object" && value !== null)
    for (const [key, one] of Object.entries(value)) {
      yield key;
      yield* leavesOf(one as Json);
    }
}

/** What the user and the system said, on the way to a session. */
function trustedTexts(session: Session): readonly string[] {
  const texts: string[] = [];
  for (const { fact } of session.history())
    if (fact.type === "session-start" || fact.type === "message-say")
      if (isTrusted(originsOf(fact)[0] ?? "") && !isQuoting(fact.by))
        texts.push(textOf(fact.type === "session-start" ? (fact.text ?? "") : fact.content));
  return texts;
}

/** What the runtime says may repeat what a model said. */
function isQuoting(by: Principal): boolean {
  return by === "runtime" || by.startsWith("runtime:");
}

function textOf(content: Content): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((part) => (part.type === "text" ? part.text : "")).join("\n");
}

/** As a word of its own: what is part of another word was not said. */
function hasWord(text: string, word: string): boolean {
  const trimmed = word.trim();
  if (trimmed === "") return true;
  for (let at = text.indexOf(trimmed); at >= 0; at = text.indexOf(trimmed, at + 1)) {
    const end = at + trimmed.length;
    if (!goesOn(text[at - 1], text[at - 2]) && !goesOn(text[end], text[end + 1])) return true;
  }
  return false;
}

/**
 * Whether a word goes on with this character: an address, a path, a number or a word. With a full stop, a comma or a colon
 * it does where more follows, so that the end of a sentence is one.
 */
function goesOn(character = " ", beyond = " "): boolean {
  return isWordly(character) || (/[.,:]/.test(character) && isWordly(beyond));
}

function isWordly(character: string): boolean {
  return /[\p{L}\p{N}_@/\\+%-]/u.test(character);
}
