import {
  agent,
  type FactId,
  type FactOf,
  mergeFiles,
  openRath,
  policy,
  type Session,
  scripted,
  workflow,
} from "openrath";
import { blame, whichCall } from "openrath/evidence";
import { Trees } from "openrath/sandbox";
import type { Digest } from "openrath/session";
import type { Recorded, Store } from "openrath/store";
import { sandboxTools } from "openrath/tool";
import { describe, expect, it } from "vitest";
import { faultsOf, ofType, scan } from "./scan.js";
import { world } from "./world.js";

/** The text of a file of a tree, read without the code that is tested. */
async function textIn(store: Store, tree: Digest | null, path: string): Promise<string | undefined> {
  let digest: string | null | undefined = tree;
  for (const name of path.split("/")) {
    if (digest === null || digest === undefined) return undefined;
    const text = Buffer.from((await store.blob(digest)) as Uint8Array).toString("utf8");
    const { entries } = JSON.parse(text) as { readonly entries: readonly (readonly string[])[] };
    digest = entries.find(([entry]) => entry === name)?.at(-1);
  }
  return typeof digest === "string"
    ? Buffer.from((await store.blob(digest)) as Uint8Array).toString("utf8")
    : undefined;
}

describe("which call changed this file", () => {
  it("[Q5] tells every change as a scan of the adopted line finds it, with the call, the wish, the decision and the approval", async () => {
    const { store, rath } = await world();
    const facts = await scan(store, "work");
    const answer = await whichCall(store, "work", "src/price.txt");
    expect(await faultsOf(store, answer)).toEqual([]);
    const bold = ofType(facts, "branch-fork").find(({ fact }) => fact.name === "bold") as Recorded;
    const lost = new Set<FactId>();
    for (const { id, parents } of facts)
      if (id === bold.id || (parents.length === 1 && lost.has(parents[0] as string))) lost.add(id);
    const changes = ofType(facts, "workspace-change").filter(({ id }) => !lost.has(id));
    expect(changes.length).toBe(3);
    const told = answer.facts.filter(({ type }) => type === "workspace-change").map(({ id }) => id);
    expect(told).toEqual(changes.map(({ id }) => id).reverse());
    for (const { fact } of changes) {
      const claims = answer.claims
        .filter((claim) => claim.facts.includes(fact.of as string))
        .map(({ text }) => text);
      expect(claims.join(" ")).toMatch(
        /did it: agent:(small|shipper) called write with .*The policy house .* decided: allow, on behalf of user:ada/,
      );
    }
    const replies = ofType(facts, "model-reply").map(({ id }) => id);
    expect(answer.facts.filter(({ id }) => replies.includes(id)).length).toBe(3);
    await rath.close();
  });

  it("[Q5] tells who agreed to the call", async () => {
    const rath = openRath({
      store: "memory:",
      policy: policy("house", [
        { name: "writing", verdict: "ask", tool: "write", approval: { from: "user:ada" } },
      ]),
    });
    const store = await rath.store();
    const writer = agent({
      name: "writer",
      model: scripted({ tool: "write", input: { path: "a.txt", text: "a\n" } }, "Done."),
      tools: sandboxTools(),
    });
    await rath.run(writer, rath.start("Write.").to("virtual"), { name: "w" });
    await rath.approve("w", { by: "user:ada", why: "small" });
    await rath.resume("w", writer);
    const answer = await whichCall(store, "w", "a.txt", { line: 1 });
    expect(await faultsOf(store, answer)).toEqual([]);
    expect(answer.answer).toMatch(
      /user:ada was asked .* user:ada agreed to exactly that at .* because: small/,
    );
    await rath.close();
  });

  it("[Q13] a file or a line that there is not is refused with the one that was meant", async () => {
    const { store, rath } = await world();
    for (const path of ["src/prise.txt", "price.txt", "src/price.tx", "price.text", "price"])
      await expect(whichCall(store, "work", path)).rejects.toMatchObject({
        code: "file-unknown",
        hint: "did you mean src/price.txt?",
      });
    await expect(whichCall(store, "work", "zzz", { line: 1 })).rejects.toMatchObject({
      code: "file-unknown",
      hint: "files that were changed: src/price.txt",
    });
    for (const line of [0, 5, -1, 1.5, Number.NaN])
      await expect(whichCall(store, "work", "src/price.txt", { line })).rejects.toMatchObject({
        code: "file-unknown",
        hint: "name one from 1 to 4",
      });
    await expect(whichCall(store, "yesterday", "a")).rejects.toThrow("no file was changed in this session");
    await expect(whichCall(store, "work", "../etc/passwd")).rejects.toMatchObject({
      code: expect.any(String),
    });
    await rath.close();
  });
});

describe("which call wrote this line", () => {
  it("[Q6] each line of every version is told with the fact that a comparison of all versions finds", async () => {
    const { store, rath } = await world();
    const answer = await whichCall(store, "work", "src/price.txt");
    const { lines } = answer.detail as { lines: { number: number; text: string; fact: string }[] };
    const facts = await scan(store, "work");
    const text = (await textIn(store, (await store.load("work")).files.tree, "src/price.txt")) as string;
    expect(lines.map((line) => line.text).join("")).toBe(text);
    for (const { number, text: line, fact } of lines) {
      const writer = facts.find(({ id }) => id === fact)?.fact as FactOf<"workspace-change">;
      // The writer has the line, and what was there before has not.
      expect(await textIn(store, writer.after, "src/price.txt")).toContain(line);
      expect((await textIn(store, writer.before, "src/price.txt")) ?? "").not.toContain(line);
      const one = await whichCall(store, "work", "src/price.txt", { line: number });
      expect(await faultsOf(store, one)).toEqual([]);
      expect(one.claims[0]?.facts[0]).toBe(fact);
    }
    await rath.close();
  });

  it("[Q6] through a merge of files a line is told with the side that brought it", async () => {
    const rath = openRath({ store: "memory:" });
    const store = await rath.store();
    const writer = (name: string, text: string) =>
      agent({
        name,
        model: scripted({ tool: "write", input: { path: "f", text } }, "Done."),
        tools: sandboxTools(),
      });
    const parts = {
      first: writer("first", "1\n2\n3\n4\n5\n"),
      top: writer("top", "ONE\n2\n3\n4\n5\n"),
      end: writer("end", "1\n2\n3\n4\nFIVE\n"),
    };
    const both = workflow("both", parts, async (session, { first, top, end }) => {
      const begun = await first.forward(session);
      const [one, other] = (await Promise.all([
        top.forward(begun.fork("top")),
        end.forward(begun.fork("end")),
      ])) as [Session, Session];
      return mergeFiles().forward(one.merge(other, { adopt: "both" }));
    });
    const session = await rath.run(both, rath.start("Go.").to("virtual"), { name: "both" });
    expect(await textIn(store, session.files.tree, "f")).toBe("ONE\n2\n3\n4\nFIVE\n");
    const facts = await scan(store, "both");
    const agentOf = (id: FactId | undefined): string => {
      const change = facts.find((one) => one.id === id)?.fact as FactOf<"workspace-change">;
      return facts.find((one) => one.id === change.of)?.fact.by ?? "";
    };
    const blamed = await blame(await store.load("both"), new Trees(store), "f");
    expect(blamed?.lost).toEqual([]);
    expect(blamed?.lines.map(({ fact }) => agentOf(fact))).toEqual([
      "agent:top",
      "agent:first",
      "agent:first",
      "agent:first",
      "agent:end",
    ]);
    await rath.close();
  });
});
