import { configFact, type ModelConfig, messagesFor, renderPrompt } from "../../../agent/model/index.js";
import { Trees } from "../../../sandbox/index.js";
import {
  canonical,
  type Digest,
  digestOf,
  type FactInput,
  type Json,
  Session,
} from "../../../session/index.js";
import { openStore, type Store } from "../../../store/index.js";

export const CODER: ModelConfig = { agent: "coder", instructions: "Repair it." };

/** Keeps some files of one directory and answers with their tree. */
export async function treeOf(store: Store, files: { readonly [name: string]: string }): Promise<Digest> {
  const trees = new Trees(store);
  const names = Object.keys(files).sort();
  const blobs = names.map((name) => Buffer.from(files[name] as string, "utf8"));
  const digests = await trees.put(blobs);
  const { id, bytes } = trees.written({
    entries: names.map((name, place) => ({
      name,
      kind: "file",
      mode: 0o644,
      size: (blobs[place] as Buffer).length,
      digest: digests[place] as Digest,
    })),
  });
  await trees.put([bytes]);
  return id;
}

/** A time so many seconds after the beginning. */
function second(seconds: number): string {
  return new Date(Date.UTC(2026, 0, 2, 3, 4, seconds)).toISOString();
}

/** Appends facts a second apart from each other, so that a timeline has an order. */
export class Teller {
  #seconds = 0;

  add(session: Session, fact: FactInput): Session {
    return session.append({ at: this.next(), ...fact } as FactInput);
  }

