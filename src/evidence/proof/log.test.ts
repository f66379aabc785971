import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { type FactId, Session } from "../../session/index.js";
import { openStore, type Store } from "../../store/index.js";
import { readCheckpoint } from "./checkpoint.js";
import { SigningKey } from "./key.js";
import { CheckpointLog } from "./log.js";
import { same } from "./merkle.js";
import { signersOf } from "./note.js";
import { CheckpointMemory } from "./release.js";
import { releaseUnnamed, takeCheckpoint } from "./take.js";
import { isConsistent } from "./testing/consistency.js";

const base = mkdtempSync(join(tmpdir(), "openrath-log-"));
afterAll(() => rmSync(base, { recursive: true, force: true }));
let folders = 0;
const newLog = (): CheckpointLog => new CheckpointLog(join(base, String(folders++)));
const key = SigningKey.make("ada");

function idsIn(log: CheckpointLog): readonly FactId[] {
  const ids = log.leaves.read(0, log.read().newest?.size ?? 0).toString("hex");
  return ids.match(/.{64}/g) ?? [];
}

async function reachable(store: Store): Promise<readonly FactId[]> {
  const ids: FactId[] = [];
  const names = (await store.names()).map(({ name }) => name);
  if (names.length > 0) for await (const lines of store.lines(names)) ids.push(...lines.map(({ id }) => id));
  return ids;
}

function isSound(log: CheckpointLog): boolean {
  const { checkpoints, flaws } = log.read();
  return (
    flaws.length === 0 &&
    checkpoints.every(
      ({ size, root, note }) =>
        same(log.rootAt(size), root) && signersOf(note, [key]).every(({ verdict }) => verdict === "good"),
    )
  );
}

it("[L1] a checkpoint covers what names lead to, once, and the next one adds what is new", async () => {
  let number = 20261116;
  const random = (below: number): number => {
    number = (Math.imul(number, 1103515245) + 12345) >>> 0;
    return Math.floor((number / 2 ** 32) * below);
  };
  for (let world = 0; world < 6; world++) {
    const store = await openStore("memory:");
    const log = newLog();
    const all = new Set<FactId>();
    const sessions: Session[] = [Session.start("trunk")];
    let before: ReturnType<typeof readCheckpoint> | undefined;
    for (let step = 0; step < 40; step++) {
      const name = `s${random(4)}`;
      const one = sessions[random(sessions.length)] as Session;
      const deed = random(9);
      if (deed < 3) sessions.push(one.say(`step ${step}`));
      else if (deed === 3) sessions.push(one.fork(`b${step}`).say("x"));
      else if (deed === 4) {
        const other = sessions[random(sessions.length)] as Session;
        if (other !== one) sessions.push(one.merge(other, { adopt: "ours" }));
      } else if (deed === 5 && (await store.head(name)) !== undefined)
        await store.forget(name, { force: true });
      else if (deed === 6) await store.gc({ all: true });
      if (deed < 5) await store.save(sessions.at(-1) as Session, { name, force: true });
      // Names move back, too.
      if (deed === 7) await store.save(one, { name, force: true });
      if (random(3) !== 0) continue;
      const { checkpoint, added } = await takeCheckpoint(store, log, key);
      const now = await reachable(store);
      const fresh = now.filter((id) => !all.has(id));
      expect(added).toBe(fresh.length);
      for (const id of now) all.add(id);
      const logged = idsIn(log);
      expect(new Set(logged)).toEqual(all);
      expect(logged.length).toBe(all.size);
      expect(isSound(log)).toBe(true);
      if (before !== undefined) {
        const path = log.proveConsistency(before.size, checkpoint.size);
        expect(isConsistent(before, checkpoint, path)).toBe(true);
      }
      before = checkpoint;
    }
    await store.close();
  }
});

it("[L1] a log without its notes on what it covers, or with other ones, gives the same", async () => {
  const store = await openStore("memory:");
  const log = newLog();
  const one = Session.start("hi").say("one");
  await store.save(one, { name: "main" });
  await takeCheckpoint(store, log, key);
  const file = join(log.folder, "covered.json");
  const good = readFileSync(file, "utf8");
  for (const bad of [
    undefined,
    "",
    "{",
    "null",
    good.replace(/[0-9a-f]{64}/, "f".repeat(64)),
    good.replace('"size":2', '"size":1'),
  ]) {
    if (bad === undefined) rmSync(file);
    else writeFileSync(file, bad);
    const size = (await store.head("main")) as string;
    await store.save((await store.load(size)).say(`after ${bad}`), { name: "main" });
    expect((await takeCheckpoint(store, log, key)).added).toBe(1);
    expect(new Set(idsIn(log)).size).toBe(idsIn(log).length);
  }
});

