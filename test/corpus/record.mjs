// @ts-check
// Records the corpus: `node test/corpus/record.mjs FOLDER`, with the package as it is built (`npm run build`).
//
// The files in test/corpus/0.1 were made by version 0.1.0 and are never made again: they are what old users have on their disks.
// A folder that exists is therefore refused. A later version may add a folder of its own beside it.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { openRath, Session, statusOf } from "openrath";
import { SigningKey, signHead } from "openrath/evidence";
import { importFormat } from "openrath/interop";
import { memory, recallAgain } from "openrath/memory";
import { openStore } from "openrath/store";
import { house, LONG, programs } from "./programs.mjs";

const given = process.argv[2];
if (given === undefined || existsSync(given)) {
  process.stderr.write("say a folder that does not exist yet: node test/corpus/record.mjs FOLDER\n");
  process.exit(2);
}
const target = resolve(given);
const version = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")).version;
const work = mkdtempSync(join(tmpdir(), "corpus-"));
process.chdir(work); // so that no path of this machine is recorded
mkdirSync("repo");
writeFileSync("repo/a.txt", "from the folder\n");
mkdirSync("skills/polite-letters", { recursive: true });
writeFileSync(
  "skills/polite-letters/SKILL.md",
  "---\nname: polite-letters\ndescription: How we write letters.\n---\nBegin with a greeting.\n",
);
mkdirSync("project/src", { recursive: true });
writeFileSync("project/AGENTS.md", "Use short words.\n");
writeFileSync("project/src/AGENTS.md", "Use long words.\n");

/** @type {import("./programs.mjs").World} */
const world = { called: () => {}, crash: false, healthy: false };
const modules = programs(world);
/** @type {{ [name: string]: { program: string, id: string, status: string } }} */
const runs = {};
const url = "sqlite:./corpus.sqlite";
const settings = {
  policy: house,
  secrets: { TOKEN: "tok-4f9a77c1" },
  prices: { scripted: { input: 1, output: 2 } },
};
const open = () => openRath({ store: url, patience: 0, ...settings });
let rath = open();

/** @param {string} program */
const moduleOf = (program) => modules[program] ?? unknown(program);
/** @param {string} program @returns {never} */
function unknown(program) {
  throw new Error(`there is no program ${program}`);
}
/** @param {Promise<Session>} running @returns {Promise<Session>} */
const endOf = (running) =>
  running.catch((error) => {
    if (error.session instanceof Session) return error.session;
    throw error;
  });
/**
 * @param {string} program
 * @param {{ name?: string, session?: Session, signal?: AbortSignal, by?: import("openrath").Principal, budget?: object }} [how]
 */
async function run(
  program,
  { name = program, session = rath.start(`Do ${program} for bob.`, { by: "user:ada" }), ...more } = {},
) {
  const ended = await endOf(rath.run(moduleOf(program), session, { name, ...more }));
  runs[name] = { program, id: ended.id, status: statusOf(ended) };
  return ended;
}
/** @param {string} name */
async function resume(name) {
  const { program } = runs[name] ?? unknown(name);
  const ended = await endOf(rath.resume(name, moduleOf(program)));
  runs[name] = { program, id: ended.id, status: statusOf(ended) };
  return ended;
}
/** @param {number} milliseconds */
const wait = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));
/** The process dies once such a fact is durable. @param {string} program @param {string} type @param {Session} session */
async function crash(program, type, session) {
  world.crash = true;
  const died = new Promise((done) =>
    rath.observe((event) => {
      if (event.kind === "fact" && event.session.fact.type === type) done(undefined);
    }),
  );
  rath.run(moduleOf(program), session, { name: program }).catch(() => {});
  await died;
  await rath.close();
  world.crash = false;
  rath = open();
}

// What ends.
for (const program of ["ask", "structured", "required", "flow", "branches", "combined", "detached"])
  await run(program);
for (const program of ["flaky", "reconciled", "loud", "silent", "spent", "secretive", "brought"])
  await run(program);
for (const program of ["desk", "host", "letters", "instructed", "team", "argue", "office"])
  await run(program);
for (const program of ["dropping", "summing", "learn", "recalling", "friend", "learner"]) await run(program);
await run("talk", { name: "chat-1" });
await run("talk", { name: "chat-2", session: (await rath.load("chat-1")).say("And then?") });
await run("talk", {
  name: "in blobs",
  session: rath.start("Everything is in blobs.", { inline: 0, by: "user:ada" }),
});
await run("ask", { name: "long", session: rath.start(LONG, { by: "user:ada" }) });
await run("ask", { name: "limited", budget: { steps: 1 } });
await run("failing");
const stop = new AbortController();
world.called = (what) => what === "wait" && setTimeout(() => stop.abort(new Error("enough")), 5);
await run("cancelled", { signal: stop.signal });
world.called = () => {};

