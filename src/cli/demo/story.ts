import type { Fact, FactId } from "../../session/index.js";
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
    const { bold, green, red } = paintsOf(this.#shell);
    const room = Math.max(40, this.#shell.columns - 24);
    switch (fact.type) {
      case "workspace-import":
        return `takes in ${count(fact.files, "file")}`;
      case "tool-call":
        return fact.name === "view" ? `reads ${brief(Object(fact.input).path, 60)}` : undefined;
      case "memory-read":
        return `recalls ${count(fact.hits.length, "note")}${fact.hits.map(({ text, score }) => `\n${" ".repeat(15)}${score.toFixed(2)} ${brief(text, room)}`).join("")}`;
      case "workspace-change":
        return `changes ${bold(fact.paths.map(({ path }) => oneLine(path, 60)).join(", "))}`;
      case "command-run":
        return `runs ${brief(fact.command, 60)} ${fact.code === 0 ? green("exit 0") : red(`exit ${fact.code ?? fact.outcome}`)}`;
      case "validation-report":
        return validationWords(fact, { bold, green, red, room });
      case "branch-fork":
        return `forks ${bold(oneLine(fact.name, 30))}: ${brief(fact.why, room)}`;
      case "branch-merge":
        return `merges: ${brief(fact.why, room)}`;
      case "workspace-merge":
        return `merges files: ${fact.paths.map(({ path }) => oneLine(path, 60)).join(", ")}`;
      case "sandbox-lose":
        return red("the sandbox went with the process; another one is opened from the recorded files");
      case "step-result":
        return this.#steps.get(fact.of)?.startsWith("remember in")
          ? "remembers what the failure taught"
          : undefined;
      case "budget-stop":
        return red(`the budget is spent: ${fact.limit}`);
      case "model-failure":
      case "tool-failure":
      case "step-failure":
        return red(brief(fact.error.message, room));
      default:
        return undefined;
    }
  }
}

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
      ? `${green("accepts it")}: ${brief(reason, room)}`
      : `${red("rejects it")}: ${brief(reason, room * 2)}`;
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
