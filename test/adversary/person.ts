import type { Json, Module, Rath, Session } from "openrath";
import { canonical } from "../../src/session/json.js";

/** How often somebody is asked in one run before it is taken to go in circles. */
const PATIENCE = 60;

/** Somebody who is asked, knows what the task needs, and agrees to that and to nothing else, byte for byte. */
export class Person {
  readonly needs: readonly { readonly tool: string; readonly input: Json }[];
  readonly #left: string[];
  asked = 0;

  constructor(needs: readonly { readonly tool: string; readonly input: Json }[]) {
    this.needs = needs;
    this.#left = needs.map(({ tool, input }) => canonical({ tool, input }));
  }

  /**
   * Runs a module and answers whatever it asks until it is over. Every other answer comes the next day: by then it is another
   * runtime that goes on.
   */
  async through(
    open: () => Rath,
    module: Module,
    begin: (rath: Rath) => Session,
    name: string,
  ): Promise<Session> {
    let rath = open();
    let session = await rath.run(module, begin(rath), { name });
    for (let round = 0; session.fact.type === "run-suspend"; round++) {
      if (round === PATIENCE) throw new Error("it asks without end");
      for (const { id, type, shown, digest, answered } of await rath.pending(name)) {
        if (answered) continue;
        this.asked += 1;
        if (type === "signal-await")
          await rath.answer(name, id, { action: "accept", content: { word: "fine" } }, "user:ada");
        else if (this.#agrees(shown ?? null))
          await rath.approve(name, { by: "user:ada", ask: id, ...(digest !== undefined && { digest }) });
        else await rath.reject(name, { by: "user:ada", ask: id, why: "that is not what I asked for" });
      }
      if (round % 2 === 1) {
        await rath.close();
        rath = open();
      }
      session = await rath.resume(name, module);
    }
    await rath.close();
    return session;
  }

  #agrees(shown: Json): boolean {
    const place = this.#left.indexOf(canonical(shown));
    if (place < 0) return false;
    this.#left.splice(place, 1);
    return true;
  }
}
