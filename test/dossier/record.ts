import { type Json, Session } from "openrath";
import { Trees } from "openrath/sandbox";
import type { FactInput } from "openrath/session";
import { digestOf } from "openrath/session";
import type { Store } from "openrath/store";
import { canonical } from "../../src/session/json.js";

type Add = (session: Session, words: string, store: Store) => Session | Promise<Session>;

const usage = { input: 10, output: 2 };

/** A fact with an outcome. */
function asked(session: Session, call: FactInput, outcome: (of: string) => FactInput): Session {
  const begun = session.append(call);
  return begun.append(outcome(begun.id));
}

/** A call of a tool that leaves something. */
function leaving(session: Session, leaves: (of: string) => FactInput): Session {
  const call = session.append({ type: "tool-call", name: "do", input: {} });
  return call.append(leaves(call.id)).append({ type: "tool-result", of: call.id, output: "done" });
}

/** Two files called and filled with the words, and the trees before and after. */
async function changed(session: Session, words: string, store: Store): Promise<Session> {
  const trees = new Trees(store);
  // A name has no slash and no NUL; all else that words can hold, names can.
  const name = words.replaceAll("/", "\u2215").replaceAll("\0", "").slice(0, 200);
  const [old, now] = [Buffer.from(`${words}\nsame\n`), Buffer.from(`same\n+${words}\n-${words}\n`)];
  const digests = await trees.put([old, now]);
  const tree = async (size: number, digest: string): Promise<string> => {
    const { id, bytes } = trees.written({ entries: [{ name, kind: "file", mode: 0o644, size, digest }] });
    await trees.put([bytes]);
    return id;
  };
  const before = await tree(old.length, digests[0] as string);
  const after = await tree(now.length, digests[1] as string);
  const first =
    session.files.tree === null
      ? session.append({
          type: "workspace-import",
          source: words,
          after: before,
          files: 1,
          bytes: old.length,
        })
      : session;
  return leaving(first, (of) => ({
    type: "workspace-change",
    before,
    after,
    paths: [{ path: name, change: "modify" }],
    sandbox: words,
    of,
  }));
}

