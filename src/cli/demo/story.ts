import { describeFact, type Fact, type FactId, toneOf } from "../../session/index.js";
import type { Shell } from "../shell.js";
import { brief, count, oneLine } from "../text.js";

/** A fact of the run as it is told: in the process that is killed, and in the one that goes on. */
export type Seen = { readonly id: FactId; readonly branch: string; readonly fact: Fact };

/** Tells a run while it goes on, a line for each thing that somebody who watches wants to know. */
export class Story {
  readonly #shell: Shell;
  /** Who asked for what, by the id of the request: what tools do is told of whoever called them. */
  readonly #asked = new Map<FactId, string>();
  readonly #steps = new Map<FactId, string>();
  /** Where the validator said no for the first time. */
  rejection: FactId | undefined;
  facts = 0;

  constructor(shell: Shell) {
    this.#shell = shell;
  }

  see({ id, branch, fact }: Seen): void {
    this.facts += 1;
    if (fact.type === "step-call") this.#steps.set(id, fact.name);
    if (fact.type === "tool-call") this.#asked.set(id, nameOf(fact.by));
    if (fact.type === "validation-report" && fact.name === "review" && !fact.passed) this.rejection ??= id;
    const told = this.#words(fact);
    if (told === undefined) return;
    const where = branch === "main" ? "" : this.#shell.cyan(`[${oneLine(branch, 20)}] `);
    this.#shell.say(`  ${this.#shell.dim(this.#who(fact).padEnd(10))} ${where}${told}`);
  }

  /** Who did it, as a column. */
  #who(fact: Fact): string {
    if (fact.type === "branch-fork" || fact.type === "branch-merge" || fact.type === "workspace-merge")
      return "workflow";
    const of = "of" in fact && typeof fact.of === "string" ? fact.of : "";
    if (this.#steps.get(of)?.startsWith("remember in")) return "validator";
    return oneLine(this.#asked.get(of) ?? nameOf(fact.by), 10);
  }

  #words(fact: Fact): string | undefined {
    const paints = paintsOf(this.#shell);
    const room = Math.max(40, this.#shell.columns - 24);
    switch (fact.type) {
      case "tool-call":
        return fact.name === "view" ? `read ${brief(Object(fact.input).path, 60)}` : undefined;
      case "memory-read":
        return `recalled ${count(fact.hits.length, "note")}${fact.hits.map(({ text, score }) => `\n${" ".repeat(15)}${score.toFixed(2)} ${brief(text, room)}`).join("")}`;
      case "validation-report":
        return validationWords(fact, { ...paints, room });
      case "sandbox-lose":
        return paints.red("lost the sandbox with the process; another one is opened from the recorded files");
      case "step-result":
        return this.#steps.get(fact.of)?.startsWith("remember in")
          ? "remembered what the failure taught"
          : undefined;
      default: {
        if (!SHOWN.has(fact.type)) return undefined;
        const words = describeFact(fact, { most: room, each: room });
        return toneOf(fact) === "bad" ? paints.red(words) : words;
      }
    }
  }
}

/** What is told in the words of every fact. */
const SHOWN: ReadonlySet<string> = new Set([
  "workspace-import",
  "workspace-change",
  "workspace-merge",
  "command-run",
  "branch-fork",
  "branch-merge",
  "budget-stop",
  "model-failure",
  "tool-failure",
  "step-failure",
] satisfies Fact["type"][]);

type Paint = (text: string) => string;
type Paints = { readonly bold: Paint; readonly green: Paint; readonly red: Paint };

export function paintsOf(shell: Shell): Paints {
  return {
    bold: (text) => shell.bold(text),
    green: (text) => shell.green(text),
    red: (text) => shell.red(text),
  };
}

/** What a check came to, in words. */
export function validationWords(
  { name, passed, detail }: Extract<Fact, { type: "validation-report" }>,
  { green, red, room, failures: most = 2 }: Paints & { readonly room: number; readonly failures?: number },
): string | undefined {
  const {
    passed: good,
    total,
    failures,
    reason,
  } = Object(detail) as {
    readonly passed?: number;
    readonly total?: number;
    readonly failures?: readonly { readonly name: string; readonly message: string }[];
    readonly reason?: string;
  };
  if (name === "review")
    return passed
      ? `${green("accepted it")}: ${brief(reason, room)}`
      : `${red("rejected it")}: ${brief(reason, room * 2)}`;
  if (name !== "tests") return undefined;
  const numbers = `${good ?? "?"} of ${total ?? "?"} tests pass`;
  const failed = (failures ?? [])
    .slice(0, most)
    .map(({ name: test }) => `\n${" ".repeat(15)}${red("✗")} ${brief(test, room)}`);
  return `${passed ? green(numbers) : red(numbers)}${failed.join("")}`;
}

function nameOf(by: string): string {
  return by.replace(/^(agent|tool|service|user|runtime):/, "");
}
