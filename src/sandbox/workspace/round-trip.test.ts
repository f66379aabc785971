import { appendFileSync, chmodSync, renameSync, rmSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Digest } from "../../session/index.js";
import { campaign } from "../../session/testing/campaign.js";
import { type BlobSpace, Trees } from "../trees.js";
import { capture } from "./capture.js";
import { checkout } from "./checkout.js";
import { entriesOf } from "./entries.js";
import { StatCache } from "./stat-cache.js";
import { type Model, modelOf, placeOf, put, type Thing } from "./testing/model.js";
import { folder, newTrees } from "./testing/space.js";

const NAMES = [
  "a",
  "A",
  "b",
  "new\nline",
  "\udcff\udc80x",
  "é",
  "\ufffd",
  "x".repeat(255),
  "__proto__",
  "-rf",
  ".git",
  " ",
  "toString",
];
const name = fc.constantFrom(...NAMES);
const text = fc.constantFrom("", "a", "b", "c".repeat(5_000), "\0\xff\n", "same", "emas");
const mode = fc.constantFrom(0o644, 0o755, 0o600, 0o444, 0o777);
const thing: fc.Arbitrary<Thing> = fc.oneof(
  fc.record({ kind: fc.constant("file" as const), mode, text }),
  fc.record({ kind: fc.constant("directory" as const), mode: fc.constantFrom(0o755, 0o700) }),
  fc.record({
    kind: fc.constant("link" as const),
    target: fc.constantFrom("a", "..", "/etc", "nowhere", "\udcfe", "b/c"),
  }),
);
const pick = fc.nat({ max: 1_000 });
/** What can happen to a workspace. Numbers choose among what is there at that moment. */
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant("put" as const), pick, name, thing }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("remove" as const), pick }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("move" as const), pick, to: pick, name }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("append" as const), pick, text }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant("chmod" as const), pick, mode: fc.constantFrom(0o755, 0o700) }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("capture" as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("restore" as const),
      pick,
      isKnown: fc.boolean(),
      alone: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("fork" as const), pick }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("cut" as const), pick, after: fc.nat({ max: 4 }) }) },
);
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

/** A workspace, and what it should hold. */
type Branch = { root: string; cache: StatCache; model: Map<string, Thing> };

describe("trees and directories", () => {
  it("[K1] random changes, captures, restores, forks and cuts agree with a simple model, and forks never meet", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(pick, step), { maxLength: 40 }), async (steps) => {
        const { space, trees } = newTrees();
        const taken: { tree: Digest; model: Model }[] = [];
        const branches: Branch[] = [{ root: folder(), cache: new StatCache(), model: new Map() }];
        for (const [which, each] of steps) {
          const branch = branches[which % branches.length] as Branch;
          const fork = await happen(each, branch, trees, space, taken);
          if (fork !== undefined) branches.push(fork);
        }
        for (const branch of branches) {
          expect(modelOf(branch.root)).toEqual(sorted(branch.model));
          const { tree } = await capture(branch.root, trees, { cache: branch.cache });
          expect(tree).toBe((await capture(branch.root, trees, { cache: new StatCache() })).tree);
          expect(await modelIn(new Trees(space), tree)).toEqual(sorted(branch.model));
          rmSync(branch.root, { recursive: true });
        }
      }),
      { numRuns: campaign(300) },
    );
  });
});

