import {
  agent,
  type Json,
  type Module,
  type Principal,
  type Session,
  scripted,
  type Tool,
  tool,
  workflow,
} from "openrath";
import type { PolicyRule } from "openrath/policy";
import { moduleTool } from "openrath/tool";
import { perform, performAll } from "../../src/runtime/module-api.js";
import type { Request } from "../../src/runtime/request/request.js";
import { canonical } from "../../src/session/json.js";
import type { Dice } from "../adversary/dice.js";

export const PEOPLE: readonly Principal[] = ["user:ada", "user:bob", "user:cy", "user:dee", "user:eve"];
/** On whose agreement something is done. */
export type Terms = NonNullable<PolicyRule["approval"]>;
export const HOUR = 3_600_000;

/** One call of a program: what it does, and on whose agreement. */
export type Call = {
  readonly name: string;
  readonly kind: "write" | "read" | "module";
  readonly amount: number;
  /** What the call itself wants, whatever the rules say. */
  readonly own: Terms | undefined;
  /** Whether its reconciler can tell what became of it. */
  readonly known: boolean;
  readonly alone: boolean;
};

/** A program whose calls need agreement, and the rules that want it. */
export type Bargain = {
  readonly by: "agent" | "steps";
  readonly calls: readonly Call[];
  readonly rules: readonly PolicyRule[];
};

const SCHEMA = { type: "object", properties: { amount: { type: "number" } }, required: ["amount"] } as const;

function someOf<Value>(dice: Dice, values: readonly Value[], least: number): readonly Value[] {
  const left = [...values];
  const size = least + dice.below(Math.min(3, left.length - least + 1));
  return Array.from({ length: size }, () => left.splice(dice.below(left.length), 1)[0] as Value);
}

export function someTerms(dice: Dice, levels = 3): Terms {
  const need = dice.pick([1, 1, 2, 2, 3]);
  const from = need === 1 && dice.happens(0.1) ? undefined : someOf(dice, PEOPLE, need);
  const within = dice.happens(0.5) ? HOUR * (1 + dice.below(3)) : undefined;
  return {
    ...(from !== undefined && { from }),
    ...(dice.happens(0.9) || need > 1 ? { need } : {}),
    ...(within !== undefined && { within }),
    ...(within !== undefined && levels > 0 && dice.happens(0.6)
      ? { otherwise: someTerms(dice, levels - 1) }
      : {}),
  };
}

export function someRules(dice: Dice, calls: readonly Call[], by: Bargain["by"]): readonly PolicyRule[] {
  return Array.from({ length: dice.below(4) }, (_, place): PolicyRule => {
    const names = someOf(
      dice,
      calls.map(({ name }) => name),
      1,
    );
    const about = by === "agent" ? { tool: names } : { step: names };
    const amount = dice.happens(0.4) ? { amount: { above: dice.below(4) } } : {};
    if (dice.happens(0.06))
      return { name: `rule${place}`, verdict: "deny", ...about, amount: { above: 3 + dice.below(2) } };
    return {
      name: `rule${place}`,
      verdict: "ask",
      ...about,
      ...amount,
      ...(dice.happens(0.95) && { approval: someTerms(dice) }),
    };
  });
}

export function someBargain(dice: Dice): Bargain {
  const by = dice.pick(["agent", "steps"] as const);
  const calls = Array.from(
    { length: 1 + dice.below(3) },
    (_, place): Call => ({
      name: `call${place}`,
      kind: dice.pick(["write", "write", "write", "read", "module"] as const),
      amount: 1 + dice.below(4),
      own: dice.happens(0.35) ? (dice.happens(0.15) ? {} : someTerms(dice)) : undefined,
      known: dice.happens(0.7),
      alone: dice.happens(0.2),
    }),
  );
  return { by, calls, rules: someRules(dice, calls, by) };
}

/** The bytes of what a call is made with. */
export const bytesOf = (input: unknown): string => canonical(input as Json);

/** What was really done, with what, and when. */
export class Ledger {
  readonly done: { readonly name: string; readonly bytes: string; readonly order: number }[] = [];
  #order = 0;

  /** Counts what happens, so that it can be told what came first. */
  next(): number {
    this.#order += 1;
    return this.#order;
  }

  has(name: string): boolean {
    return this.done.some((one) => one.name === name);
  }

  /** The program, as each process that goes on with it makes it anew. */
  program(bargain: Bargain): Module {
    if (bargain.by === "steps")
      return workflow("program", (session: Session) =>
        performAll(
          session,
          bargain.calls.map((call) => this.#request(call, call.amount)),
        ),
      );
    const called = bargain.calls.map(({ name, amount }) => ({ tool: name, input: { amount } }));
    return agent({
      name: "clerk",
      model: scripted({ call: called } as never, "Done."),
      tools: bargain.calls.map((call) => this.#tool(call)),
    });
  }

  async #do(name: string, input: Json): Promise<string> {
    // What takes no time at all could not be interrupted.
    await new Promise(setImmediate);
    this.done.push({ name, bytes: bytesOf(input), order: this.next() });
    return name;
  }

  #tool(call: Call): Tool {
    const { name, kind, own, known, alone } = call;
    const approval = own === undefined ? {} : { approval: Object.keys(own).length === 0 ? true : own };
    const conflicts = alone ? { conflicts: ["one"] } : {};
    if (kind === "module") {
      const body = workflow(name, (session: Session) => {
        // What it is told is the only message on its branch that is a value.
        const said = [...session.history()].map(({ fact }) => fact);
        const { content } = said.find(
          (fact) => fact.type === "message-say" && String(fact.content).startsWith("{"),
        ) as { readonly content: string };
        return perform(session, this.#action(call, JSON.parse(content) as Json));
      });
      return moduleTool(body, {
        description: "Does it.",
        input: SCHEMA,
        say: (input) => JSON.stringify(input),
        answer: () => name,
        ...approval,
        ...conflicts,
      }) as Tool;
    }
    return tool({
      name,
      description: "Does it.",
      input: SCHEMA,
      effect: kind,
      touches: ({ amount }) => ({ amount: Number(amount) }),
      ...approval,
      ...conflicts,
      ...(known && { reconcile: async () => (this.has(name) ? { output: name } : "again") }),
      run: (input) => this.#do(name, input as Json),
    }) as Tool;
  }

  #action({ name, known }: Call, input: Json): Request {
    return {
      fact: { type: "step-call", name: "action", input, effect: "write" },
      effect: "write",
      act: async () => ({ type: "step-result", value: await this.#do(name, input) }),
      failed: (error) => ({ type: "step-failure", error }),
      ...(known && {
        reconcile: async () => (this.has(name) ? { type: "step-result", value: name } : "again"),
      }),
    };
  }

  #request(call: Call, amount: number): Request {
    const { name, kind, own, alone } = call;
    const effect = kind === "module" ? "pure" : kind;
    const input = { amount };
    return {
      ...this.#action(call, input),
      fact: { type: "step-call", name, input, effect },
      effect,
      touches: { amount },
      ...(alone && { conflicts: ["one"] }),
      ...(own !== undefined && { approval: { what: { step: name, input }, terms: own } }),
      ...(kind === "module"
        ? {
            inside: {
              branch: name,
              body: (fork: Session) => perform(fork, this.#action(call, input)),
              outcome: () => ({ type: "step-result", value: name }),
            },
          }
        : {
            edit: async (changed: Json) => {
              const { amount: other } = changed as { readonly amount?: Json };
              return typeof other === "number"
                ? this.#request(call, other)
                : { name: "InputError", message: "the amount is no number" };
            },
          }),
    };
  }
}
