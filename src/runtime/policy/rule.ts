import { isIPv6 } from "node:net";
import { posix } from "node:path";
import { type Effect, isPerson, type Terms } from "../../session/index.js";
import { nearestOf } from "../../util/index.js";
import type { Action, Verdict } from "./action.js";
import { givenLeaves, leavesAt, propertiesOf } from "./argument.js";
import { untrustedIn } from "./labels.js";
import { isAskedFor, TrustedStatements } from "./trusted-statements.js";

/**
 * A verdict about some actions. Every condition that the rule names must hold. Texts may have wildcards (`*`; in paths
 * `*` for a part and `**` for any number of them); of a list, one is enough.
 */
export type PolicyRule = {
  /** How it stands on the record. */
  readonly name: string;
  readonly verdict: Verdict;
  /** The principal who wants it: "agent:coder", "agent:*". */
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
  /** Anything else; at once, and from the action alone. */
  readonly when?: (action: Action) => boolean;
  /** The reason for a person who is asked, or for the model when the call is refused. */
  readonly why?: string;
  /** With the verdict "ask": who is asked, how many must agree, by when, and who is asked after that. */
  readonly approval?: Terms;
};

/** Whether a rule meets an action. */
export function isMet(rule: PolicyRule, action: Action): boolean {
  return CONDITIONS.every((condition) => condition(rule, action));
}

type Condition = (rule: PolicyRule, action: Action) => boolean;

const CONDITIONS: readonly Condition[] = [
  ({ by, verdict }, action) => by === undefined || isAny(by, action.by, verdict),
  ({ for: behalf, verdict }, action) =>
    behalf === undefined || action.for.some((one) => isAny(behalf, one, verdict)),
  ({ tool, step, model, verdict }, { kind, name }) => {
    if (tool === undefined && step === undefined && model === undefined) return kind !== "model";
    const named = { tool, step, model }[kind];
    return named !== undefined && isAny(named, name, verdict);
  },
  ({ effect }, action) => effect === undefined || listOf(effect).includes(action.effect),
  ({ irreversible }, { reversible }) => irreversible === undefined || irreversible === !reversible,
  (rule, action) =>
    isTouched(rule, action, rule.path, action.touches?.paths, (pattern, path) =>
      fitsPattern(plain(pattern), plain(path), true),
    ),
  (rule, action) => isTouched(rule, action, rule.command, action.touches?.commands, hasCommand),
  (rule, action) => isTouched(rule, action, rule.host, knownHosts(action), hasHost),
  (rule, action) => {
    const { amount, verdict } = rule;
    if (amount === undefined) return true;
    const { above = Number.NEGATIVE_INFINITY, upTo = Number.POSITIVE_INFINITY } = amount;
    const known = action.touches?.amount;
    return typeof known !== "number" || Number.isNaN(known)
      ? isFeared(verdict, action)
      : known > above && known <= upTo;
  },
  ({ untrusted, tool }, action) => {
    if (untrusted === undefined) return true;
    if (untrusted === true) return untrustedIn(action.session).length > 0;
    if (untrusted === "call") return untrustedIn(action.session).length > 0 && !isCallSaid(action);
    requireArguments(action, untrusted, tool);
    const statements = TrustedStatements.of(action.session, action.by);
    return untrusted.some((path) => !leavesAt(action, path).every((leaf) => statements.has(leaf)));
  },
  ({ when }, action) => {
    if (when === undefined) return true;
    const said: unknown = when(action);
    // A promise, or something that is only like yes, would let pass what it was to stop.
    if (typeof said !== "boolean") throw new TypeError("its `when` said neither true nor false");
    return said;
  },
];

/** Of what is touched, all must be meant by a rule that allows, and one is enough for one that does not. */
function isTouched(
  rule: PolicyRule,
  action: Action,
  patterns: PolicyRule["host"],
  touched: readonly string[] | undefined,
  has: (pattern: string, text: string, permits: boolean) => boolean,
): boolean {
  if (patterns === undefined) return true;
  if (touched === undefined) return isFeared(rule.verdict, action);
  const isExcept = typeof patterns === "object" && "except" in patterns;
  const listed = listOf(isExcept ? patterns.except : patterns);
  const permits = (rule.verdict === "allow") !== isExcept;
  const isMeant = (text: string) => listed.some((pattern) => has(pattern, text, permits)) !== isExcept;
  return rule.verdict === "allow" ? touched.length > 0 && touched.every(isMeant) : touched.some(isMeant);
}

