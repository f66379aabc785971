import { type FactId, type FactInput, Session, writeTree } from "../../../../session/index.js";
import { openStore, type Store } from "../../../../store/index.js";

/** A session with a bit of everything that an export must tell, and the store that has its files. */
export type Sample = {
  readonly session: Session;
  readonly store: Store;
  readonly ids: { readonly [name: string]: FactId };
};

const LONG = `A long result. ${"All work and no play. ".repeat(300)}`;

/** The text that is long enough to be in a blob, so that it can be erased. */
export const ERASABLE: string = LONG;

/** Files by path, as a tree in the store. */
export async function treeOf(store: Store, files: { readonly [path: string]: string }): Promise<string> {
  const entries = [];
  for (const [name, content] of Object.entries(files)) {
    const bytes = Buffer.from(content);
    entries.push({
      kind: "file" as const,
      name,
      mode: 0o644,
      size: bytes.length,
      digest: await store.putBlob(bytes),
    });
  }
  return store.putBlob(Buffer.from(writeTree({ entries })));
}

class Clock {
  #second = 0;
  next(): string {
    this.#second += 1;
    return new Date(Date.UTC(2026, 0, 2, 3, 4, this.#second)).toISOString();
  }
}

/**
 * A coder fixes an issue: reads, thinks, calls tools that work and fail, is asked for approval, forks two repairs of which one
 * is adopted, is summed up, and is validated.
 */
export async function sample(): Promise<Sample> {
  const store = await openStore("memory:");
  const clock = new Clock();
  const ids: { [name: string]: FactId } = {};
  const add = (session: Session, fact: FactInput, name?: string): Session => {
    const next = session.append({ ...fact, at: clock.next() } as FactInput);
    if (name !== undefined) ids[name] = next.id;
    return next;
  };
  const [before, between, after] = [
    await treeOf(store, { "a.js": "one\ntwo\nthree\n", "b.js": "same\n" }),
    await treeOf(store, { "a.js": "one\n2\nthree\n", "b.js": "same\n" }),
    await treeOf(store, { "a.js": "one\n2\nthree\nfour\n", "b.js": "same\n", "c.js": "new\n" }),
  ];
  let session = Session.start("Fix issue 41.", { nonce: "sample", at: clock.next(), by: "user:ada" });
  session = add(session, {
    type: "workspace-import",
    source: "./project",
    after: before,
    files: 2,
    bytes: 19,
  });
  session = add(
    session,
    {
      type: "agent-configure",
      agent: "coder",
      instructions: "Fix what is broken.",
      tools: [
        {
          name: "read",
          description: "Reads a file.",
          input: { type: "object", properties: { path: { type: "string" } } },
        },
      ],
      by: "agent:coder",
    },
    "config",
  );
  session = ask(session, "c1", "read", { path: "a.js" }, "I look at the file first.");
  session = add(session, { type: "tool-result", of: ids.c1 as FactId, output: LONG }, "long");
  session = ask(session, "c2", "run", { command: "npm test" }, "");
  session = add(
    session,
    { type: "approval-ask", what: { run: "npm test" }, digest: "a".repeat(64), of: ids.c2 as FactId },
    "approval",
  );
  session = add(session, {
    type: "approval-give",
    of: ids.approval as FactId,
    decision: "approve",
    digest: "a".repeat(64),
    why: "fine",
    by: "user:ada",
  });
  session = add(session, {
    type: "command-run",
    sandbox: "local",
    incarnation: 1,
    command: ["npm", "test"],
    outcome: "error",
    code: 1,
    stdout: "1 failing",
    milliseconds: 12,
    of: ids.c2 as FactId,
  });
  session = add(session, {
    type: "tool-failure",
    of: ids.c2 as FactId,
    error: { name: "CommandError", message: "exit 1", code: "exit" },
  });
  session = add(
    session,
    {
      type: "model-call",
      model: "acme/big-1",
      agent: "coder",
      config: ids.config as FactId,
      by: "agent:coder",
    },
    "broken",
  );
  session = add(session, {
    type: "model-failure",
    of: ids.broken as FactId,
    error: { name: "Overloaded", message: "try again" },
  });
  const trunk = session;
  let small = trunk.fork("small", { at: clock.next(), why: "the least that can help" });
  small = ask(small, "c3", "edit", { path: "a.js" }, "A small change.");
  small = add(small, {
    type: "workspace-change",
    before,
    after: between,
    paths: [{ path: "a.js", change: "modify" }],
    of: ids.c3 as FactId,
  });
  small = add(small, { type: "tool-result", of: ids.c3 as FactId, output: { changed: 1 } });
  small = add(small, {
    type: "validation-report",
    name: "tests",
    passed: false,
    score: 0.5,
    detail: { failed: 1 },
  });
  let bold = trunk.fork("bold", { at: clock.next() });
  bold = ask(bold, "c4", "edit", { path: "a.js" }, "A bold change.");
  bold = add(bold, {
    type: "workspace-change",
    before,
    after,
    paths: [
      { path: "a.js", change: "modify" },
      { path: "c.js", change: "add" },
    ],
    of: ids.c4 as FactId,
  });
  bold = add(bold, { type: "tool-result", of: ids.c4 as FactId, output: "done" });
  session = bold.merge(small, { adopt: "ours", why: "the tests pass", at: clock.next() });
  session = add(session, { type: "validation-report", name: "tests", passed: true, score: 1 });
  const first = session.lineage[0]?.id as FactId;
  session = add(session, {
    type: "context-compress",
    from: first,
    to: trunk.id,
    summary: "We looked at a.js.",
    policy: "summarise",
    tokens: { before: 900, after: 20 },
  });
  session = ask(session, undefined, "", {}, "It is fixed.");
  session = add(session, { type: "message-say", role: "user", content: "Thanks.", by: "user:ada" });
  await store.save(session, { name: "sample" });
  return { session, store, ids };

  function ask(
    from: Session,
    call: string | undefined,
    name: string,
    input: { [key: string]: string },
    text: string,
  ): Session {
    let next = add(from, {
      type: "model-call",
      model: "acme/big-1",
      agent: "coder",
      config: ids.config as FactId,
      by: "agent:coder",
    });
    next = add(next, {
      type: "model-reply",
      of: next.id,
      content: [
        { type: "reasoning", text: "Let me think." },
        { type: "text", text },
        ...(call === undefined ? [] : [{ type: "tool-call" as const, call, name, input }]),
      ],
      finish: call === undefined ? "stop" : "tool-calls",
      usage: { input: 100, output: 10, cached: 50, reasoning: 4 },
      cost: 0.25,
      agent: "coder",
    });
    return call === undefined
      ? next
      : add(next, { type: "tool-call", name, input, call, by: "agent:coder" }, call);
  }
}
