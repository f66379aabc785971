import { canonical, digestOf, RathError, termsFault, thrownMessage } from "../../session/index.js";
import { defined, optionNames, unknownOption } from "../../util/index.js";
import type { Action, Policy, PolicyDecision, Verdict } from "./action.js";
import { isMet, type PolicyRule } from "./rule.js";

export type PolicyOptions = {
  /** The verdict where no rule applies. Default "allow". */
  readonly otherwise?: Verdict;
};

/**
 * Creates a policy from rules. When several rules match an action, the strictest verdict counts.
 *
 * ```ts
 * const careful = policy("careful", [
 *   { name: "payments", verdict: "ask", tool: "pay", amount: { above: 100 } },
 *   { name: "no secrets", verdict: "deny", path: ["secrets/**", ".env"] },
 *   { name: "not asked for", verdict: "ask", irreversible: true, untrusted: "call" },
 * ]);
 * const rath = openRath({ policy: careful });
 * ```
 */
export function policy(name: string, rules: readonly PolicyRule[], options: PolicyOptions = {}): Policy {
  check(name, rules, options);
  const { otherwise = "allow" } = options;
  const all = rules.map((rule) => Object.freeze({ ...rule }));
  // Functions are told apart by their source.
  const plain = all.map(({ when, ...rest }) => ({ ...rest, ...defined({ when: when && String(when) }) }));
  return Object.freeze({
    name,
    version: digestOf(canonical({ rules: plain, otherwise })),
    covers: (kind: Action["kind"]) => kind !== "model" || all.some(({ model }) => model !== undefined),
    decide: (action: Action) => decide(all, otherwise, action),
  });
}

const STRICT: readonly Verdict[] = ["allow", "ask", "deny"];

function decide(rules: readonly PolicyRule[], otherwise: Verdict, action: Action): PolicyDecision {
  const met: PolicyRule[] = [];
  for (const rule of rules) {
    try {
      if (isMet(rule, action)) met.push(rule);
    } catch (error) {
      // A rule that cannot tell must not let anything pass.
      const why = `the rule could not tell: ${thrownMessage(error)}`;
      met.push({ name: rule.name, verdict: "deny", why });
    }
  }
  const verdict = met.length === 0 ? otherwise : strictestOf(met.map((rule) => rule.verdict));
  const makers = met.filter((rule) => rule.verdict === verdict);
  const why = makers.flatMap((rule) => rule.why ?? []).join("; ");
  const approvals =
    verdict === "ask"
      ? makers.flatMap(({ name: rule, approval, why: reason }) =>
          approval === undefined ? [] : [{ rule, ...approval, ...defined({ why: reason }) }],
        )
      : [];
  return {
    verdict,
    rules: makers.map((rule) => rule.name),
    ...(why !== "" && { why }),
    ...(approvals.length > 0 && { approvals }),
  };
}

export function strictestOf(verdicts: readonly Verdict[]): Verdict {
  return verdicts.reduce(
    (one, other) => (STRICT.indexOf(other) > STRICT.indexOf(one) ? other : one),
    "allow",
  );
}

const CONDITIONS = optionNames<PolicyRule>()(
  "name verdict by for tool step model effect irreversible path command host",
  "amount untrusted when why approval",
);
const TEXT: ReadonlySet<string> = new Set(["name", "why"]);
const TEXTS: ReadonlySet<string> = new Set("by for tool step model effect path command host".split(" "));

