import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Module, mergeFiles, openRath, type Rath, type Session, step } from "openrath";
import { localSandbox, type Sandbox } from "openrath/sandbox";
import { describe, expect, it } from "vitest";
import { campaign } from "../../src/session/testing/campaign.js";
import { SEED } from "../../src/store/testing/crash.js";
import { numbersFrom } from "../runtime/numbers.js";

const bwrap = spawnSync("bwrap", ["--ro-bind", "/", "/", "true"]).status === 0;
const PROGRAMS = Number(process.env.OPENRATH_PROGRAMS ?? campaign(6));

/** Names that file systems and programs stumble over. */
const NAMES = [
  "a.txt",
  "b.txt",
  "A.txt",
  "dir/c.txt",
  "dir/deep/er/d",
  "new\nline",
  "-rf",
  "__proto__",
  "ünï cödé",
  "n".repeat(255),
  "dir/e",
  "\udcff\udcfe raw",
];

/** A workspace, told as simply as possible: what is where. Empty directories are left to other tests. */
type Files = ReadonlyMap<string, string>;
type Known = { readonly session: Session; readonly files: Files };

describe.each(["virtual", "local"] as const)("%s", (kind) => {
  const skipped = kind === "local" && !bwrap;
  it.skipIf(skipped)(
    `[L1] random changes across forks, merges, time travel and restarts agree with a simple model${skipped ? " (skipped: bubblewrap is missing)" : ""}`,
    async () => {
      const rounds = kind === "local" ? Math.ceil(PROGRAMS / 3) : PROGRAMS;
      for (let program = 0; program < rounds; program++) {
        try {
          await oneProgram(kind, numbersFrom(SEED + program));
        } catch (error) {
          throw new Error(`program ${program}: OPENRATH_SEED=${SEED + program} has it again`, {
            cause: error,
          });
        }
      }
    },
    600_000,
  );
});

async function oneProgram(kind: "virtual" | "local", random: () => number): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "openrath-property-"));
  const directory = join(folder, "state");
  const open = (): Rath =>
    openRath({
      store: `sqlite:${join(folder, "rath.db")}`,
      sandboxes: { local: () => localSandbox({ directory }) },
    });
  let rath = open();
  const pick = <Value>(list: readonly Value[]): Value => list[Math.floor(random() * list.length)] as Value;
  const names = kind === "virtual" ? NAMES.filter((name) => name.isWellFormed()) : NAMES;
  try {
    const start = await rath.save(rath.start("x").to(kind), "start");
    const all: Known[] = [{ session: start, files: new Map() }];
    const trees = new Map<string | null, Files>([[null, new Map()]]);
    const learn = (session: Session, files: Files): void => {
      all.push({ session, files });
      if (session.files.unmerged === undefined) trees.set(session.files.tree, files);
    };
    for (let turn = 0; turn < 14; turn++) {
      // Mostly the newest, sometimes one from long ago: going back in time is nothing special.
      const from = random() < 0.6 ? (all.at(-1) as Known) : pick(all);
      const chance = random();
      if (chance < 0.6) {
        const next = new Map(from.files);
        const acts = Array.from({ length: 1 + Math.floor(random() * 3) }, () =>
          change(next, pick(names), random, `${turn}`),
        );
        const session = await rath.run(changing(acts), from.session);
        learn(session, next);
      } else if (chance < 0.75) learn(await rath.save(from.session.fork(`fork ${turn}`)), from.files);
      else if (chance < 0.9) {
        const other = pick(all);
        const [ours, theirs] = [from, other];
        if (ours.session.descendsFrom(theirs.session) || theirs.session.descendsFrom(ours.session)) continue;
        if (random() < 0.3)
          learn(await rath.save(ours.session.merge(theirs.session, { adopt: "theirs" })), theirs.files);
        else {
          const joined = ours.session.merge(theirs.session);
          // Who merged twice has more than one base; what the record says is the base is where both once were.
          const expected = merged(joined, ours.files, trees);
          if (expected === undefined) continue;
          learn(await rath.run(mergeFiles({ resolve: "ours" }), joined), expected);
        }
      } else {
        await rath.close();
        rath = open();
        for (const [place, known] of all.entries())
          all[place] = { ...known, session: await rath.load(known.session.id) };
      }
    }
    for (const { session, files } of all) {
      const found = await rath.filesAt(session);
      const paths = await found.paths();
      expect(paths).toEqual([...files.keys()].sort());
      for (const path of paths) expect(await found.text(path)).toBe(files.get(path));
    }
    expect((await (await rath.store()).check()).findings).toEqual([]);
  } finally {
    await rath.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

type Act = { readonly path: string; readonly text?: string; readonly by: "shell" | "files" };

/** Changes the model, and says how to change the files. A name that is a directory cannot be a file at the same time. */
function change(files: Map<string, string>, path: string, random: () => number, mark: string): Act {
  const by = random() < 0.5 && path.isWellFormed() ? "shell" : "files";
  if (files.has(path) && random() < 0.35) {
    files.delete(path);
    return { path, by };
  }
  const text = `${mark}:${Math.floor(random() * 1e6)}`;
  files.set(path, text);
  return { path, text, by };
}

function changing(acts: readonly Act[]): Module {
  return step(
    "change",
    async (_input, { sandbox }) => {
      const box = await sandbox();
      for (const act of acts) await changed(box, act);
      return acts.length;
    },
    { effect: "write" },
  );
}

async function changed(box: Sandbox, { path, text, by }: Act): Promise<void> {
  if (by === "files") {
    if (text === undefined) await box.files.remove(path);
    else await box.files.write(path, text);
    return;
  }
  const folder = path.includes("/") ? path.slice(0, path.lastIndexOf("/")) : ".";
  const words = text === undefined ? 'rm -- "$1"' : 'mkdir -p -- "$2" && printf %s "$3" > "./$1"';
  const { code, stderr } = await box.exec(["sh", "-c", words, "sh", path, folder, text ?? ""]).result;
  expect(code, Buffer.from(stderr).toString()).toBe(0);
}

/** What a merge makes of the files when ours win; undefined where the model does not know the base. */
function merged(session: Session, ours: Files, trees: ReadonlyMap<string | null, Files>): Files | undefined {
  const { tree, unmerged = [] } = session.files;
  if (unmerged.length > 1) return undefined;
  const [side] = unmerged;
  if (side === undefined) return trees.get(tree);
  const [base, theirs] = [trees.get(side.base), trees.get(side.theirs)];
  if (base === undefined || theirs === undefined) return undefined;
  const result = new Map(ours);
  for (const path of new Set([...base.keys(), ...theirs.keys()])) {
    if (ours.get(path) !== base.get(path)) continue;
    const text = theirs.get(path);
    if (text === undefined) result.delete(path);
    else result.set(path, text);
  }
  return result;
}
