// A process that runs a workflow until it is killed, or finished, for tests. Its argument says where, as JSON. What it
// does to the world is in a journal, synced line by line; what it is told of by the runtime goes to stdout.
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, writeSync } from "node:fs";
import { setTimeout as after } from "node:timers/promises";

const { dist, url, journal, task, rounds = 6 } = JSON.parse(process.argv[2]);
const { Session, openRath, workflow, parallel, retry, race, step, signal, approve, sleep } = await import(
  `${dist}/index.js`
);
const { performAll } = await import(`${dist}/runtime/index.js`);
const NAME = "order";
const BY = "user:ada";
const tell = (what) => writeSync(1, `${JSON.stringify(what)}\n`);

// -- the world

/** What is in the journal: nobody but the journal knows what happened. */
const happened = () =>
  new Set(
    (existsSync(journal) ? readFileSync(journal, "utf8") : "")
      .split("\n")
      .filter((line) => line.startsWith("did "))
      .map((line) => line.split(" ")[2]),
  );
const write = (line) => {
  const file = openSync(journal, "a");
  writeSync(file, `${line}\n`);
  fsyncSync(file);
  closeSync(file);
};
const numberOf = (text) => [...text].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 1009, 7);

/** Done, and in the journal, after a while that the key decides; the answer takes a while too. */
async function act(effect, key, context, refused = 0) {
  if (task === "verify") throw new Error(`a replay called ${key}`);
  write(`call ${effect} ${key} ${context.key}`);
  await after(numberOf(key) % 4, undefined, { signal: context.signal });
  if (context.number <= refused) throw Object.assign(new Error(`refused ${key}`), { isRetryable: true });
  write(`did ${effect} ${key} ${context.key}`);
  await after(numberOf(`${key}!`) % 4);
  return numberOf(key);
}

// -- the program

const effect = (name, kind, options = {}) => {
  const { refused = 0, reconciles = false } = options;
  return step(name, ({ key }, context) => act(kind, key, context, refused), {
    effect: kind,
    ...(refused > 0 && { retry: { attempts: refused + 1, wait: 2, most: 4 } }),
    ...(reconciles && {
      reconcile: async ({ key }) => (happened().has(key) ? { value: numberOf(key) } : "again"),
    }),
  });
};
const say = (session, text) => session.say(text, { role: "assistant" });
const does = (name, round, kind, options) =>
  workflow(name, async (session) => {
    const { session: next, value } = await effect(name, kind, options).call(session, {
      key: `${name}-${round}`,
    });
    return say(next, `${name}-${round}: ${value}`);
  });

const order = workflow(NAME, async (given) => {
  let session = given;
  for (let round = 0; round < rounds; round++) {
    session = await does("look", round, "read").forward(session);
    session = await does("pay", round, "write").forward(session);
    session = await parallel(`ship ${round}`, [
      does("pack", round, "write", { reconciles: true }),
      does("label", round, "idempotent"),
      does("flaky", round, "write", { refused: 1 }),
    ]).forward(session);
    session = await performAll(
      session,
      ["write", "read", "write"].map((kind, place) => {
        const key = `side${place}-${round}`;
        return {
          fact: { type: "tool-call", name: `side${place}`, call: key, input: { key }, effect: kind },
          effect: kind,
          act: async (attempt) => ({ type: "tool-result", output: await act(kind, key, attempt) }),
          failed: (error) => ({ type: "tool-failure", error }),
          ...(place !== 1 && { conflicts: ["till"] }),
        };
      }),
    );
    if (round % 3 === 0) {
      const told = await signal("paid", { round }).call(session);
      session = say(told.session, `paid ${JSON.stringify(told.value)}`);
    } else if (round % 3 === 1) session = await approve("send", { round }).forward(session);
    else session = await sleep(3).forward(session);
    session = await retry(`again ${round}`, does("mail", round, "write"), { attempts: 2 }).forward(session);
    session = await race(`first ${round}`, [does("quick", round, "read"), sleep(600_000)])
      .forward(session)
      .then((won) => say(won, `round ${round} done`));
  }
  return session;
});

// -- the process

const refuse = () => {
  throw new Error("a replay asked for the time");
};
const rath = openRath({
  store: url,
  ...(task === "verify" && { clock: refuse, random: refuse, uuid: refuse }),
});
const store = await rath.store();

if (task === "verify") {
  const recorded = await store.resolve(NAME);
  const { id } = await rath.replay(NAME, order, { mode: "verify" });
  const { findings } = await store.check();
  const past = [];
  for await (const line of store.history(NAME)) past.push(line.id);
  tell({ verified: id, recorded, findings, past });
} else {
  rath.observe(({ kind, session }) => {
    if (kind !== "fact" || session.fact.type === "run-suspend") return;
    tell({ told: session.id, ...finished(session) });
  });
  tell({ open: true });
  const begun = (await store.names()).some(({ name }) => name === NAME);
  let session = begun
    ? await rath.resume(NAME, order)
    : await rath.run(order, Session.start("an order"), { name: NAME });
  while (session.fact.type === "run-suspend") {
    for (const one of await rath.pending(NAME)) {
      if (one.answered) continue;
      if (one.doubt) {
        const key = await keyOf(one.id);
        const done = happened().has(key);
        tell({ settled: key, as: done ? "done" : "again" });
        await rath.settle(NAME, {
          by: BY,
          of: one.id,
          ...(done ? { decision: "done", value: numberOf(key) } : { decision: "again" }),
        });
      } else if (one.type === "signal-await") await rath.answer(NAME, one.id, "yes", BY);
      else if (one.type === "approval-ask") await rath.approve(NAME, { by: BY, ask: one.id });
    }
    session = await rath.resume(NAME, order);
  }
  tell({ ended: session.id, transcript: session.transcript });
}
await rath.close();

/** The effect that an outcome finishes. */
function finished(session) {
  const { type, of } = session.fact;
  if (!/-(result|failure)$/.test(type)) return {};
  for (let at = session; ; at = at.parents[0]) if (at.id === of) return { finished: at.fact.input.key };
}

async function keyOf(request) {
  return (await store.load(request)).fact.input.key;
}
