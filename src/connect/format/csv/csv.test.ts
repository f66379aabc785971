import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { Session } from "../../../session/index.js";
import { openStore } from "../../../store/index.js";
import { world } from "../otel/testing/world.js";
import { csv } from "./write.js";

/** A reader by the rules of RFC 4180 alone. */
function read(text: string): readonly (readonly string[])[] {
  const rows: string[][] = [[]];
  let [cell, place] = ["", 0];
  while (place < text.length) {
    if (text[place] === '"') {
      for (place++; text[place] !== '"' || text[place + 1] === '"'; place++) {
        if (place >= text.length) throw new Error("a quote is open");
        if (text[place] === '"') place++;
        cell += text[place];
      }
      place++;
    } else if (text[place] === ",") {
      rows.at(-1)?.push(cell);
      cell = "";
      place++;
    } else if (text.startsWith("\r\n", place)) {
      rows.at(-1)?.push(cell);
      rows.push([]);
      cell = "";
      place += 2;
    } else {
      if (/["\r\n]/.test(text[place] as string)) throw new Error("a cell that should be quoted");
      cell += text[place++];
    }
  }
  expect(rows.pop()).toEqual([]);
  return rows;
}

const store = await openStore("memory:");
afterAll(() => store.close());

async function rowsOf(session: Session): Promise<readonly { readonly [column: string]: string }[]> {
  const [head, ...rows] = read((await csv.write({ session, store })) as string);
  for (const row of rows) expect(row.length).toBe(head?.length);
  return rows.map((row) =>
    Object.fromEntries((head as readonly string[]).map((name, index) => [name, row[index] as string])),
  );
}

describe("the table of calls", () => {
  it("[K1] every call of a model or a tool is a row with what it took", async () => {
    const { session } = await world();
    const rows = await rowsOf(session);
    expect(rows.map(({ kind, name, branch, agent, status }) => [kind, name, branch, agent, status])).toEqual([
      ["model", "scripted", "bold", "researcher", "ok"],
      ["tool", "look", "bold", "researcher", "ok"],
      ["model", "scripted", "bold", "researcher", "ok"],
      ["tool", "broken", "bold", "researcher", "failed"],
      ["model", "scripted", "bold", "researcher", "ok"],
      ["model", "scripted", "careful", "critic", "ok"],
      ["model", "scripted", "bold", "critic", "failed"],
    ]);
    const sum = (column: string) => rows.reduce((total, row) => total + Number(row[column]), 0);
    expect([sum("input_tokens"), sum("output_tokens")]).toEqual([session.usage.input, session.usage.output]);
    expect(rows[0]?.run).not.toBe("");
    expect(rows[0]?.fact).toMatch(/^[0-9a-f]{64}$/);
    expect(rows[0]?.time).toMatch(/^\d{4}-/);
    expect(rows.map(({ error }) => error).filter((error) => error !== "")).toHaveLength(2);
    const priced = Session.start("x").append({
      type: "model-call",
      model: "gpt-5",
      agent: "a",
      at: "2026-01-01T00:00:00.000Z",
    });
    const usage = { input: 1, output: 2, cached: 3, reasoning: 4 };
    const paid = priced.append({
      type: "model-reply",
      of: priced.id,
      content: "",
      finish: "stop",
      usage,
      cost: 0.25,
      at: "2026-01-01T00:00:01.500Z",
    });
    expect(await rowsOf(paid)).toMatchObject([
      { cost: "0.25", cached_tokens: "3", reasoning_tokens: "4", milliseconds: "1500" },
    ]);
  });

  it("[K2] [K3] any name comes back as it was and is not a formula", async () => {
    const hostile = [
      '=HYPERLINK("http://x")',
      "+1",
      "-1+2",
      "@SUM(A1)",
      "\t=1",
      "\r=1",
      " =1",
      "＝1",
      "\u200b=1",
      "|calc",
      '"',
      "a,b",
      "a\r\nb",
      "\ud800",
      " x ",
    ];
    const names = fc.oneof(fc.constantFrom(...hostile), fc.string({ unit: "binary", minLength: 1 }));
    await fc.assert(
      fc.asyncProperty(names, names, async (name, branch) => {
        const session = Session.start("x")
          .fork(branch)
          .append({ type: "tool-call", name, input: {}, by: "agent:=x" });
        const [row] = await rowsOf(session);
        expect(row?.name?.replace(/^'/, "")).toBe(name.toWellFormed().replace(/^'/, ""));
        for (const cell of Object.values(row ?? {}))
          expect(cell).not.toMatch(/^[\s\p{Cf}]*[=+@＝＋－＠|%-]|^[\t\r\n]/u);
        expect(row?.agent).toBe("'=x");
      }),
      { numRuns: 50 },
    );
  });

  it("[K4] unknown values are empty, and no words of the session are told", async () => {
    const at = "1970-01-01T00:00:00.000Z";
    const call = Session.start("swordfish", { at }).append({
      type: "tool-call",
      name: "look",
      input: { at: "swordfish" },
      at,
    });
    expect(await rowsOf(call)).toEqual([
      expect.objectContaining({
        time: "",
        status: "pending",
        milliseconds: "",
        cost: "",
        input_tokens: "",
        agent: "",
        run: "",
      }),
    ]);
    const failed = call.append({
      type: "tool-failure",
      of: call.id,
      error: { name: "E", message: "swordfish bites" },
      at,
    });
    expect(await rowsOf(failed)).toMatchObject([{ status: "failed", error: "E", milliseconds: "" }]);
    expect(await csv.write({ session: failed, store })).not.toContain("swordfish");
    const secret = Session.start("x", { inline: 0 });
    const asked = secret.append({ type: "tool-call", name: "look", input: {} });
    const ended = asked.append({
      type: "tool-failure",
      of: asked.id,
      error: { name: "marlin", message: "marlin" },
    });
    await store.save(ended, { name: "s" });
    const digests = [...ended.history()].flatMap((node) => [...node.blobs()].map(({ ref }) => ref.digest));
    await store.erase("s", { digests, why: "asked for", by: "user:ada" });
    // As it is loaded, and as it still is in memory.
    for (const session of [await store.load("s"), ended]) {
      const text = (await csv.write({ session, store })) as string;
      expect(text).not.toContain("marlin");
      expect(text).toContain("withheld");
    }
  });
});