function check(name: unknown, rules: unknown, options: unknown): void {
  const example = 'policy("careful", [{ name: "payments", verdict: "ask", tool: "pay" }])';
  if (typeof name !== "string" || name === "") throw new PolicyError(String(name), "it has no name", example);
  const refuse = (reason: string, hint = example) => new PolicyError(name, reason, hint);
  if (!Array.isArray(rules)) throw refuse("its rules are not a list");
  if (typeof options !== "object" || options === null) throw refuse("its options are not an object");
  for (const option of Object.keys(options))
    if (option !== "otherwise")
      throw refuse(`it has no option ${JSON.stringify(option)}`, '{ otherwise: "ask" }');
  const { otherwise = "allow" } = options as PolicyOptions;
  if (!STRICT.includes(otherwise))
    throw refuse(`its otherwise is ${JSON.stringify(otherwise)}`, `one of ${STRICT.join(", ")}`);
  const names = new Set<string>();
  for (const rule of rules as readonly unknown[]) {
    checkRule(rule, refuse);
    const { name: called } = rule as PolicyRule;
    if (names.has(called))
      throw refuse(`two rules are called ${JSON.stringify(called)}`, "give each a name of its own");
    names.add(called);
  }
}

function checkRule(rule: unknown, refuse: (reason: string, hint?: string) => PolicyError): void {
  if (typeof rule !== "object" || rule === null) throw refuse(`a rule is ${String(rule)}`);
  const { name, verdict, amount, untrusted, when, irreversible, approval } = rule as Partial<PolicyRule>;
  if (typeof name !== "string" || name === "") throw refuse("a rule has no name");
  const at = `its rule ${JSON.stringify(name)}`;
  const unknown = unknownOption(rule, CONDITIONS);
  if (unknown !== undefined)
    throw refuse(`${at} has no condition ${JSON.stringify(unknown.name)}`, unknown.hint);
  for (const [field, value] of Object.entries(rule)) {
    const isList = TEXTS.has(field);
    if (value === undefined || !(isList || TEXT.has(field))) continue;
    const { except } = Object(value) as { readonly except?: unknown };
    const stated = field === "host" && except !== undefined ? except : value;
    const isTexts = (Array.isArray(stated) ? stated : [stated]).every(
      (one) => typeof one === "string" && one !== "",
    );
    if (!isTexts || (!isList && Array.isArray(value)))
      throw refuse(`${at}: \`${field}\` must be a text`, `${field}: "…"${isList ? " or a list" : ""}`);
  }
  if (verdict === undefined || !STRICT.includes(verdict))
    throw refuse(`${at} has no verdict`, 'verdict: "allow", "ask" or "deny"');
  const numbers = amount === undefined ? [] : Object.entries(amount);
  if (
    numbers.some(([field, value]) => !["above", "upTo"].includes(field) || !Number.isFinite(value)) ||
    (amount !== undefined && numbers.length === 0)
  )
    throw refuse(`${at}: \`amount\` must have a number \`above\` or \`upTo\``, "amount: { above: 100 }");
  if (
    untrusted !== undefined &&
    untrusted !== true &&
    untrusted !== "call" &&
    !(Array.isArray(untrusted) && untrusted.length > 0 && untrusted.every(isPath))
  )
    throw refuse(
      `${at} has an \`untrusted\` other than true, "call" or a list of arguments`,
      'untrusted: true, untrusted: "call", or untrusted: ["to", "items.id"]',
    );
  if (approval !== undefined && verdict !== "ask")
    throw refuse(`${at} has an approval and asks nobody`, 'verdict: "ask"');
  const fault = approval === undefined ? undefined : termsFault(approval);
  if (fault !== undefined) throw refuse(`${at}: ${fault.reason}`, fault.hint);
  if (when !== undefined && typeof when !== "function")
    throw refuse(`${at}: \`when\` must be a function`, "when: (action) => true");
  if (irreversible !== undefined && typeof irreversible !== "boolean")
    throw refuse(`${at} has an irreversible that is not true or false`);
}

function isPath(path: unknown): boolean {
  return typeof path === "string" && path.split(".").every((part) => part !== "");
}

/** The rules or options of a policy make no sense. */
export class PolicyError extends RathError {
  constructor(name: string, reason: string, hint: string) {
    super("policy-refused", `Cannot make the policy ${JSON.stringify(name)}: ${reason}.`, {
      hint,
      data: { name, reason },
    });
  }
}
