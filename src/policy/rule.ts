import { posix } from "node:path";
import { canonical, type Effect, type Json, nearestOf, type Terms } from "../session/index.js";
import type { Deed, Verdict } from "./deed.js";
import { isSaidByTrusted, sayerOf, untrustedIn } from "./labels.js";
import { Pattern } from "./pattern.js";

/**
 * What a policy says about some deeds. Every condition that it names must hold. Texts may have wildcards (`*`; in paths
 * `*` for a part and `**` for any number of them); of a list, one is enough.
 */
export type PolicyRule = {
  /** How it stands on the record. */
  readonly name: string;
  readonly verdict: Verdict;
  /** Who: "agent:coder", "agent:*". */
  readonly by?: string | readonly string[];
  /** On whose behalf, of all who let it: "user:ada" began the run, "agent:boss" let the agent work for it. */
  readonly for?: string | readonly string[];
  readonly tool?: string | readonly string[];
  readonly step?: string | readonly string[];
  readonly model?: string | readonly string[];
  readonly effect?: Effect | readonly Effect[];
  /** Whether it cannot be undone. */
  readonly irreversible?: boolean;
  readonly path?: string | readonly string[];
  /** The whole text of a command. A rule that allows with a wildcard never meets what could be more than one command. */
  readonly command?: string | readonly string[];
  readonly host?: string | readonly string[];
  readonly amount?: { readonly above?: number; readonly upTo?: number };
  /** true: something in the conversation is not trusted. A list: one of these arguments was said by nobody who is. */
  readonly untrusted?: true | readonly string[];
  /** Anything else; at once, and from the deed alone. */
  readonly when?: (deed: Deed) => boolean;
  /** What whoever is refused, or asked, reads. */
  readonly why?: string;
  /** With the verdict "ask": who is asked, how many must agree, by when, and who is asked after that. */
  readonly approval?: Terms;
};

/** Whether a rule meets a deed. */
export function isMet(rule: PolicyRule, deed: Deed): boolean {
  return CONDITIONS.every((condition) => condition(rule, deed));
}

type Condition = (rule: PolicyRule, deed: Deed) => boolean;

const CONDITIONS: readonly Condition[] = [
  ({ by }, deed) => by === undefined || isAny(by, deed.by),
  (rule, deed) => rule.for === undefined || deed.for.some((one) => isAny(rule.for as string, one)),
  ({ tool, step, model }, { kind, name }) => {
    if (tool === undefined && step === undefined && model === undefined) return kind !== "model";
    const named = { tool, step, model }[kind];
    return named !== undefined && isAny(named, name);
  },
  ({ effect }, deed) => effect === undefined || listOf(effect).includes(deed.effect),
  ({ irreversible }, { reversible }) => irreversible === undefined || irreversible === !reversible,
  (rule, deed) => isTouched(rule, deed, "path", deed.touches?.paths, hasPath),
  (rule, deed) => isTouched(rule, deed, "command", deed.touches?.commands, hasCommand),
  (rule, deed) => isTouched(rule, deed, "host", deed.touches?.hosts, hasHost),
  (rule, deed) => {
    const { amount, verdict } = rule;
    if (amount === undefined) return true;
    const { above = Number.NEGATIVE_INFINITY, upTo = Number.POSITIVE_INFINITY } = amount;
    const known = deed.touches?.amount;
    return typeof known !== "number" || Number.isNaN(known)
      ? isFeared(verdict, deed)
      : known > above && known <= upTo;
  },
  ({ untrusted, tool }, deed) => {
    if (untrusted === undefined) return true;
    if (untrusted === true) return untrustedIn(deed.session).length > 0;
    requireArguments(deed, untrusted, tool);
    return untrusted.some(
      (argument) =>
        !isTyped(deed, argument) && !isSaidByTrusted(argumentOf(deed.input, argument), deed.session),
    );
  },
  ({ when }, deed) => {
    if (when === undefined) return true;
    const said: unknown = when(deed);
    // A promise, or something that is only like yes, would let pass what it was to stop.
    if (typeof said !== "boolean") throw new TypeError("its `when` said neither true nor false");
    return said;
  },
];

/** Of what is touched, all must be meant by a rule that allows, and one is enough for one that does not. */
function isTouched(
  rule: PolicyRule,
  deed: Deed,
  condition: "path" | "command" | "host",
  touched: readonly string[] | undefined,
  has: (pattern: string, text: string, verdict: Verdict) => boolean,
): boolean {
  const patterns = rule[condition];
  if (patterns === undefined) return true;
  if (touched === undefined) return isFeared(rule.verdict, deed);
  const isMeant = (text: string) => listOf(patterns).some((pattern) => has(pattern, text, rule.verdict));
  return rule.verdict === "allow" ? touched.length > 0 && touched.every(isMeant) : touched.some(isMeant);
}

/** What does not say what it touches may touch anything, unless it touches nothing. */
function isFeared(verdict: Verdict, { effect }: Deed): boolean {
  return verdict !== "allow" && effect !== "pure";
}

function hasPath(pattern: string, path: string): boolean {
  return new Pattern(plain(pattern), true).matches(plain(path));
}

/** Without detours: "a/../b" is "b". */
function plain(path: string): string {
  return posix
    .normalize(path)
    .replace(/^(?:\.\/)+/, "")
    .replace(/(?<=.)\/+$/, "");
}

function hasCommand(pattern: string, command: string, verdict: Verdict): boolean {
  if (pattern === command) return true;
  if (verdict === "allow" && /[;&|`$<>(){}\n\\]/.test(command)) return false;
  return new Pattern(pattern).matches(command);
}

function hasHost(pattern: string, host: string): boolean {
  return new Pattern(pattern.toLowerCase()).matches(host.toLowerCase());
}

function isAny(patterns: string | readonly string[], text: string): boolean {
  return listOf(patterns).some((pattern) => new Pattern(pattern).matches(text));
}

function argumentOf(input: Json, argument: string): Json | undefined {
  return typeof input === "object" &&
    input !== null &&
    !Array.isArray(input) &&
    Object.hasOwn(input, argument)
    ? (input as { readonly [key: string]: Json })[argument]
    : undefined;
}

/** A rule about an argument that its tool does not have is a slip, and would let everything pass. */
function requireArguments(deed: Deed, wanted: readonly string[], tool: PolicyRule["tool"]): void {
  const { arguments: known, name } = deed;
  if (known === undefined || tool === undefined || !listOf(tool).includes(name)) return;
  const unknown = wanted.find(
    (argument) => !known.includes(argument) && argumentOf(deed.input, argument) === undefined,
  );
  if (unknown === undefined) return;
  const meant = nearestOf(unknown, known);
  throw new TypeError(
    `${name} has no argument ${JSON.stringify(unknown)}${meant === undefined ? "" : `, did you mean ${JSON.stringify(meant)}?`}`,
  );
}

/** Whether a person put it there in place of something else. */
function isTyped({ editor, input, session }: Deed, argument: string): boolean {
  if (editor === undefined || sayerOf(editor) !== "user") return false;
  const { input: asked = null } = session.fact as { readonly input?: Json };
  const textOf = (from: Json) => canonical(argumentOf(from, argument) ?? null);
  return textOf(input) !== textOf(asked);
}

function listOf<Value>(value: Value | readonly Value[]): readonly Value[] {
  return Array.isArray(value) ? value : [value as Value];
}
