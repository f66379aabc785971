import { describe, expectTypeOf, it } from "vitest";
import type { Session } from "../session/index.js";
import type { Draft, MemorySpace } from "./index.js";

declare const notes: MemorySpace;
declare const session: Session;
const id = "a".repeat(64);

describe("a write", () => {
  it("[B1] does not compile without its evidence, its source and who says it", () => {
    const draft = { text: "t", source: "tool-result", by: "agent:a" } as const;
    expectTypeOf(notes.write(session, { ...draft, because: [id] })).resolves.toHaveProperty("value");
    // @ts-expect-error no evidence
    notes.write(session, draft);
    // @ts-expect-error an empty list is none
    notes.write(session, { ...draft, because: [] });
    // @ts-expect-error nobody says it
    notes.write(session, { text: "t", source: "tool-result", because: [id] });
    // @ts-expect-error from nowhere
    notes.write(session, { text: "t", by: "agent:a", because: [id] });
    // @ts-expect-error a source that there is not
    notes.write(session, { ...draft, source: "hearsay", because: [id] });
    // @ts-expect-error a revision needs evidence too
    notes.revise(session, id, { text: "t", by: "agent:a" });
    // @ts-expect-error and a promotion
    notes.promote(session, id, { by: "agent:a" });
    expectTypeOf<Draft["because"]>().not.toExtend<[]>();
  });
});
