import { describe, expect, it } from "vitest";
import { Session } from "../../session/index.js";
import { openStore } from "../../store/index.js";
import {
  actReport,
  findContent,
  whatDid,
  whatHappened,
  whatStep,
  whichBranch,
  whoApproved,
} from "./index.js";
import { faultsOf } from "./testing/faults.js";

const FACTS = 12_000;
/** Fewer facts than there are. */
const horizon = 5_000;

describe("a session longer than is loaded", () => {
  it("[Q9] a streamed answer is whole; one that needs the loaded past says where that ends", async () => {
    const store = await openStore("memory:");
    const usage = { input: 1, output: 1 };
    let session = Session.start("Count.", { by: "user:ada", at: "2026-01-01T00:00:00Z" }).fork("long", {
      why: "long ago",
    });
    for (let count = 0; count < FACTS; count++)
      session = session.append({
        type: "note",
        kind: "tick",
        at: new Date(1_767_225_600_000 + count * 1_000).toISOString(),
        by: "user:bob",
      });
    const call = session.append({ type: "model-call", model: "m", agent: "a", at: "2027-01-01T00:00:00Z" });
    session = call.append({
      type: "model-reply",
      of: call.id,
      content: "Done.",
      finish: "stop",
      usage,
      at: "2027-01-01T00:00:01Z",
    });
    await store.save(session, { name: "long" });
    // The past of a session that is loaded again ends somewhere.
    await store.load("long", { horizon });
    const branch = await whichBranch(store, "long", { horizon });
    expect(await faultsOf(store, branch)).toEqual([]);
    expect(branch.detail).toEqual({ message: session.id, branch: "long" });
    expect(branch.answer).toContain("because: long ago");
    expect(branch.gaps.join(" ")).toMatch(/were not looked at: the past before it was not loaded/);
    expect((await whatStep(store, "long", 1)).detail).toEqual({ step: call.id, number: 1 });
    const did = await whatDid(store, "user:bob", { limit: 3 });
    expect(did.gaps.join(" ")).toContain(`${(FACTS - 3).toLocaleString("en")} more deeds`);
    const day = await whatHappened(store, "long", {
      from: "2026-01-01T00:00:10Z",
      to: "2026-01-01T00:00:19Z",
    });
    expect(day.claims.length).toBe(11);
    expect((await whoApproved(store, "long")).answer).toMatch(/^Nobody was asked/);
    expect((await actReport(store)).facts).toBe(FACTS + 4);
    expect((await findContent(store, { by: "user:ada" })).read.facts).toBe(FACTS + 4);
  });
});
