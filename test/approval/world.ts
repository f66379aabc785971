import { createHash } from "node:crypto";
import { type Json, type Module, type Session, workflow } from "openrath";
import { perform, performAll } from "../../src/runtime/module-api.js";
import type { Request } from "../../src/runtime/request/request.js";
import { canonical } from "../../src/session/json.js";

/** One call of the program: what it does, and whose agreement it takes. */
export type Call = {
  readonly name: string;
  readonly input: Json;
  /** What it makes of its input. */
  readonly used?: Json;
  /** How many of three must agree; 1 for anybody. */
  readonly need: 1 | 2;
  /** Whether a module does it, on a branch of the call. */
  readonly inside?: boolean;
};

const PEOPLE = ["user:ada", "user:bob", "user:cy"] as const;

/** What is really done, by the bytes of it, however it came to be. */
export class World {
  readonly done: { readonly name: string; readonly bytes: string }[] = [];

  /** Calls side by side, each of which needs somebody's agreement. */
  program(calls: readonly Call[]): Module {
    return workflow("program", (session) =>
      performAll(
        session,
        calls.map((call) => this.#request(call)),
      ),
    );
  }

  #request(call: Call): Request {
    const { name, input, used = input, need, inside = false } = call;
    const act = async (): Promise<{ type: "step-result"; value: Json }> => {
      this.done.push({ name, bytes: bytesOf({ name, input: used }) });
      return { type: "step-result", value: name };
    };
    const failed: Request["failed"] = (error) => ({ type: "step-failure", error });
    const action = { effect: "write", act, failed } as const;
    return {
      ...action,
      fact: { type: "step-call", name, input, effect: "write" },
      approval: {
        what: { name, input: used },
        ...(need === 2 && { terms: { from: PEOPLE, need: 2 } }),
      },
      ...(inside
        ? {
            inside: {
              branch: name,
              body: (fork: Session) =>
                perform(fork, { ...action, fact: { type: "step-call", name: "action", effect: "write" } }),
              outcome: () => ({ type: "step-result", value: name }),
            },
          }
        : { edit: async (changed: Json) => this.#request({ name, input: changed, need }) }),
    };
  }
}

/** Told apart by bytes, with this test's own hash. */
export function bytesOf(value: Json): string {
  return createHash("sha256").update(canonical(value)).digest("hex");
}
