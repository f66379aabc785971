import { describe, expectTypeOf, it } from "vitest";
import type {
  Because,
  Fact,
  FactInput,
  FactOf,
  Json,
  Message,
  Pending,
  Session,
  TotalUsage,
} from "./index.js";

declare const session: Session;
declare const fact: Fact;
const id = "a".repeat(64);

describe("types", () => {
  it("[Y1] the union is closed: unknown types, unknown fields and missing fields do not compile", () => {
    session.append({ type: "message-say", role: "user", content: "x" });
    // @ts-expect-error no such type
    session.append({ type: "message-shout", content: "x" });
    // @ts-expect-error no such field
    session.append({ type: "message-say", role: "user", content: "x", volume: 11 });
    // @ts-expect-error a field is missing
    session.append({ type: "message-say", role: "user" });
    // @ts-expect-error a field of another kind
    session.append({ type: "tool-result", of: 5, output: 1 });
    // @ts-expect-error nobody is called that
    session.append({ type: "note", by: "nobody" });
    // @ts-expect-error a Date is no JSON
    session.append({ type: "tool-call", name: "x", input: new Date() });
    // @ts-expect-error not a place in the list, nor a side
    session.merge(session, { adopt: "mine" });
  });

  it("[V10] a decision without who decided does not compile", () => {
    session.append({ type: "content-erase", digests: [id], why: "asked", by: "user:ada" });
    // @ts-expect-error who erased it?
    session.append({ type: "content-erase", digests: [id], why: "asked" });
    // @ts-expect-error who approved it?
    session.append({ type: "approval-give", of: id, decision: "approve", digest: id });
  });

  it("[Y2] a memory without evidence does not compile", () => {
    const memory = { type: "memory-write", space: "s", text: "t", scope: "user", source: "tool" } as const;
    session.append({ ...memory, because: [id], by: "user:ada" });
    // @ts-expect-error nobody
    session.append({ ...memory, because: [id] });
    // @ts-expect-error no evidence
    session.append({ ...memory, because: [], by: "user:ada" });
    // @ts-expect-error no evidence
    session.append({ type: "memory-revise", of: id, text: "t", because: [], by: "user:ada" });
    expectTypeOf<[]>().not.toExtend<Because>();
  });

  it("[Y3] the type of a fact tells its fields", () => {
    if (fact.type === "model-reply") {
      expectTypeOf(fact.usage.input).toEqualTypeOf<number>();
      expectTypeOf(fact).toExtend<FactOf<"model-reply">>();
    }
    if (fact.type === "tool-call") expectTypeOf(fact.input).toEqualTypeOf<Json>();
    // @ts-expect-error not every fact has content
    void fact.content;
    expectTypeOf(fact.at).toEqualTypeOf<string>();
  });

  it("[Y4] a note takes fields of your own", () => {
    session.append({ type: "note", kind: "mine", anything: { goes: [1, "two", null] } });
    session.append({ type: "note" });
    const input: FactInput = { type: "note", kind: "k", x: 1, at: "2026-01-01T00:00:00Z", by: "user:ada" };
    session.append(input);
    // @ts-expect-error a function is no JSON
    session.append({ type: "note", x: () => 1 });
  });

  it("[Y5] nothing about a session can be assigned", () => {
    // @ts-expect-error readonly
    session.depth = 1;
    // @ts-expect-error readonly
    session.id = id;
    // @ts-expect-error readonly
    session.fact.at = "now";
    // @ts-expect-error readonly
    session.transcript.push({ role: "user", content: "x" });
    // @ts-expect-error readonly
    session.usage.input = 0;
    expectTypeOf(session.transcript).toEqualTypeOf<readonly Message[]>();
    expectTypeOf(session.pending).toEqualTypeOf<readonly Pending[]>();
    expectTypeOf(session.usage).toEqualTypeOf<TotalUsage>();
    expectTypeOf(session.parents).toEqualTypeOf<readonly Session[]>();
  });

  it("[Y5] methods return the next session", () => {
    expectTypeOf<Session["append"]>().returns.toEqualTypeOf<Session>();
    expectTypeOf<Session["fork"]>().returns.toEqualTypeOf<Session>();
    expectTypeOf<Session["merge"]>().returns.toEqualTypeOf<Session>();
    expectTypeOf(session.view({ start: 0, step: (count: number) => count })).toEqualTypeOf<number>();
  });
});