  next(): string {
    return second(this.#seconds++);
  }

  /** A call of a model with the prompt that it was really asked, and its reply. */
  ask(
    session: Session,
    config: ModelConfig,
    reply: Partial<FactInput & { readonly type: "model-reply" }>,
  ): Session {
    const configured = this.add(session, configFact(config));
    const prompt = renderPrompt(config, messagesFor(config, configured));
    const call = this.add(configured, {
      type: "model-call",
      model: "small-1",
      agent: config.agent,
      config: configured.id,
      prompt: prompt.digest,
      by: `agent:${config.agent}`,
    });
    return this.add(call, {
      type: "model-reply",
      of: call.id,
      content: "I see.",
      finish: "stop",
      usage: { input: 100, output: 10 },
      cost: 0.25,
      agent: config.agent,
      milliseconds: 1_200,
      by: "service:small",
      ...reply,
    });
  }
}

/** A call of a tool with its outcome and what it leaves on the record. */
function used(
  teller: Teller,
  session: Session,
  name: string,
  input: Json,
  leaves: (call: string) => readonly FactInput[],
  output: Json,
): Session {
  const call = teller.add(session, { type: "tool-call", name, input, effect: "write", by: "agent:coder" });
  let next = teller.add(call, { type: "effect-start", of: call.id, attempt: 1 });
  for (const fact of leaves(call.id)) next = teller.add(next, fact);
  return teller.add(next, { type: "tool-result", of: call.id, output, by: `tool:${name}`, milliseconds: 30 });
}

const BEFORE = "one\ntwo\nthree\n";
const AFTER = "one\n2\nthree\nfour\n";
const BOLD = "nothing\n";

/** Two repairs on two branches: one is accepted, one rejected, one is left; with files, tests, an approval, a ruling. */
export async function repaired(): Promise<{
  readonly store: Store;
  readonly head: Session;
  readonly trunk: Session;
  readonly small: Session;
  readonly bold: Session;
  readonly merge: Session;
  readonly trees: { readonly before: Digest; readonly after: Digest };
}> {
  const store = await openStore("memory:");
  const teller = new Teller();
  const trees = {
    before: await treeOf(store, { "a.txt": BEFORE }),
    after: await treeOf(store, { "a.txt": AFTER, "b.txt": "new\n" }),
    bold: await treeOf(store, { "a.txt": BOLD }),
  };
  let trunk = Session.start("Repair a.txt.", { by: "user:ada", at: teller.next() });
  trunk = teller.add(trunk, { type: "placement-change", sandbox: "local", spec: { workspace: "." } });
  const run = { run: "r1", seq: 0 };
  trunk = teller.add(trunk, {
    type: "run-start",
    nonce: "r1",
    module: "repair",
    name: "issue-7",
    digests: { module: "m" },
    ...run,
  });
  const start = trunk.id;
  trunk = teller.add(trunk, {
    type: "workspace-import",
    source: "./repo",
    after: trees.before,
    files: 1,
    bytes: 14,
  });
  const what = { push: "main" };
  const ask = teller.add(trunk, {
    type: "approval-ask",
    what,
    digest: digestOf(canonical(what)),
    name: "push",
    to: ["user:ada"],
    rule: "money",
  });
  const give = teller.add(ask, {
    type: "approval-give",
    by: "user:ada",
    of: ask.id,
    decision: "approve",
    digest: digestOf(canonical(what)),
    why: "go on",
  });
  trunk = give;

  const small = tested(
    teller,
    edited(
      teller,
      teller.ask(trunk.fork("small", { why: "little by little", at: teller.next() }), CODER, {
        content: [
          { type: "reasoning", text: "Think." },
          { type: "text", text: "I shall edit." },
          { type: "tool-call", call: "c1", name: "edit", input: { path: "a.txt" } },
        ],
        finish: "tool-calls",
      }),
      trees.before,
      trees.after,
      [
        { path: "a.txt", change: "modify" },
        { path: "b.txt", change: "add" },
      ],
    ),
    true,
  );
  const done = teller.ask(small, CODER, {
    content: "Repaired.",
    usage: { input: 200, output: 5, cached: 150 },
  });

  const bold = tested(
    teller,
    edited(
      teller,
      teller.ask(
        trunk.fork("bold", { at: teller.next() }),
        { ...CODER, agent: "bold" },
        {
          content: "All new.",
          agent: "bold",
        },
      ),
      trees.before,
      trees.bold,
      [{ path: "a.txt", change: "modify" }],
    ),
    false,
  );

  const merge = done.merge(bold, { adopt: "ours", why: "its tests pass", by: "user:ada", at: teller.next() });
  const head = teller.add(merge, { type: "run-end", of: start, run: "r1", seq: 99 });
  await store.save(head, { name: "issue-7" });
  return { store, head, trunk, small: done, bold, merge, trees };
}

function edited(
  teller: Teller,
  session: Session,
  before: Digest,
  after: Digest,
  paths: readonly { readonly path: string; readonly change: "add" | "modify" }[],
): Session {
  return used(
    teller,
    session,
    "edit",
    { path: "a.txt" },
    (of) => [
      {
        type: "sandbox-open",
        sandbox: "box-1",
        incarnation: 1,
        provider: "virtual",
        isolation: "process",
        spec: { workspace: "." },
        status: {},
        capabilities: { network: false },
        tree: before,
        of,
      },
      {
        type: "policy-decide",
        of,
        verdict: "allow",
        policies: [{ name: "p" }],
        rules: ["edits"],
        why: "edits are fine",
      },
      { type: "workspace-change", before, after, paths, sandbox: "box-1", of, by: "tool:edit" },
    ],
    "edited",
  );
}

function tested(teller: Teller, session: Session, passed: boolean): Session {
  return used(
    teller,
    session,
    "test",
    {},
    (of) => [
      {
        type: "command-run",
        sandbox: "box-1",
        incarnation: 1,
        command: "npm test",
        outcome: passed ? "ok" : "error",
        code: passed ? 0 : 1,
        stdout: passed ? "ok 1" : "not ok 1",
        milliseconds: 20,
        of,
      },
      {
        type: "validation-report",
        name: "tests",
        passed,
        score: passed ? 1 : 0,
        detail: {
          passed: passed ? 1 : 0,
          failed: passed ? 0 : 1,
          total: 1,
          failures: passed ? [] : [{ name: "counts", message: "1 !== 2" }],
        },
        of,
      },
    ],
    passed ? "The tests passed." : "The tests did not pass.",
  );
}
