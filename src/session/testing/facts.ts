import type { FactInput, FactType } from "../fact.js";

/** What can be appended: every type but the three that say what parents a session has. */
export type Appendable = Exclude<FactType, "session-start" | "session-detach" | "branch-merge">;

/** One fact of each type with every field filled in; `text` stands in every field that is content. */
export function sampleFacts(text: string, id: string): { readonly [Type in Appendable]: FactInput } {
  const error = { name: "Error", message: text, code: "E", data: { deep: [text] } };
  return {
    "message-say": { type: "message-say", role: "user", content: [{ type: "text", text }] },
    "context-compress": { type: "context-compress", from: id, to: id, summary: text, of: id },
    "model-call": {
      type: "model-call",
      model: "m",
      agent: "a",
      config: id,
      prompt: id,
      parameters: { stop: text },
    },
    "model-reply": {
      type: "model-reply",
      of: id,
      content: [{ type: "reasoning", text, meta: { signature: text } }],
      finish: "stop",
      usage: { input: 3, output: 5, cached: 1, reasoning: 2 },
      model: "m-1",
      response: "r",
      raw: { body: text },
    },
    "model-failure": { type: "model-failure", of: id, error },
    "tool-call": {
      type: "tool-call",
      name: "shell",
      input: { run: text },
      call: "c",
      effect: "write",
      key: "k",
    },
    "tool-result": { type: "tool-result", of: id, output: { out: text }, milliseconds: 5 },
    "tool-failure": { type: "tool-failure", of: id, error, milliseconds: 5 },
    "memory-read": {
      type: "memory-read",
      space: "s",
      head: id,
      query: text,
      hits: [{ memory: id, score: 0.5, text }],
    },
    "memory-write": { type: "memory-write", space: "s", text, scope: "user", source: "tool", because: [id] },
    "memory-revise": { type: "memory-revise", of: id, text, because: [id], why: text },
    "memory-revoke": { type: "memory-revoke", of: id, because: [id], why: text },
    "placement-change": { type: "placement-change", sandbox: "local", spec: { workspace: "." } },
    "workspace-change": {
      type: "workspace-change",
      before: null,
      after: id,
      paths: [{ path: "a", change: "add" }],
      of: id,
    },
    "branch-fork": { type: "branch-fork", name: "b", why: text },
    "run-start": { type: "run-start", nonce: "n", module: "m", digests: { m: id }, key: "k" },
    "run-suspend": { type: "run-suspend", of: id, waiting: [id] },
    "run-end": { type: "run-end", of: id, error },
    "module-enter": { type: "module-enter", module: "m", digests: { m: id } },
    "module-exit": { type: "module-exit", of: id, error },
    "route-choose": {
      type: "route-choose",
      selector: "s",
      candidates: [{ name: "a", score: 1 }],
      chosen: null,
      why: text,
    },
    "approval-ask": {
      type: "approval-ask",
      what: { run: text },
      digest: id,
      of: id,
      expires: "2026-01-01T00:00:00Z",
    },
    "approval-give": {
      type: "approval-give",
      by: "user:ada",
      of: id,
      decision: "approve",
      digest: id,
      why: text,
      edit: { run: text },
    },
    "validation-report": {
      type: "validation-report",
      name: "v",
      passed: true,
      score: 1,
      detail: [text],
      of: id,
    },
    "budget-set": { type: "budget-set", limits: { tokens: 10 } },
    "budget-stop": { type: "budget-stop", limit: "tokens", allowed: 10, spent: 9, asked: 2 },
    "content-erase": { type: "content-erase", by: "user:ada", digests: [id], why: "asked by the user" },
    "record-import": {
      type: "record-import",
      format: "jsonl",
      source: text,
      digest: id,
      detail: { of: text },
    },
    note: { type: "note", kind: "mine", body: text, deep: { body: [text] } },
  };
}
