import { isIPv6 } from "node:net";
import { posix } from "node:path";
import { type Effect, isPerson, type Terms } from "../../session/index.js";
import { nearestOf } from "../../util/index.js";
import { isAskedFor } from "./act.js";
import { givenLeaves, leavesAt, propertiesOf } from "./argument.js";
import type { Deed, Verdict } from "./deed.js";
import { untrustedIn } from "./labels.js";
import { Pattern } from "./pattern.js";
import { Sayings } from "./said.js";

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
  /** Hosts that the call reaches, by reading or writing: a request that only reads also sends data. `except`: all other hosts. */
  readonly host?: string | readonly string[] | { readonly except: string | readonly string[] };
  readonly amount?: { readonly above?: number; readonly upTo?: number };
  /**
   * true: the conversation has untrusted content. "call": it has, and no trusted source asked for this call: the user, the
   * system and the instructions did not say one of its arguments, or did not ask for the act of the tool. A list: they did not
   * say one of these arguments, or it is missing; "to.email" is a path, in which `*` stands for any one name.
   */
  readonly untrusted?: true | "call" | readonly string[];
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
  ({ by, verdict }, deed) => by === undefined || isAny(by, deed.by, verdict),
  ({ for: behalf, verdict }, deed) =>
    behalf === undefined || deed.for.some((one) => isAny(behalf, one, verdict)),
  ({ tool, step, model, verdict }, { kind, name }) => {
    if (tool === undefined && step === undefined && model === undefined) return kind !== "model";
    const named = { tool, step, model }[kind];
    return named !== undefined && isAny(named, name, verdict);
  },
  ({ effect }, deed) => effect === undefined || listOf(effect).includes(deed.effect),
  ({ irreversible }, { reversible }) => irreversible === undefined || irreversible === !reversible,
  (rule, deed) => isTouched(rule, deed, rule.path, deed.touches?.paths, hasPath),
  (rule, deed) => isTouched(rule, deed, rule.command, deed.touches?.commands, hasCommand),
  (rule, deed) => isTouched(rule, deed, rule.host, knownHosts(deed), hasHost),
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
    if (untrusted === "call") return untrustedIn(deed.session).length > 0 && !isCallSaid(deed);
    requireArguments(deed, untrusted, tool);
    const sayings = Sayings.of(deed.session, deed.by);
    return untrusted.some((path) => !leavesAt(deed, path).every((leaf) => sayings.has(leaf)));
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
  patterns: PolicyRule["host"],
  touched: readonly string[] | undefined,
  has: (pattern: string, text: string, permits: boolean) => boolean,
): boolean {
  if (patterns === undefined) return true;
  if (touched === undefined) return isFeared(rule.verdict, deed);
  const isExcept = typeof patterns === "object" && "except" in patterns;
  const listed = listOf(isExcept ? patterns.except : patterns);
  const permits = (rule.verdict === "allow") !== isExcept;
  const isMeant = (text: string) => listed.some((pattern) => has(pattern, text, permits)) !== isExcept;
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

function hasCommand(pattern: string, command: string, permits: boolean): boolean {
  if (pattern === command) return true;
  if (permits && /[;&|`$<>(){}\n\\]/.test(command)) return false;
  return new Pattern(pattern).matches(command);
}

/** A name, or an address in the form that URLs have, and a port: a colon in the middle of a name would end it. */
const HOST = /^(?:[\p{L}\p{M}\p{N}._-]+|\[[\da-f:.]+\])(?::\d+)?$/u;

/** The hosts that a deed touches. With one that cannot be the name of a host, nobody knows where it leads. */
function knownHosts({ touches }: Deed): readonly string[] | undefined {
  const hosts = touches?.hosts?.map((host) => host.toLowerCase().replace(/(?<=.)\.(?=$|:)/, ""));
  return hosts?.every((host) => HOST.test(host) || isIPv6(host)) === true ? hosts : undefined;
}

/** What permits a host without a port does not permit its other ports; what stops it stops them too. */
function hasHost(pattern: string, host: string, permits: boolean): boolean {
  const wanted = new Pattern(pattern.toLowerCase());
  return wanted.matches(host) || (!permits && wanted.matches(host.replace(/:\d+$/, "")));
}

/** A wildcard of a rule that allows does not stand for line breaks and the like: such a name is made to look like another. */
function isAny(patterns: string | readonly string[], text: string, verdict: Verdict): boolean {
  const isOdd = verdict === "allow" && /\p{Cc}/u.test(text);
  return listOf(patterns).some((pattern) => (isOdd ? pattern === text : new Pattern(pattern).matches(text)));
}

/** Whether those who are trusted asked for what a tool does, and said everything that it is given. */
function isCallSaid(deed: Deed): boolean {
  const sayings = Sayings.of(deed.session, deed.by);
  const leaves = givenLeaves(deed);
  if (!leaves.every((leaf) => sayings.has(leaf))) return false;
  // Whoever typed the arguments asks for it.
  return (
    (deed.editor !== undefined && isPerson(deed.editor)) ||
    isAskedFor(deed.name, sayings.words(), leaves.length > 0)
  );
}

/** A rule about an argument that its tool does not have is a slip, and would meet every call or none. */
function requireArguments(
  { input, schema, name }: Deed,
  paths: readonly string[],
  tool: PolicyRule["tool"],
): void {
  const declared = propertiesOf(schema);
  if (declared === undefined || tool === undefined || !listOf(tool).includes(name)) return;
  const known = new Set([...Object.keys(declared), ...Object.keys(Object(input)), "*"]);
  const unknown = paths.find((path) => !known.has(path) && !known.has(path.split(".")[0] as string));
  if (unknown === undefined) return;
  const meant = nearestOf(unknown, [...known]);
  throw new TypeError(
    `${name} has no argument ${JSON.stringify(unknown)}${meant === undefined ? "" : `, did you mean ${JSON.stringify(meant)}?`}`,
  );
}

function listOf<Value>(value: Value | readonly Value[]): readonly Value[] {
  return Array.isArray(value) ? value : [value as Value];
}