it("[L2] the resting mark of a run is left out", async () => {
  const store = await openStore("memory:");
  const log = newLog();
  const run = Session.start("hi").append({ type: "run-start", nonce: "r", module: "m" });
  const asked = run.append({ type: "signal-await", name: "go" });
  await store.save(asked.append({ type: "run-suspend", of: run.id, waiting: [asked.id] }), { name: "main" });
  await takeCheckpoint(store, log, key);
  expect(idsIn(log)).toEqual([run.parents[0]?.id, run.id, asked.id]);
  const on = asked.append({ type: "signal-give", of: asked.id, value: 1, by: "user" });
  await store.save(on, { name: "main", force: true });
  await store.gc({ all: true });
  await takeCheckpoint(store, log, key);
  expect(idsIn(log)).toEqual([run.parents[0]?.id, run.id, asked.id, on.id]);
});

it("[L3] a crash at any byte is mended by the next checkpoint", async () => {
  const store = await openStore("memory:");
  const log = newLog();
  let session = Session.start("hi");
  for (let step = 0; step < 300; step++) session = session.say(String(step));
  await store.save(session, { name: "main" });
  const first = (await takeCheckpoint(store, log, key)).checkpoint;
  const old = join(base, "old");
  cpSync(log.folder, old, { recursive: true });
  for (let step = 0; step < 250; step++) session = session.say(String(step));
  await store.save(session, { name: "main" });
  const { checkpoint } = await takeCheckpoint(store, log, key);
  const order = ["leaves", "roots", "checkpoints"];
  for (const [stage, file] of order.entries()) {
    const whole = readFileSync(join(log.folder, file));
    const from = readFileSync(join(old, file)).length;
    const step = file === "leaves" ? 211 : 3;
    for (let length = from; length < whole.length; length += step) {
      const torn = new CheckpointLog(join(base, "torn"));
      rmSync(torn.folder, { recursive: true, force: true });
      cpSync(old, torn.folder, { recursive: true });
      for (const done of order.slice(0, stage)) cpSync(join(log.folder, done), join(torn.folder, done));
      writeFileSync(join(torn.folder, file), whole.subarray(0, length));
      const isTorn = stage > 0 || length > from;
      expect(torn.read().flaws.length > 0).toBe(isTorn);
      const taken = await takeCheckpoint(store, torn, key, { seen: [first] });
      expect(taken.mended.length > 0, `${file} at ${length}`).toBe(isTorn);
      expect(taken.checkpoint.root).toEqual(checkpoint.root);
      expect(isSound(torn)).toBe(true);
      const aside = readdirSync(torn.folder).filter((name) => name.startsWith("torn-"));
      expect(aside.length > 0, `${file} at ${length}`).toBe(isTorn);
    }
  }
});

it("[L4] a log that lacks what was signed, or is another, is not signed again", async () => {
  const store = await openStore("memory:");
  const log = newLog();
  let session = Session.start("hi");
  for (let step = 0; step < 600; step++) session = session.say(String(step));
  await store.save(session, { name: "main" });
  const { checkpoint } = await takeCheckpoint(store, log, key);
  await store.save(session.say("more"), { name: "main" });
  const attempt = async (harm: (folder: string) => void, seen = [checkpoint]): Promise<void> => {
    const copy = new CheckpointLog(join(base, "harmed"));
    rmSync(copy.folder, { recursive: true, force: true });
    cpSync(log.folder, copy.folder, { recursive: true });
    harm(copy.folder);
    await expect(takeCheckpoint(store, copy, key, { seen })).rejects.toMatchObject({ code: "log-damaged" });
  };
  const flip = (folder: string, file: string, place: number): void => {
    const bytes = readFileSync(join(folder, file));
    bytes[place] = (bytes[place] as number) ^ 4;
    writeFileSync(join(folder, file), bytes);
  };
  await attempt((folder) => truncateSync(join(folder, "leaves"), 599 * 32));
  await attempt((folder) => rmSync(join(folder, "leaves")));
  await attempt((folder) => flip(folder, "leaves", 600 * 32 + 5), []);
  await attempt((folder) => flip(folder, "roots", 3), []);
  await attempt((folder) => rmSync(folder, { recursive: true }));
  await attempt((folder) => truncateSync(join(folder, "checkpoints"), 0));
  await attempt((folder) => flip(folder, "checkpoints", checkpoint.text.indexOf("\n") + 1));
  const other = newLog();
  await takeCheckpoint(store, other, key);
  await attempt((folder) => cpSync(other.folder, folder, { recursive: true }));
});

