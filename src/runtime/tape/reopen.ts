import { randomBytes } from "node:crypto";
import { type FactId, type FactOf, parentsOf, readFact } from "../../session/index.js";
import type { Line, Store } from "../../store/index.js";
import { NotARunError } from "../error.js";
import type { Budget } from "../request/request.js";
import type { RunOptions } from "../run/options.js";
import { unnamed } from "../run/writer.js";
import { nameOf, type Recorded, startsOf } from "./recorded.js";
import { Tape } from "./tape.js";

/** A recorded run as it is run again: under its own nonce, or under a new one that comes from it. */
export type Reopened = Pick<
  RunOptions,
  "nonce" | "name" | "starts" | "own" | "origin" | "stale" | "budget" | "for"
> & {
  /** The session that it begins with. */
  readonly base: FactId;
  readonly tape: Tape;
};

/** How a recorded run is run again. */
export type Reopening = {
  /** Whether it is a run of its own, which comes from the recorded one. */
  readonly fork: boolean;
  /** The name of a fork. */
  readonly name?: string | undefined;
  /** Whether what made it fail is done again. */
  readonly again: boolean;
};

/** Reads all that a run needs of its record. */
export async function reopen(
  store: Store,
  recorded: Recorded,
  { fork, name, again }: Reopening,
): Promise<Reopened> {
  const nonce = fork ? newNonce() : recorded.nonce;
  const origin = fork
    ? { run: recorded.nonce, start: recorded.root, leaves: recorded.leaves, ...(again && { again }) }
    : recorded.fact.from;
  const starts = await startsOf(store, recorded);
  const [first] = starts;
  const [base] = first === undefined ? [] : parentsOf(first.line);
  if (first === undefined || base === undefined) throw new NotARunError(recorded.head, "replay");
  const heads = new Set(recorded.leaves);
  // Where only this run was brought here, what it did not take from the other one is not needed either.
  for (const id of fork ? [] : (origin?.leaves ?? []))
    if ((await store.line(id)) !== undefined) heads.add(id);
  const lines: Line[] = [];
  for await (const batch of store.lines([...heads], { without: [base] }))
    for (const line of batch) lines.push(line);
  const runs = starts.map(({ line }) => (readFact(line, undefined) as FactOf<"run-start">).nonce);
  const tape = new Tape(
    nonce,
    runs.filter((run) => run !== nonce),
  );
  for (const { id, line } of lines) tape.add(id, line);
  if (origin?.again === true) tape.redo(origin.run);
  const entries = tape.entries.filter(({ id }) => starts.some((start) => start.id === id));
  const { digests, for: behalf } = readFact(first.line, undefined) as FactOf<"run-start">;
  return {
    nonce,
    name: fork ? (name ?? unnamed(nonce)) : nameOf(recorded),
    base,
    tape,
    starts: entries.filter(({ run }) => fork || run !== nonce || origin === undefined),
    ...(!fork && origin !== undefined && { own: entries.find(({ run }) => run === nonce) }),
    ...(origin !== undefined && { origin }),
    stale: fork ? [] : recorded.names,
    budget: (digests as { readonly budget?: Budget } | undefined)?.budget,
    for: behalf,
  };
}

/** A unique id for a run. */
export function newNonce(): string {
  return randomBytes(9).toString("base64url");
}