/** A call that does not say what it touches may touch anything, unless it is pure. */
function isFeared(verdict: Verdict, { effect }: Action): boolean {
  return verdict !== "allow" && effect !== "pure";
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
  return fitsPattern(pattern, command);
}

/** A name, or an address in the form that URLs have, and a port: a colon in the middle of a name would end it. */
const HOST = /^(?:[\p{L}\p{M}\p{N}._-]+|\[[\da-f:.]+\])(?::\d+)?$/u;

/** The hosts that an action touches. With one that cannot be the name of a host, nobody knows where it leads. */
function knownHosts({ touches }: Action): readonly string[] | undefined {
  const hosts = touches?.hosts?.map((host) => host.toLowerCase().replace(/(?<=.)\.(?=$|:)/, ""));
  return hosts?.every((host) => HOST.test(host) || isIPv6(host)) === true ? hosts : undefined;
}

/** A rule that permits a host without a port does not permit its other ports; one that denies it denies all of them. */
function hasHost(pattern: string, host: string, permits: boolean): boolean {
  const wanted = pattern.toLowerCase();
  return fitsPattern(wanted, host) || (!permits && fitsPattern(wanted, host.replace(/:\d+$/, "")));
}

/** A wildcard of a rule that allows does not stand for line breaks and the like: such a name is made to look like another. */
function isAny(patterns: string | readonly string[], text: string, verdict: Verdict): boolean {
  const isOdd = verdict === "allow" && /\p{Cc}/u.test(text);
  return listOf(patterns).some((pattern) => (isOdd ? pattern === text : fitsPattern(pattern, text)));
}

/** Whether those who are trusted asked for what a tool does, and said everything that it is given. */
function isCallSaid(action: Action): boolean {
  const statements = TrustedStatements.of(action.session, action.by);
  const leaves = givenLeaves(action);
  if (!leaves.every((leaf) => statements.has(leaf))) return false;
  // A person who typed the arguments asks for the call.
  return (
    (action.editor !== undefined && isPerson(action.editor)) ||
    isAskedFor(action.name, statements.words(), leaves.length > 0)
  );
}

/** A rule about an argument that its tool does not have is a slip, and would meet every call or none. */
function requireArguments(
  { input, schema, name }: Action,
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

/**
 * Whether a text fits a pattern with wildcards: `*` stands for anything, in a path for anything but "/", where `**` stands
 * for anything. All places where a part may end are looked at side by side, so no text takes long.
 */
export function fitsPattern(pattern: string, text: string, isPath = false): boolean {
  // The places in the text where the parts so far may end.
  let ends: readonly boolean[] = Array.from({ length: text.length + 1 }, (_, place) => place === 0);
  for (const part of pattern.split(/(\*\*\/?|\*)/)) {
    if (part === "") continue;
    ends = after(part === "*" && !isPath ? "**" : part, text, ends);
    if (!ends.includes(true)) return false;
  }
  return ends[text.length] === true;
}

function after(part: string, text: string, ends: readonly boolean[]): readonly boolean[] {
  // Whether what a wildcard stands for may go on to this place.
  let goesOn = false;
  return ends.map((isEnd, place) => {
    switch (part) {
      case "**":
        goesOn ||= isEnd;
        return goesOn;
      case "**/": {
        const isHere = isEnd || (goesOn && text[place - 1] === "/");
        goesOn ||= isEnd;
        return isHere;
      }
      case "*":
        goesOn = isEnd || (goesOn && text[place - 1] !== "/");
        return goesOn;
      default:
        return (
          place >= part.length &&
          ends[place - part.length] === true &&
          text.startsWith(part, place - part.length)
        );
    }
  });
}