it("[L5] several at once: one, or busy; and the log is sound", async () => {
  const store = await openStore("memory:");
  const log = newLog();
  let session = Session.start("hi");
  for (let round = 0; round < 5; round++) {
    session = session.say(`round ${round}`);
    await store.save(session, { name: "main" });
    const results = await Promise.allSettled(
      Array.from({ length: 4 }, () => takeCheckpoint(store, log, key)),
    );
    for (const result of results)
      if (result.status === "rejected") expect(result.reason).toMatchObject({ code: "log-busy" });
    expect(results.some(({ status }) => status === "fulfilled")).toBe(true);
    expect(isSound(log)).toBe(true);
    expect(idsIn(log).length).toBe(round + 2);
  }
  // One that died holding it is replaced.
  writeFileSync(
    join(log.folder, "lock"),
    "process 999999999 on nowhere (00000000, start 1, boot 00000000-0000-0000-0000-000000000000, in 1.1)",
  );
  await expect(takeCheckpoint(store, log, key)).rejects.toMatchObject({ code: "log-busy" });
  rmSync(join(log.folder, "lock"));
  expect(existsSync(join(log.folder, "lock"))).toBe(false);
  expect((await takeCheckpoint(store, log, key)).added).toBe(0);
});

it("[L6] facts that no name leads to are given up with a reason", async () => {
  const store = await openStore("memory:");
  const log = newLog();
  const trunk = Session.start("hi");
  const branch = trunk.fork("b").say("x").say("y");
  await store.save(trunk.say("main"), { name: "main" });
  await store.save(branch, { name: "branch" });
  await takeCheckpoint(store, log, key);
  const because = { by: "user:ada", why: "a draft \u2028 é", at: "2026-01-02T03:04:05.000Z" } as const;
  expect(await releaseUnnamed(store, log, key, because)).toBe(0);
  await store.forget("branch");
  await expect(releaseUnnamed(store, log, key, { by: "user", why: " " })).rejects.toMatchObject({
    code: "sign-refused",
  });
  expect(await releaseUnnamed(store, log, key, because)).toBe(3);
  expect(await releaseUnnamed(store, log, key, because)).toBe(0);
  const [release] = log.read().releases;
  expect(release).toMatchObject({ by: "user:ada", why: "a draft \u2028 é" });
  expect(signersOf((release as NonNullable<typeof release>).note, [key])[0]?.verdict).toBe("good");
  const given = release?.places.flatMap(([from, to]) => idsIn(log).slice(from, to));
  expect(new Set(given)).toEqual(new Set([...branch.history()].slice(1).map(({ id }) => id)));
  await store.gc({ all: true });
  await takeCheckpoint(store, log, key);
  expect(isSound(log)).toBe(true);
});

it("[L7] the newest checkpoint of each log is remembered, and never an older one", async () => {
  const store = await openStore("memory:");
  const memory = new CheckpointMemory(join(base, "config"));
  expect(memory.list()).toEqual([]);
  const log = newLog();
  await store.save(Session.start("hi"), { name: "one" });
  const old = (await takeCheckpoint(store, log, key)).checkpoint;
  memory.keep("/home/one", old);
  await store.save(Session.start("ho"), { name: "two" });
  const newer = (await takeCheckpoint(store, log, key)).checkpoint;
  memory.keep("/home/one", newer);
  memory.keep("/home/one", old);
  memory.keep("/home/two", (await takeCheckpoint(store, newLog(), key)).checkpoint);
  expect(memory.list()).toHaveLength(2);
  expect(memory.of("/home/one", undefined)).toMatchObject([{ checkpoint: { size: 2 } }]);
  expect(memory.of("/elsewhere", newer.origin)).toMatchObject([{ checkpoint: { size: 2 } }]);
  memory.keep("/home/three", (await takeCheckpoint(store, newLog(), key)).checkpoint, "abc");
  expect(memory.of("/moved", undefined, "abc")).toMatchObject([{ home: "/home/three", store: "abc" }]);
  expect(memory.of("/moved", undefined, "other")).toEqual([]);
  writeFileSync(memory.list()[0]?.file as string, "garbage");
  expect(memory.list().some((one) => "problem" in one)).toBe(true);
  expect(() => readCheckpoint("garbage")).toThrow(expect.objectContaining({ code: "note-refused" }));
});
