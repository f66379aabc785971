import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { fragile } from "../runtime/testing/fragile.js";
import type { FactId } from "../session/index.js";
import { campaign } from "../session/testing/campaign.js";
import type { Store } from "../store/index.js";
import { closeIndexes, memory, type Space, type SpaceView, type Written } from "./index.js";
import { derivedFolderOf } from "./name.js";
import { hashingEmbedder } from "./search/testing/embedder.js";
import { Model } from "./testing/model.js";
import { world } from "./testing/world.js";

const ROUNDS = Number(process.env.OPENRATH_PROGRAMS ?? campaign(12));
const SEED = Number(process.env.OPENRATH_SEED ?? 1);
const STEPS = 40;
const by = "user:ada";
const WORDS =
  "port server cache friday release theme dark light test flaky payment zone ada bob deploy key".split(" ");

/** The same numbers at every run of a seed. */
function chance(seed: number): (below: number) => number {
  let state = seed * 2_654_435_761 + 1;
  return (below) => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) | 0;
    const mixed = Math.imul(state ^ (state >>> 12), 0x297a2d39);
    return ((mixed ^ (mixed >>> 15)) >>> 0) % below;
  };
}

type Branch = { readonly space: Space; readonly base: FactId | undefined; readonly own: Set<number> };

async function play(seed: number): Promise<number> {
  const dice = chance(seed);
  const folder = mkdtempSync(join(tmpdir(), "openrath-memory-"));
  const url = ["memory:", `sqlite:${join(folder, "s.db")}`][seed % 2] as string;
  const { store, said } = await world({}, url);
  const space = (on: Store, name: string): Space =>
    memory({ name, scope: "project:rath", contradicts: false, embedding: hashingEmbedder() }).open(on);
  const model = new Model();
  const ids = new Map<number, FactId>();
  const branches = new Map<string, Branch>([
    ["notes", { space: space(store, "notes"), base: undefined, own: new Set() }],
  ]);
  const heads: { readonly branch: string; readonly id: FactId }[] = [];
  let forks = 0;
  const sentence = (): string =>
    `${Array.from({ length: 6 }, () => WORDS[dice(WORDS.length)]).join(" ")} ${dice(1_000)}`;

  /** Does a deed; now and then the process that does it dies at its write, and another does it again. */
  async function deed(name: string, act: (on: Space, key: string) => Promise<Written>): Promise<Written> {
    const key = `${seed} ${model.deeds.length} ${dice(1_000_000_000)}`;
    if (dice(6) === 0) {
      const how = dice(2) === 0 ? "before" : "after";
      const dying = fragile(store, 1, how);
      await expect(act(space(dying, name), key)).rejects.toThrow();
    }
    return act((branches.get(name) as Branch).space, key);
  }

  async function agrees(view: SpaceView, id: FactId | undefined): Promise<void> {
    const expected = model.memoriesAt(id);
    const found = await view.list({ statuses: ["live", "revoked", "expired", "held", "merged"] });
    const told = new Map(found.map((one) => [one.id, one]));
    expect(told.size).toBe(expected.size);
    for (const [number, { text, scope, status }] of expected) {
      const memory = told.get(ids.get(number) as FactId);
      expect(memory && [memory.text, memory.scope.join("/"), memory.status]).toEqual([text, scope, status]);
    }
    const query = sentence();
    const { found: hits } = await view.find(query, { limit: 50, threshold: 0, within: true });
    const live = new Set(
      [...expected].filter(([, { status }]) => status === "live").map(([number]) => ids.get(number)),
    );
    for (const { memory } of hits) expect(live.has(memory.id)).toBe(true);
  }

  for (let step = 0; step < STEPS; step++) {
    const names = [...branches.keys()];
    const name = names[dice(names.length)] as string;
    const branch = branches.get(name) as Branch;
    const before = await branch.space.head();
    const alive = [...model.memoriesAt(before)].filter(
      ([number, { status }]) => status === "live" && branch.own.has(number),
    );
    const [about] = alive[dice(Math.max(1, alive.length))] ?? [];
    const what = dice(20);
    if (before === undefined || about === undefined || what < 7) {
      const text = sentence();
      const { memory: id, head } = await deed(name, (on, key) =>
        on.write({ text, because: [said], source: "human-correction", by }, { key }),
      );
      const number = model.done({ type: "write", text }, before, head);
      ids.set(number, id);
      branch.own.add(number);
    } else if (what < 11) {
      const text = sentence();
      const { head } = await deed(name, (on, key) =>
        on.revise(ids.get(about) as FactId, { text, because: [said], by }, { key }),
      );
      model.done({ type: "revise", about, text }, before, head);
    } else if (what < 13) {
      const type = what === 11 ? "revoke" : "expire";
      const { head } = await deed(name, (on, key) =>
        on[type](ids.get(about) as FactId, { why: "so", by }, { key }),
      );
      model.done({ type, about }, before, head);
    } else if (what < 14) {
      const to = `project:rath/user:${"ab"[dice(2)]}`;
      const { head } = await deed(name, (on, key) =>
        on.promote(ids.get(about) as FactId, { to: to.split("/") as never, because: [said], by }, { key }),
      );
      model.done({ type: "scope", about, to }, before, head);
    } else if (what < 16) {
      const earlier = heads.filter((one) => one.branch === name && one.id !== before);
      const to = earlier[dice(Math.max(1, earlier.length))]?.id;
      if (to === undefined) continue;
      try {
        const { head } = await branch.space.rollback({ to, why: "so", by });
        model.same(head, to);
      } catch (error) {
        expect((error as Error).message).toContain("nothing was done since then");
      }
    } else if (what < 17 && branches.size < 4) {
      const fork = `trial-${forks++}`;
      const made = await branch.space.fork(fork, { by });
      model.same((await made.head()) as FactId, before);
      branches.set(fork, { space: made, base: before, own: new Set() });
    } else if (what < 19 && name !== "notes") {
      // A branch is merged once into the one that it came from, and is over then.
      const target = branches.get("notes") as Branch;
      const ours = await target.space.head();
      if (ours === undefined || !heads.some((one) => one.branch === "notes" && one.id === branch.base))
        continue;
      const merged = await target.space.merge(name, { by });
      model.merged(merged, branch.base, ours, before);
      for (const number of branch.own) target.own.add(number);
      branches.delete(name);
      heads.push({ branch: "notes", id: merged });
    } else if (url !== "memory:") {
      await closeIndexes(store);
      rmSync(derivedFolderOf(store) as string, { recursive: true, force: true });
    }
    const now = await branch.space.head();
    if (now !== undefined && branches.has(name)) heads.push({ branch: name, id: now });
    if (dice(4) === 0) {
      const asked = heads[dice(heads.length)];
      await agrees(branch.space, now);
      if (asked !== undefined) await agrees(await branch.space.at(asked.id), asked.id);
    }
  }
  for (const { space: one } of branches.values()) await agrees(one, await one.head());
  await closeIndexes(store);
  expect((await store.check()).findings).toEqual([]);
  await store.close();
  rmSync(folder, { recursive: true, force: true });
  return model.deeds.length;
}

describe("a space", () => {
  it(`[O3] ${ROUNDS} random histories with forks, merges, rollbacks, crashes and lost indexes agree with a simple model, as of every id`, async () => {
    let deeds = 0;
    for (let round = 0; round < ROUNDS; round++) {
      try {
        deeds += await play(SEED * 1_000 + round);
      } catch (error) {
        throw new Error(`seed ${SEED * 1_000 + round}`, { cause: error });
      }
    }
    expect(deeds).toBeGreaterThan(ROUNDS * 5);
  }, 600_000);
});
