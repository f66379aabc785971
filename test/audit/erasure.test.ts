import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { agent, approve, openRath, policy, RathError, scripted, statusOf, workflow } from "openrath";
import { eraseContent, erasedText, findContent, foundText } from "openrath/evidence";
import { closeIndexes } from "openrath/memory";
import { openStore } from "openrath/store";
import { afterAll, describe, expect, it } from "vitest";
import { world } from "./world.js";

const folder = mkdtempSync(join(tmpdir(), "openrath-audit-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let count = 0;
const place = (): string => {
  const root = join(folder, String(++count));
  mkdirSync(root);
  return join(root, "rath.db");
};

/** Which files below a folder have these bytes. */
function filesWith(root: string, words: string): readonly string[] {
  const found: string[] = [];
  for (const name of readdirSync(root, { recursive: true }) as string[]) {
    const path = join(root, name);
    if (statSync(path).isFile() && readFileSync(path).includes(words)) found.push(name);
  }
  return found;
}

const SECRET = "Augusta Ada King-Noel";
const why = "request of 3 May, reference 41";

describe("erasing content", () => {
  it("[E1] of a real run: in no file of the store, the store verifies, and a replay says that it is gone", async () => {
    const path = place();
    const { store, rath, module, session } = await world(`sqlite:${path}`, {
      text: `Repair the prices of ${SECRET}.`,
      inline: 0,
    });
    const again = await rath.replay("work", module, { mode: "verify" });
    expect(again.id).toBe(session.id);
    const found = await findContent(store, { about: SECRET });
    // What was asked, what the memory was asked for, and what it was looked for with.
    expect(found.erasable.length).toBeGreaterThanOrEqual(2);
    expect(found.fixed).toEqual([]);
    const report = await eraseContent(store, found, { why, by: "user:dpo", about: SECRET });
    expect(report.check.findings).toEqual([]);
    expect(report.erased.map(({ digest }) => digest).sort()).toEqual(
      found.erasable.map(({ digest }) => digest).sort(),
    );
    const told = await store.load("work");
    expect(told.fact).toMatchObject({ type: "content-erase", by: "user:dpo", why });
    expect(new Set((told.fact as unknown as { digests: string[] }).digests)).toEqual(
      new Set(report.erased.map(({ digest }) => digest)),
    );
    expect((await findContent(store, { about: SECRET })).erasable).toEqual([]);
    await expect(rath.replay(session.id, module, { mode: "verify" })).rejects.toMatchObject({
      code: "content-erased",
    });
    await closeIndexes(store);
    await rath.close();
    await store.close();
    expect(filesWith(join(path, ".."), SECRET)).toEqual([]);
    expect(filesWith(join(path, ".."), SECRET.toUpperCase())).toEqual([]);
    const reopened = await openStore(`sqlite:${path}`);
    expect((await reopened.check()).findings).toEqual([]);
    const lines: string[] = [];
    for await (const line of reopened.export("work")) lines.push(line);
    expect(lines.join("\n")).not.toContain(SECRET);
    await reopened.close();
  });

  it("[E3] the reason of a rejection goes, also from the error that the run ended with", async () => {
    const path = place();
    const rath = openRath({ store: `sqlite:${path}` });
    const pay = approve("pay", { euros: 1 });
    const order = workflow("order", { pay }, (session) => pay.forward(session));
    await rath.run(order, rath.start("Pay."), { name: "order" });
    await rath.reject("order", { by: "user:boss", why: `${SECRET} said no` });
    await expect(rath.resume("order", order)).rejects.toThrow(SECRET);
    const store = await rath.store();
    const found = await findContent(store, { about: SECRET });
    expect(found.fixed).toEqual([]);
    await eraseContent(store, found, { why, by: "user:dpo", about: SECRET });
    expect(statusOf(await store.load("order"))).toBe("failed");
    await rath.close();
    expect(filesWith(join(path, ".."), SECRET)).toEqual([]);
  });

  it("[E2] runs that wait and build on it are named before and after, and cannot go on then; those that ended are counted", async () => {
    const rath = openRath({
      store: "memory:",
      policy: policy("house", [
        { name: "all", verdict: "ask", model: "*", approval: { from: ["user:ada"] } },
      ]),
    });
    const store = await rath.store();
    const clerk = () => agent({ name: "clerk", model: scripted("Done.") });
    for (const [name, text] of [
      ["waits", `Write to ${SECRET}.`],
      ["ended", `Write to ${SECRET}.`],
      ["other", "Write to nobody."],
    ] as const) {
      await rath.run(clerk(), rath.start(text, { inline: 0 }), { name });
      await rath.approve(name, { by: "user:ada" });
      if (name === "ended") await rath.resume(name, clerk());
    }
    const found = await findContent(store, { about: SECRET });
    expect(found.runs).toEqual({ open: ["waits"], ended: 1 });
    expect(foundText(found)).toMatch(
      /1 run that has not ended builds on it and may no longer be resumed: waits\..*1 run that ended builds on it/s,
    );
    const report = await eraseContent(store, found, { why, by: "user:dpo", about: SECRET });
    expect(report.runs).toEqual(found.runs);
    expect(erasedText(report)).toContain("may not be resumed now: waits.");
    await expect(rath.resume("waits", clerk())).rejects.toBeInstanceOf(RathError);
    expect((await rath.resume("other", clerk())).fact.type).toBe("run-end");
    await rath.close();
  });
});
