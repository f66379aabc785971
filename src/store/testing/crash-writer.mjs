// A process that writes until it is killed, for tests. Its argument says where and how, as JSON. Whatever was
// acknowledged is told on stdout, one line of JSON each, after the promise resolved and before anything else.
import { createHash } from "node:crypto";
import { writeSync } from "node:fs";

const {
  dist,
  url,
  seed,
  writers = 4,
  most = Number.POSITIVE_INFINITY,
  plain = false,
} = JSON.parse(process.argv[2]);
const { Session } = await import(`${dist}/index.js`);
const { openStore } = await import(`${dist}/entry/store.js`);

let state = seed >>> 0;
/** A number below `below` that the seed decides. */
const random = (below) => {
  state = (state + 0x6d2b79f5) >>> 0;
  let mixed = Math.imul(state ^ (state >>> 15), state | 1);
  mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
  return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
};
const tell = (what) => writeSync(1, `${JSON.stringify(what)}\n`);
/** What each writer has saved last: others merge it. */
const heads = [];
let saves = 0;

/** Puts the files of a folder, as a sandbox does, and then names them. */
async function withFiles(store, session) {
  const texts = Array.from({ length: 1 + random(8) }, (_, index) => `${index} `.repeat(random(2000)));
  const entries = texts.map((text, index) => {
    const digest = createHash("sha256").update(text).digest("hex");
    return [`f${index}`, "file", "644", text.length, digest];
  });
  const tree = JSON.stringify({ tree: 1, entries });
  const after = (await store.putBlobs([...texts, tree].map((text) => Buffer.from(text)))).at(-1);
  return session.append({ type: "workspace-change", before: session.files.tree, after, paths: [] });
}

async function write(store, me) {
  const name = `writer-${me}`;
  let session = await store.load(name).catch((error) => {
    if (error.code !== "not-found") throw error;
    return Session.start(`hello from ${me}`, random(2) === 0 ? { inline: 0 } : {});
  });
  const lease =
    plain || me % 2 === 1
      ? undefined
      : await store.lease(name, { owner: `writer ${me}`, milliseconds: 3_600_000 });
  if (lease !== undefined) tell({ name, epoch: lease.epoch });
  while (saves < most) {
    const size = plain ? 1 : 1 + random(60);
    for (let count = 0; count < size; count++)
      session = session.say(`${count} `.repeat(random(count % 16 === 0 ? 3000 : 60)));
    if (!plain && random(6) === 0) {
      const side = session.fork("side").say("x".repeat(random(9000)));
      session = session.say("meanwhile").merge(side, { adopt: "ours" });
    }
    if (!plain && random(4) === 0) session = await withFiles(store, session);
    const other = heads[random(writers)];
    if (
      !plain &&
      random(8) === 0 &&
      other !== undefined &&
      !session.descendsFrom(other) &&
      !other.descendsFrom(session)
    )
      session = session.merge(other, { adopt: "both" });
    const key = `${session.id.slice(0, 8)} ${saves++}`;
    await store.save(session, { name, key, ...(lease && { lease }) });
    tell({ name, id: session.id, key });
    heads[me] = session;
  }
}

/** What else happens to a store while it is written to. */
async function care(store) {
  for (let round = 0; ; round++) {
    await new Promise((done) => setTimeout(done, random(40)));
    const what = random(5);
    if (what === 0) await store.gc();
    else if (what === 1) {
      const path = `${url.slice(url.indexOf(":") + 1)}.backup-${process.pid}-${round}`;
      await store.backup(path);
      tell({ backup: path });
    } else if (what === 2) await store.save(Session.start("loose").say("nobody leads here"));
    else await store.load("writer-0", { horizon: 1 + random(200) }).catch(() => {});
  }
}

let store;
try {
  store = await openStore(url);
  tell({ open: true });
  const work = Array.from({ length: writers }, (_, me) => write(store, me));
  if (!plain) work.push(care(store));
  await Promise.all(work);
  await store.close();
  tell({ closed: true });
} catch (error) {
  tell({ error: error.code ?? error.message, message: error.stack });
  // Whether a store that failed still writes is told as well.
  const again = await store?.save(Session.start("again"), { name: "again" }).then(
    () => "done",
    (refusal) => refusal.code ?? refusal.message,
  );
  if (again !== undefined) tell({ again });
  process.exit(3);
}
