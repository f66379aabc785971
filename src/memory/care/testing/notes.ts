import { Session } from "../../../session/index.js";
import type { Store } from "../../../store/index.js";
import type { Draft } from "../../operation.js";
import { notesOf } from "../../tier/testing/tiers.js";

export type Note = Partial<Omit<Draft, "text" | "because">> & {
  /** Who said it: what a tool gave is not trusted. */
  readonly from?: "user" | "tool";
};

/** Writes notes, each with evidence of its own, and gives back their ids. */
export async function noted(
  store: Store,
  notes: readonly (string | readonly [string, Note])[],
  space = notesOf().open(store),
): Promise<readonly string[]> {
  const ids: string[] = [];
  for (const [place, note] of notes.entries()) {
    const [text, { from = "user", ...more }] = typeof note === "string" ? [note, {} as Note] : note;
    const said = Session.start(`said for note ${place}: ${text}`, {
      nonce: `${ids.length}${text}`,
      by: "user:ada",
    });
    const call = said.append({ type: "tool-call", name: "look", input: {} });
    const evidence =
      from === "user"
        ? said
        : call.append({ type: "tool-result", of: call.id, output: text, by: "tool:look" });
    await store.save(evidence);
    const { memory } = await space.write({
      text,
      because: [evidence.id],
      source: from === "user" ? "human-correction" : "tool-result",
      by: "user:ada",
      ...more,
    });
    ids.push(memory);
  }
  return ids;
}
