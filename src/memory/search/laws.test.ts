import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { FactId, FactInput, Session } from "../../session/index.js";
import { campaign } from "../../session/testing/campaign.js";
import { openStore } from "../../store/index.js";
import { folder } from "../../store/testing/folder.js";
import { SpaceIndex } from "./space-index.js";
import { dumped } from "./testing/dump.js";
import { hashingEmbedder } from "./testing/embedder.js";
import { emptySpace, heldAt, SPACE, write } from "./testing/space.js";

const TEXTS = [
  "the port is 8080",
  "the port is 9090",
  "ada likes tea",
  "猫は魚が好き",
  "",
  "build with make",
];
const QUESTIONS = ["port", "what does ada like", "猫", "make the build"];
const NOW = "2026-11-02T00:00:00.000Z";

/** A deed on one of the branches; numbers choose, whatever there is to choose from. */
type Deed = { readonly kind: number; readonly branch: number; readonly one: number; readonly other: number };

const deed = fc.record({
  kind: fc.nat(13),
  branch: fc.nat(3),
  one: fc.nat(1_000),
  other: fc.nat(1_000),
});

/** Does deeds on branches that fork and merge, and gives every state on the way. */
function played(deeds: readonly Deed[]): Session[] {
  const branches = [emptySpace()];
  const states = [...branches];
  const facts: FactId[] = [];
  const memories: FactId[] = [];
  deeds.forEach(({ kind, branch: number, one, other }, place) => {
    const at = number % branches.length;
    const branch = branches[at] as Session;
    const stamp = {
      by: "user:ada" as const,
      at: `2026-11-01T00:00:${String(place % 60).padStart(2, "0")}.000Z`,
    };
    const pick = <Value>(list: readonly Value[], choice: number): Value | undefined =>
      list[choice % Math.max(1, list.length)];
    const text = pick(TEXTS, other) as string;
    const of = pick(memories, one);
    const to = pick(memories, other);
    const because = [branch.id] as const;
    const append = (fact: FactInput): Session => branch.append(fact);
    let next: Session | undefined;
    if (kind <= 2)
      next = write(branch, `${text} ${one % 7}`, {
        ...stamp,
        ...(other % 3 === 0 && { subject: `s${other % 2}` }),
        ...(other % 4 === 0 && { needs: "approval" }),
        ...(of !== undefined && other % 5 === 0 && { merges: [of] }),
        ...(of !== undefined && other % 7 === 0 && { contradicts: [of] }),
      });
    else if (kind === 3 && of) next = append({ type: "memory-revise", ...stamp, of, text, because });
    else if (kind === 4 && of)
      next = append({ type: "memory-revise", ...stamp, of, text, because, needs: "approval" });
    else if (kind === 5 && of) next = append({ type: "memory-revoke", ...stamp, of, why: "no" });
    else if (kind === 6 && of) next = append({ type: "memory-promote", ...stamp, of, because });
    else if (kind === 7 && of)
      next = append({ type: "memory-promote", ...stamp, of, because, to: ["project:rath", "user:ada"] });
    else if (kind === 8 && of) next = append({ type: "memory-expire", ...stamp, of, why: "old" });
    else if (kind === 9 && of && to)
      next = append({ type: "memory-link", ...stamp, of, to, relation: one % 2 ? "contradicts" : "near" });
    else if (kind === 10 && facts.length > 0)
      next = append({
        type: "memory-rollback",
        ...stamp,
        to: branch.id,
        undoes: [pick(facts, one), pick(facts, other), pick(facts, one + other)] as FactId[],
        why: "back",
      });
    else if (kind === 11 && branches.length < 4) {
      branches.push(branch.fork(`b${place}`, stamp));
      states.push(branches.at(-1) as Session);
    } else if (kind === 12 && branches.length > 1) {
      const theirs = branches[(at + 1) % branches.length] as Session;
      if (theirs !== branch) next = branch.merge(theirs, stamp);
    } else if (kind === 13)
      next = append({ type: "memory-space", ...stamp, space: "notes", scope: "project:x", rules: { one } });
    if (next === undefined) return;
    branches[at] = next;
    states.push(next);
    facts.push(next.id);
    if (next.fact.type === "memory-write") memories.push(next.id);
  });
  return states;
}

const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

async function answersOf(index: SpaceIndex): Promise<unknown> {
  const answers = [];
  for (const question of QUESTIONS)
    answers.push(await index.find(question, { limit: 10, threshold: 0, now: NOW }));
  return plain({
    answers,
    all: index.list({ statuses: ["live", "held", "revoked", "expired", "merged"] }),
    subjects: ["s0", "s1"].map((subject) => index.bySubject(subject)),
    near: TEXTS.map((text) => index.near(text, 5)),
    rules: index.rules ?? null,
    scope: index.scope ?? null,
  });
}

describe("laws of the index", () => {
  it("[S1] [S2] whatever was written, forked, merged and rolled back, and whichever way it came there, it holds what the facts say and equals one made from scratch, row for row", async () => {
    const store = await openStore("memory:");
    const embedder = hashingEmbedder();
    const rounds = Number(process.env.OPENRATH_MEMORY_ROUNDS ?? campaign(20));
    await fc.assert(
      fc.asyncProperty(
        fc.array(deed, { minLength: 5, maxLength: 60 }),
        fc.array(fc.nat(1_000), { minLength: 2, maxLength: 5 }),
        async (deeds, visits) => {
          const states = played(deeds);
          for (const state of states) await store.save(state);
          const [here, there] = [folder(), folder()];
          const walker = new SpaceIndex({ folder: here, space: SPACE, embedder });
          for (const visit of visits) {
            // Forwards, backwards, over to another branch: the numbers choose.
            const state = states[visit % states.length] as Session;
            await walker.sync(store, state.id);
            expect(walker.head).toBe(state.id);
            const fresh = new SpaceIndex({ folder: there, space: SPACE, embedder });
            await fresh.sync(store, state.id);
            expect(await answersOf(walker)).toEqual(await answersOf(fresh));
            const all = walker.list({ statuses: ["live", "held", "revoked", "expired", "merged"] });
            const held = await heldAt(store, state.id);
            expect(plain(all)).toEqual(plain([...held.values()]));
            fresh.close();
            const [name] = readdirSync(there).filter((file) => file.endsWith(".sqlite"));
            expect(dumped(join(here, name as string))).toEqual(dumped(join(there, name as string)));
            for (const file of readdirSync(there)) rmSync(join(there, file));
          }
          walker.close();
        },
      ),
      { numRuns: rounds },
    );
    await store.close();
  });
});