/** Ways to get words into a record: every kind of field that a page shows. */
export const WAYS: { readonly [way: string]: Add } = {
  "a message": (session, words) => session.say(words),
  "an answer": (session, words) => session.say(words, { role: "assistant" }),
  "the name of a person": (session, words) => session.say("hello", { by: `user:${words}` }),
  "the name of a branch": (session, words) =>
    session
      .fork(words, { why: words })
      .say("a")
      .merge(session.fork(`${words} other`, { why: words }).say("b"), { adopt: "ours", why: words }),
  "the name of a tool": (session, words) =>
    asked(
      session,
      { type: "tool-call", name: words, input: { [words]: words }, key: words, source: { server: words } },
      (of) => ({
        type: "tool-result",
        of,
        output: words,
        origin: words,
        by: `tool:${words}`,
        redacted: [words],
      }),
    ),
  "a result": (session, words) =>
    asked(session, { type: "tool-call", name: "read", input: words }, (of) => ({
      type: "tool-result",
      of,
      output: { deep: [words, { [words]: 1 }] },
      edited: { by: `user:${words}`, input: words },
    })),
  "a failure": (session, words) =>
    asked(session, { type: "tool-call", name: "fail", input: {} }, (of) => ({
      type: "tool-failure",
      of,
      error: { name: words, message: words, code: words, data: { words } },
    })),
  "a step": (session, words) => {
    const call = session.append({ type: "step-call", name: words, input: words, effect: "write" });
    const error = { name: words, message: words };
    return call
      .append({ type: "effect-fail", of: call.id, attempt: 1, error, wait: 1 })
      .append({ type: "effect-doubt", of: call.id, attempt: 2, error })
      .append({
        type: "effect-settle",
        by: `user:${words}`,
        of: call.id,
        decision: "done",
        value: words,
        why: words,
      })
      .append({ type: "step-result", of: call.id, value: words });
  },
  "a model": (session, words) => {
    const configured = session.append({
      type: "agent-configure",
      agent: words,
      instructions: words,
      tools: [{ name: words, description: words, input: {} }],
      parameters: { stop: [words] },
      output: { title: words },
    });
    const call = configured.append({
      type: "model-call",
      model: words,
      agent: words,
      config: configured.id,
      prompt: digestOf(words),
      parameters: { x: words },
    });
    const content = [
      { type: "reasoning" as const, text: words },
      { type: "text" as const, text: words },
      { type: "tool-call" as const, call: "c", name: words, input: { words } },
      { type: "file" as const, media: words, data: "", name: words },
    ];
    return call.append({
      type: "model-reply",
      of: call.id,
      content,
      finish: words,
      usage,
      model: words,
      agent: words,
      redacted: [words],
    });
  },
  "a model's failure": (session, words) =>
    asked(session, { type: "model-call", model: words, by: `agent:${words}` }, (of) => ({
      type: "model-failure",
      of,
      error: { name: words, message: words },
    })),
  "a command": (session, words) =>
    leaving(session, (of) => ({
      type: "command-run",
      sandbox: words,
      incarnation: 1,
      command: words,
      directory: words,
      outcome: words,
      code: null,
      signal: words,
      stdout: words,
      stderr: words,
      network: [words],
      milliseconds: 1,
      of,
    })),
  "a file": changed,
  "a check": (session, words) =>
    session.append({
      type: "validation-report",
      name: words,
      passed: false,
      score: 0.5,
      detail: { words, passed: 1, failed: 1, failures: [{ name: words, message: words }] },
    }),
  "an approval": (session, words) => {
    const what: Json = { [words]: words };
    const ask = session.append({
      type: "approval-ask",
      what,
      digest: digestOf(canonical(what)),
      name: words,
      rule: words,
      why: words,
      to: [`user:${words}`] as never,
      expires: words,
    });
    return ask.append({
      type: "approval-give",
      by: `user:${words}`,
      of: ask.id,
      decision: "approve",
      digest: digestOf(canonical(what)),
      why: words,
      edit: words,
      value: words,
    });
  },
  "a policy": (session, words) =>
    leaving(
      session.append({ type: "policy-set", module: words, policy: words, version: digestOf(words) }),
      (of) => ({
        type: "policy-decide",
        of,
        verdict: "deny",
        policies: [words],
        rules: [words],
        labels: [words],
        approvals: [words],
        why: words,
      }),
    ),
  "a memory": (session, words) =>
    session
      .append({
        type: "memory-read",
        space: words,
        query: words,
        hits: [{ memory: session.id, score: 1, text: words }],
        shown: words,
        settings: { words },
      })
      .append({
        type: "memory-write",
        by: `user:${words}`,
        space: words,
        text: words,
        scope: [words],
        source: words,
        because: [session.id],
        subject: words,
      }),
  "a memory's end": (session, words) =>
    session.append({ type: "memory-revoke", by: `user:${words}`, of: session.id, why: words }),
  "a route": (session, words) =>
    session.append({
      type: "route-choose",
      selector: words,
      candidates: [{ name: words, description: words, score: 1 }],
      chosen: words,
      why: words,
      chooser: words,
    }),
  "a note": (session, words) => session.append({ type: "note", kind: words, [words]: words }),
  "a sandbox": (session, words) => {
    const open = session.append({
      type: "sandbox-open",
      sandbox: words,
      incarnation: 1,
      provider: words,
      isolation: words,
      spec: { words },
      status: { words },
      capabilities: { words },
      native: { words },
      tree: null,
    });
    return open
      .append({ type: "sandbox-lose", sandbox: words, incarnation: 1, why: words })
      .append({ type: "placement-change", sandbox: words, spec: { words } });
  },
  "a run": (session, words) => {
    const start = session.append({
      type: "run-start",
      nonce: words,
      module: words,
      name: words,
      digests: { [words]: words },
    });
    return start
      .append({ type: "module-enter", module: words, digests: { words } })
      .append({ type: "budget-stop", limit: words, allowed: 1, spent: 1, asked: 1 })
      .append({ type: "budget-set", limits: { [words]: 1 } })
      .append({ type: "run-cancel", of: start.id, why: words })
      .append({ type: "run-end", of: start.id, error: { name: words, message: words } });
  },
  "an import": (session, words) =>
    session.append({
      type: "record-import",
      format: words,
      source: words,
      digest: digestOf(words),
      detail: { words },
    }),
  "a signature": (session, words) =>
    session
      .append({ type: "head-sign", by: `user:${words}`, of: session.id, key: words, signature: words })
      .append({ type: "content-erase", by: `user:${words}`, digests: [digestOf(words)], why: words }),
  "a summary": (session, words) =>
    session
      .append({ type: "context-compress", from: session.id, to: session.id, summary: words, policy: words })
      .append({
        type: "skill-activate",
        name: words,
        source: words,
        digest: digestOf(words),
        instructions: words,
      })
      .append({ type: "signal-await", name: words, what: words }),
};

/** A session with words in every kind of field, one after the other; the first are its task. */
export async function recordOf(
  store: Store,
  words: readonly string[],
  ways: readonly Add[] = Object.values(WAYS),
): Promise<Session> {
  let session = Session.start(words[0] ?? "", { nonce: digestOf(words.join("\n").toWellFormed()) });
  for (const [place, one] of words.slice(1).entries())
    session = await (ways[place % ways.length] as Add)(session, one, store);
  return session;
}
