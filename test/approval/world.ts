import { createHash } from "node:crypto";
import { type Json, type Module, workflow } from "openrath";
import { canonical, performAll, type Request } from "openrath/runtime";

/** One call of the program: what it does, and what it shows to whoever shall agree. */
export type Call = {
  readonly name: string;
  readonly input: Json /** What it makes of its input. */;
  readonly used?: Json;
};

/** What is really done, by the bytes of it, however it came to be. */
export class World {
  readonly done: string[] = [];

  /** Calls side by side, each of which needs somebody's agreement. */
  program(calls: readonly Call[]): Module {
    return workflow("program", (session) =>
      performAll(
        session,
        calls.map((call) => this.#request(call)),
      ),
    );
  }

  #request({ name, input, used = input }: Call): Request {
    return {
      fact: { type: "step-call", name, input, effect: "write" },
      effect: "write",
      act: async () => {
        this.done.push(bytesOf({ name, input: used }));
        return { type: "step-result", value: name };
      },
      failed: (error) => ({ type: "step-failure", error }),
      approval: { what: { name, input: used } },
      edit: async (changed) => this.#request({ name, input: changed }),
    };
  }
}

/** Told apart by bytes, with this test's own hash. */
export function bytesOf(value: Json): string {
  return createHash("sha256").update(canonical(value)).digest("hex");
}