// What did not heed its signal is asked about at the next resume.
await resume("reconciled");
await resume("reconciled");

// What-ifs and retries.
world.healthy = true;
const again = await rath.retry("failing", moduleOf("failing"), { name: "failing again" });
runs["failing again"] = { program: "failing", id: again.id, status: statusOf(again) };
world.healthy = false;
const other = await rath.replay("ask", moduleOf("structured"), { mode: "what-if", name: "ask otherwise" });
runs["ask otherwise"] = { program: "structured", id: other.id, status: statusOf(other) };

// What waits for people, signals and timers: once answered, once left alone.
await run("approved", { name: "edited" });
await rath.approve("edited", { by: "user:ada", edit: { to: "bob", amount: 90 }, why: "a typo" });
await resume("edited");
await run("approved", { name: "rejected" });
await rath.reject("rejected", { by: "user:ada", why: "too much" });
await resume("rejected");
await run("approved", { name: "taken over" });
await rath.takeOver("taken over", { by: "user:ada", value: "paid by hand" });
await resume("taken over");
await run("approved", { name: "given" });
await rath.approve("given", { by: "user:ada" });
await resume("given");
await run("approved", { name: "waiting approval" });
await run("approved", { name: "answered approval" });
await rath.approve("answered approval", { by: "user:ada" });
await run("approved", { name: "denied", by: "user:guest" });
await run("ruled");
await rath.approve("ruled", { by: "user:ada" });
await resume("ruled");
await run("signed");
const [question] = await rath.pending("signed");
await rath.answer("signed", question?.id ?? "", "A", "user:ada");
await resume("signed");
await rath.approve("signed", { by: "user:ada" });
await rath.approve("signed", { by: "user:cy" });
await resume("signed");
await run("waits");
await rath.signal("waits", "parcel", { condition: "fine" }, "service:warehouse");
await resume("waits");
await rath.approve("waits", { by: "user:ada" });
await resume("waits");
await wait(40);
await resume("waits");
await run("waits", { name: "waiting signal" });
await run("late");
await wait(40);
await resume("late");
await run("gossip");
await rath.reject("gossip", { by: "user:ada", why: "that is a trick" });
await resume("gossip");
await run("gossip", { name: "gossip 2" });
await rath.approve("gossip 2", { by: "user:ada" });
await resume("gossip 2");

// What is in doubt: settled, and left alone, after a timeout and after a crash.
for (const [name, decision] of /** @type {const} */ ([
  ["settled done", "done"],
  ["settled failed", "failed"],
  ["settled again", "again"],
])) {
  world.healthy = false;
  await run("doubtful", { name });
  await rath.settle(name, {
    by: "user:ada",
    decision,
    why: "I asked the bank",
    ...(decision === "done" && { value: "receipt 7" }),
    ...(decision === "failed" && { error: { name: "Error", message: "the bank refused it" } }),
  });
  world.healthy = true;
  await resume(name);
}
world.healthy = false;
await run("doubtful", { name: "in doubt" });
await crash("crashing", "effect-start", rath.start("Pay once.", { by: "user:ada" }));
runs.crashing = { program: "crashing", id: await (await rath.store()).resolve("crashing"), status: "open" };

// Files and sandboxes.
const place = () => rath.start("Work on files.", { by: "user:ada" }).to("virtual", { workspace: "./repo" });
await run("files", { session: place() });
await run("conflict", { session: await rath.importFiles(rath.start("Change it.").to("virtual"), "repo") });
await rath.signal("conflict", "merge-conflicts", { "a.txt": { text: "both\n" } }, "user:ada");
await resume("conflict");
await run("conflict", {
  name: "waiting conflict",
  session: await rath.importFiles(rath.start("Change it.").to("virtual"), "repo"),
});
await run("coder", { session: place() });
await run("coder", { name: "no such place", session: rath.start("Write.").to("cube") });
await run("resting", { session: place() });
await crash("lost", "step-result", rath.start("Work.").to("virtual"));
runs.lost = { program: "lost", id: await (await rath.store()).resolve("lost"), status: "open" };
await resume("lost");