async function happen(
  each: Step,
  branch: Branch,
  trees: Trees,
  space: BlobSpace,
  taken: { tree: Digest; model: Model }[],
): Promise<Branch | undefined> {
  const { root, cache, model } = branch;
  const paths = [...model.keys()];
  const directories = [
    "",
    ...paths.filter((path) => model.get(path)?.kind === "directory").map((path) => `${path}/`),
  ];
  switch (each.do) {
    case "put": {
      const path = `${directories[each.pick % directories.length]}${each.name}`;
      put(root, path, each.thing);
      drop(model, path);
      model.set(path, each.thing);
      return undefined;
    }
    case "remove": {
      const path = paths[each.pick % Math.max(1, paths.length)];
      if (path === undefined) return undefined;
      rmSync(placeOf(root, path), { recursive: true });
      drop(model, path);
      return undefined;
    }
    case "move": {
      const path = paths[each.pick % Math.max(1, paths.length)];
      const to = `${directories[each.to % directories.length]}${each.name}`;
      if (path === undefined || `${to}/`.startsWith(`${path}/`) || model.has(to)) return undefined;
      renameSync(placeOf(root, path), placeOf(root, to));
      const moved = [...model].filter(([key]) => key === path || key.startsWith(`${path}/`));
      drop(model, path);
      for (const [key, value] of moved) model.set(`${to}${key.slice(path.length)}`, value);
      return undefined;
    }
    case "append": {
      const path = paths[each.pick % Math.max(1, paths.length)];
      const there = path === undefined ? undefined : model.get(path);
      if (path === undefined || there?.kind !== "file") return undefined;
      appendFileSync(placeOf(root, path), Buffer.from(each.text, "latin1"));
      model.set(path, { ...there, text: there.text + each.text });
      return undefined;
    }
    case "chmod": {
      const path = paths[each.pick % Math.max(1, paths.length)];
      const there = path === undefined ? undefined : model.get(path);
      if (path === undefined || there === undefined || there.kind === "link") return undefined;
      chmodSync(placeOf(root, path), each.mode);
      model.set(path, { ...there, mode: each.mode });
      return undefined;
    }
    case "capture": {
      const { tree } = await capture(root, trees, { cache });
      expect(await modelIn(trees, tree)).toEqual(sorted(model));
      taken.push({ tree, model: new Map(model) });
      return undefined;
    }
    case "restore": {
      const chosen = taken[each.pick % Math.max(1, taken.length)];
      if (chosen === undefined) return undefined;
      // What the directory is, is certain right after it was captured.
      const from = each.isKnown ? (await capture(root, trees, { cache })).tree : undefined;
      await checkout(root, trees, chosen.tree, {
        cache,
        alone: each.alone,
        ...(from !== undefined && { from }),
      });
      branch.model = new Map(chosen.model);
      expect(modelOf(root)).toEqual(sorted(branch.model));
      return undefined;
    }
    case "fork": {
      const chosen = taken[each.pick % Math.max(1, taken.length)];
      if (chosen === undefined) return undefined;
      const fork: Branch = {
        root: folder(),
        cache: new StatCache(),
        model: new Map(chosen.model),
      };
      await checkout(fork.root, trees, chosen.tree, { cache: fork.cache, alone: true });
      return fork;
    }
    case "cut": {
      const chosen = taken[each.pick % Math.max(1, taken.length)];
      if (chosen === undefined) return undefined;
      let left = each.after;
      const failing = new Trees({
        putBlobs: (blobs) => space.putBlobs(blobs),
        blob: (digest) => {
          left -= 1;
          if (left < 0) throw new Error("cut off");
          return space.blob(digest);
        },
      });
      await checkout(root, failing, chosen.tree, { cache }).catch((error: Error) => {
        if (error.message !== "cut off") throw error;
      });
      await checkout(root, trees, chosen.tree, { cache });
      branch.model = new Map(chosen.model);
      expect(modelOf(root)).toEqual(sorted(branch.model));
      return undefined;
    }
  }
}

function drop(model: Map<string, Thing>, path: string): void {
  for (const key of [...model.keys()]) if (key === path || key.startsWith(`${path}/`)) model.delete(key);
}

function sorted(model: Model): Model {
  return new Map([...model].sort(([one], [other]) => (one < other ? -1 : 1)));
}

/** A tree as a model. */
async function modelIn(trees: Trees, tree: Digest): Promise<Model> {
  const found = new Map<string, Thing>();
  for await (const { path, entry } of entriesOf(trees, tree)) {
    if (entry.kind === "link") found.set(path, { kind: "link", target: entry.target });
    else if (entry.kind === "tree") found.set(path, { kind: "directory", mode: entry.mode });
    else {
      const pieces: Uint8Array[] = [];
      for await (const piece of trees.pieces(entry)) pieces.push(piece);
      found.set(path, { kind: "file", mode: entry.mode, text: Buffer.concat(pieces).toString("latin1") });
    }
  }
  return sorted(found);
}
