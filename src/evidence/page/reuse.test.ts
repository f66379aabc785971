import { describe, expect, it } from "vitest";
import { closeIndexes, memory } from "../../memory/index.js";
import { Session } from "../../session/index.js";
import { openStore } from "../../store/index.js";
import { whatStep } from "../audit/index.js";
import { dossierOf } from "../dossier/index.js";
import { repaired } from "../dossier/testing/repaired.js";
import { pages } from "./pages.js";

describe("pages made of other answers", () => {
  it("[M1] memory: spaces, memories with trust and reasons, influence, as they were", async () => {
    const store = await openStore("memory:");
    const said = Session.start("Releases are made on Tuesdays.", { by: "user:ada" });
    await store.save(said, { name: "it" });
    const space = memory({ name: "team", scope: "project:rath" }).open(store);
    const draft = {
      text: "Releases: Tuesdays",
      source: "human-correction",
      because: [said.id],
      by: "user:ada",
    } as const;
    const { memory: id } = await space.write(draft as never);
    const head = (await space.head()) as string;
    await space.revoke(id, { why: "it was wrong", by: "user:ada" } as never);
    const read = pages(store);
    expect((await read.spaces()).items).toMatchObject([{ space: "team", counts: { revoked: 1 } }]);
    const now = await read.memories("team");
    expect(now.items).toMatchObject([
      { id, state: "revoked", why: [said.id], told: 0, reason: "it was wrong" },
    ]);
    expect((await read.memories("team", { head })).items).toMatchObject([{ id, state: "live" }]);
    expect((await read.why(id)).nodes.map((node) => node.id)).toContain(said.id);
    expect((await read.influence(id)).totals.reads).toBe(0);
    await expect(read.memories("tean")).rejects.toMatchObject({ hint: "did you mean team?" });
    await closeIndexes(store);
  });

  it("[A1] prompts, questions and sections of the dossier say the same as where they come from", async () => {
    const { store, small } = await repaired();
    const read = pages(store);
    const prompt = await read.prompt("issue-7", small.id);
    expect(prompt).toMatchObject({ rendered: true, call: small.parents[0]?.id, gaps: [] });
    expect(prompt.items[0]).toMatchObject({ role: "system", content: { text: "Repair it." } });
    expect(prompt.messages).toBe(prompt.items.length);
    expect(await read.ask("step", "issue-7", { step: "1" })).toEqual(await whatStep(store, "issue-7", 1));
    expect(read.questions).toHaveLength(9);
    await expect(read.ask("brunch", "issue-7")).rejects.toMatchObject({ hint: "did you mean branch?" });
    const dossier = await dossierOf(store, "issue-7");
    const parts = new Set<string>();
    const { sections } = await read.section("issue-7", "summary");
    for (const { section } of sections) {
      const { content } = await read.section("issue-7", section);
      for (const [part, value] of Object.entries(content)) {
        parts.add(part);
        if (part !== "made") expect(value).toEqual(dossier[part as keyof typeof dossier]);
      }
    }
    expect(parts).toEqual(new Set(Object.keys(dossier).filter((part) => part !== "dossier")));
    await expect(read.section("issue-7", "weather")).rejects.toMatchObject({ code: "question-refused" });
  });
});