// Outside of runs: a space that is forked, merged, promoted and rolled back; a signed head; an import; an erasure.
const store = await rath.store();
const space = memory({ name: "notes", scope: "project:shop" }).open(store);
const said = rath.start("The shop has two doors.", { by: "user:bob" });
await store.save(said, { name: "said" });
const by = /** @type {const} */ ("user:bob");
const draft = {
  because: /** @type {const} */ ([said.id]),
  source: /** @type {const} */ ("human-correction"),
  by,
};
const doors = await space.write({ ...draft, text: "The shop has two doors.", subject: "doors" });
const fork = await space.fork("trial", { by, why: "an experiment" });
await fork.write({ ...draft, text: "The shop has three doors.", subject: "doors" });
await fork.revise(doors.memory, { text: "The shop has two green doors.", because: [said.id], by });
await space.revise(doors.memory, { text: "The shop has two red doors.", because: [said.id], by });
await space.merge("trial", { by, why: "it went well" });
await space.promote(doors.memory, { because: [said.id], by, to: "project:shop", why: "it holds for all" });
await space.write({ ...draft, text: "Forget this." });
await space.rollback({ to: doors.head, why: "back to the doors", by });
const reads = [...(await rath.load("recalling")).history()].filter(({ fact }) => fact.type === "memory-read");
for (const { id } of reads) await recallAgain(store, id, () => space);

const key = SigningKey.make("corpus");
await store.save(signHead(await rath.load("chat-2"), key, { by: "user:ada" }), { name: "signed head" });
const conversation = [
  { id: "1", role: "user", parts: [{ type: "text", text: "What is the time?" }] },
  { id: "2", role: "assistant", parts: [{ type: "text", text: "Noon." }] },
];
const bytes = Buffer.from(JSON.stringify(conversation));
const { digestOf } = await import("openrath/session");
const [imported] = await (await importFormat("ai-sdk-ui")).read({
  name: "chat.json",
  bytes,
  digest: digestOf(bytes),
});
if (imported === undefined) throw new Error("nothing was imported");
await store.save(imported.session, { name: "imported" });
const private_ = rath
  .start("Jane Roe lives in Graz.", { inline: 0, by: "user:jane" })
  .say("And she likes tea.");
await store.save(private_, { name: "erased" });
const [blob] = [...private_.blobs()];
await store.erase("erased", { digests: [blob?.ref.digest ?? ""], why: "she asked for it", by: "user:ada" });
const half = rath.start("Half of it is erased.", { inline: 0 });
const ended = await run("talk", { name: "erased run", session: half });
const texts = [...ended.history()].flatMap((one) => [...one.blobs()].map(({ ref }) => ref.digest));
await store.erase("erased run", { digests: texts.slice(-1), why: "she asked for it", by: "user:ada" });
runs["erased run"] = { program: "talk", id: ended.id, status: "erased" };

// Facts that only a program of somebody's own appends, and those that old programs may have.
let hand = rath.start("By hand.", { by: "user:ada" });
hand = hand.append({ type: "budget-set", limits: { steps: 3 } });
hand = hand.append({ type: "policy-set", module: "m", policy: "p", version: "0".repeat(64) });
hand = hand.append({ type: "workspace-read", tree: null });
hand = hand.append({ type: "note", kind: "mine", text: LONG });
await store.save(hand, { name: "by hand" });

/** @type {{ [name: string]: string }} */
const names = {};
for (const { name, id } of await store.names()) names[name] = id;
/** @type {{ [name: string]: unknown }} */
const pending = {};
for (const name of Object.keys(runs)) {
  const awaited = await rath.pending(name);
  if (awaited.length > 0)
    pending[name] = awaited.map(({ id, type, what, doubt = false, answered }) => ({
      id,
      type,
      what,
      doubt,
      answered,
    }));
}
// Every type that there is: the test holds it against the facts.
/** @type {Set<string>} */
const types = new Set();
for await (const batch of store.lines(Object.values(names)))
  for (const { line } of batch) types.add(JSON.parse(line).fact.type);
const { facts, blobs, erased } = await store.check();
/** @type {string[]} */
const lines = [];
for await (const line of store.export(Object.values(names))) lines.push(line);
const exported = lines.filter((line) => "fact" in JSON.parse(line) && "parents" in JSON.parse(line)).length; // what names lead to
await rath.close();

// Checkpointed and without a log beside it, so that the file is all there is.
const reopened = await openStore(url);
await reopened.backup("./copy.sqlite");
await reopened.close();
mkdirSync(target, { recursive: true });
writeFileSync(join(target, "corpus.sqlite"), readFileSync("copy.sqlite"));
writeFileSync(join(target, "corpus.jsonl"), `${lines.join("\n")}\n`);
const manifest = {
  version,
  facts,
  blobs,
  erased,
  exported,
  types: [...types].sort(),
  names,
  runs,
  pending,
  key: key.text,
};
writeFileSync(join(target, "manifest.json"), `${JSON.stringify(manifest, null, 2)}\n`);
rmSync(work, { recursive: true });
process.stdout.write(`${facts} facts of ${types.size} types, ${Object.keys(runs).length} runs\n`);
process.exit(0);
