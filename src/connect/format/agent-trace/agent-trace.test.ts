import { Validator } from "@cfworker/json-schema";
import { describe, expect, it, vi } from "vitest";
import { digestOf, type FactInput, Session } from "../../../session/index.js";
import { openStore, type Store } from "../../../store/index.js";
import type { Loose } from "../trajectory/testing/loose.js";
import { sample, treeOf } from "../trajectory/testing/sample.js";
import { agentTraceExport } from "./write.js";

const contributor = {
  type: "object",
  required: ["type"],
  additionalProperties: false,
  properties: {
    type: { enum: ["human", "ai", "mixed", "unknown"] },
    model_id: { type: "string", maxLength: 250 },
  },
};
const resource = {
  type: "object",
  required: ["type", "url"],
  additionalProperties: false,
  properties: { type: { type: "string" }, url: { type: "string", format: "uri" } },
};
const line = { type: "integer", minimum: 1 };
const range = {
  type: "object",
  required: ["start_line", "end_line"],
  additionalProperties: false,
  properties: { start_line: line, end_line: line, content_hash: { type: "string" }, contributor },
};
const conversation = {
  type: "object",
  required: ["ranges"],
  additionalProperties: false,
  properties: {
    url: { type: "string", format: "uri" },
    contributor,
    ranges: { type: "array", items: range },
    related: { type: "array", items: resource },
  },
};
/** What the specification says of a record, as a schema of our own. */
const schema = {
  type: "object",
  required: ["version", "id", "timestamp", "files"],
  additionalProperties: false,
  properties: {
    version: { type: "string", pattern: "^[0-9]+\\.[0-9]+\\.[0-9]+$" },
    id: { type: "string", format: "uuid" },
    timestamp: { type: "string", format: "date-time" },
    tool: { type: "object", required: ["name", "version"] },
    files: {
      type: "array",
      items: {
        type: "object",
        required: ["path", "conversations"],
        additionalProperties: false,
        properties: { path: { type: "string" }, conversations: { type: "array", items: conversation } },
      },
    },
    metadata: { type: "object" },
  },
};

async function record(session: Session, store: Store): Promise<Loose> {
  return JSON.parse((await agentTraceExport.write({ session, store, name: "n" })) as string);
}

/** A session whose file changes step by step. */
async function changing(
  store: Store,
  steps: readonly (readonly [by: string, text: string])[],
  start: Session,
  from: string,
): Promise<Session> {
  let session = start;
  let before = from;
  for (const [by, text] of steps) {
    if (by.startsWith("model")) session = session.append({ type: "model-call", model: by });
    const after = await treeOf(store, { "f.txt": text });
    session = session.append({
      type: "workspace-change",
      before,
      after,
      paths: [{ path: "f.txt", change: "modify" }],
      by: by.startsWith("model") ? "tool" : by,
    } as FactInput);
    before = after;
  }
  return session;
}

async function begun(store: Store, text: string): Promise<{ session: Session; tree: string }> {
  const tree = await treeOf(store, { "f.txt": text });
  return {
    tree,
    session: Session.start("go").append({
      type: "workspace-import",
      source: ".",
      after: tree,
      files: 1,
      bytes: text.length,
    }),
  };
}

describe("Agent Trace", () => {
  it("[A1] names the lines of the accepted patch", async () => {
    const { session, store } = await sample();
    const { files } = await record(session, store);
    expect(
      files.map(({ path, conversations }: Loose) => [
        path,
        conversations.flatMap(({ ranges }: Loose) =>
          ranges.map((one: Loose) => [one.start_line, one.end_line, one.content_hash]),
        ),
      ]),
    ).toEqual([
      [
        "a.js",
        [
          [2, 2, `sha256:${digestOf("2\n")}`],
          [4, 4, `sha256:${digestOf("four\n")}`],
        ],
      ],
      ["c.js", [[1, 1, `sha256:${digestOf("new\n")}`]]],
    ]);
    await store.close();
  });

  it("[A2] gives lines to who wrote them last", async () => {
    const store = await openStore("memory:");
    const { session, tree } = await begun(store, "a\nb\nc\n");
    const end = await changing(
      store,
      [
        ["model-x", "a\nB\nc\nd\ne\n"],
        ["user:ada", "a\nB\nc\nd!\ne\n"],
        ["model-y", "0\na\nB\nc\nd!\ne\n"],
      ],
      session,
      tree,
    );
    const [{ conversations }] = (await record(end, store)).files;
    expect(
      conversations.map((one: Loose) => [
        one.contributor,
        one.ranges.map((at: Loose) => [at.start_line, at.end_line]),
      ]),
    ).toEqual([
      [{ type: "ai", model_id: "model-y" }, [[1, 1]]],
      [
        { type: "ai", model_id: "model-x" },
        [
          [3, 3],
          [6, 6],
        ],
      ],
      [{ type: "human" }, [[5, 5]]],
    ]);
    expect(conversations.every((one: Loose) => one.url === `urn:openrath:session:${end.id}`)).toBe(true);
    await store.close();
  });

  it("[A3] follows what was merged, and nothing else", async () => {
    const store = await openStore("memory:");
    const { session, tree } = await begun(store, "a\n");
    const good = await changing(store, [["model-good", "a\ngood\n"]], session.fork("good"), tree);
    const bad = await changing(store, [["model-bad", "a\nbad\n"]], session.fork("bad"), tree);
    const merged = bad.merge(good, { adopt: "theirs" });
    const [{ conversations }] = (await record(merged, store)).files;
    expect(conversations).toMatchObject([
      { contributor: { model_id: "model-good" }, ranges: [{ start_line: 2, end_line: 2 }] },
    ]);
    const kept = session.fork("trunk").merge(good, { adopt: "both" });
    expect(JSON.stringify(await record(kept, store))).toContain("model-good");
    await store.close();
  });

  it("[A4] keeps to the schema, and is the same each time", async () => {
    const { session, store } = await sample();
    const one = await record(session, store);
    expect(new Validator(schema as never, "2020-12", false).validate(one).errors).toEqual([]);
    expect(new Validator(schema as never).validate({ ...one, version: "1" }).valid).toBe(false);
    expect(one).toEqual(await record(session, store));
    // Also elsewhere: a time without a zone is one of UTC.
    vi.stubEnv("TZ", "America/New_York");
    const later = session.append({ type: "note", kind: "k", at: "2026-03-04T05:06:07" });
    expect((await record(later, store)).timestamp).toBe("2026-03-04T05:06:07.000Z");
    vi.unstubAllEnvs();
    await store.close();
  });

  it("[A5] refuses a session without a patch", async () => {
    const store = await openStore("memory:");
    await expect(agentTraceExport.write({ session: Session.start("hi"), store })).rejects.toMatchObject({
      code: "export-refused",
    });
    await store.close();
  });
});
