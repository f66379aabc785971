// A process of its own that uses a store, for tests. The first argument says what to do, as JSON. It tells what
// happened in lines of JSON on stdout, and waits for a line on stdin where its task says so.
import { createHash } from "node:crypto";
import { createInterface } from "node:readline";

const { dist, url, task, ...options } = JSON.parse(process.argv[2]);
const { Session } = await import(`${dist}/index.js`);
const { openStore } = await import(`${dist}/entry/store.js`);
const input = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const tell = (what) => process.stdout.write(`${JSON.stringify(what)}\n`);
const outcome = (attempt) =>
  attempt.then(
    ({ replayed }) => (replayed ? "replayed" : "done"),
    ({ code }) => code,
  );

const tasks = {
  /** Loads, appends, saves, until it has won often enough. Whoever loses loads again. */
  async race(store) {
    const won = [];
    let conflicts = 0;
    while (won.length < options.wins) {
      const next = (await store.load("main"))
        .say(`${options.me} ${won.length}`)
        .say(`text ${won.length % 3} `.repeat(600));
      // Half of the time the facts are there, and may be collected, before the name comes to them.
      if (won.length % 2 === 0) await store.save(next);
      const result = await outcome(store.save(next, { name: "main" }));
      if (result === "done") won.push(next.id);
      else if (result === "name-conflict") conflicts += 1;
      else throw new Error(`a step ended with ${result}`);
    }
    tell({ won, conflicts });
  },

  /** Does nothing but watch, and tells of the first move it hears of. */
  async watch(store) {
    // Nothing else may keep this process alive.
    process.stdin.destroy();
    const moves = store.watch({ name: "main" });
    tell({ ready: true });
    for await (const { id } of moves) {
      tell({ id });
      break;
    }
  },

  /** Collects what nobody needs until it is told to stop. */
  async collect(store) {
    let stopped = false;
    input.next().then(() => {
      stopped = true;
    });
    let rounds = 0;
    for (; !stopped; rounds++) {
      await store.gc();
      await new Promise((done) => setTimeout(done, 5));
    }
    tell({ rounds });
  },

  /** Takes part in steps that several processes attempt under a lease: each must be recorded once. */
  async relay(store) {
    const recorded = [];
    for (let step = 0; step < options.steps; ) {
      let lease;
      try {
        lease = await store.lease("main", { owner: options.me, milliseconds: 60_000 });
      } catch (error) {
        if (error.code !== "name-fenced") throw error;
        await new Promise((done) => setTimeout(done, 1));
        continue;
      }
      const session = (await store.load("main")).say(`step ${step} by ${options.me}`);
      if ((await outcome(store.save(session, { name: "main", lease, key: `${step}` }))) === "done")
        recorded.push(step);
      await lease.release();
      step += 1;
    }
    tell({ recorded });
  },

  /** Takes a short lease, records a step, and when it is told to go on tries what a holder may do. */
  async hold(store) {
    const lease = await store.lease("main", { owner: "sleeper", milliseconds: options.milliseconds });
    const one = (await store.load("main")).say("one");
    await store.save(one, { name: "main", lease, key: "one" });
    tell({ epoch: lease.epoch, id: one.id });
    await input.next();
    tell({
      again: await outcome(store.save(one, { name: "main", lease, key: "one" })),
      next: await outcome(store.save(one.say("two"), { name: "main", lease, key: "two" })),
      renew: await outcome(lease.renew().then(() => ({ replayed: false }))),
    });
  },

  /** Puts files, waits, and only then saves the fact that names them; or does so again and again. */
  async files(store) {
    const digestOf = (text) => createHash("sha256").update(text).digest("hex");
    let session = Session.start(options.me);
    for (let round = 0; round < options.rounds; round++) {
      const texts = Array.from(
        { length: 5 },
        (_, index) => `${index < 3 ? "shared" : options.me} ${index} ${round}`,
      );
      const entries = texts.map((text, index) => [`f${index}`, "file", "644", text.length, digestOf(text)]);
      const tree = JSON.stringify({ tree: 1, entries });
      const digests = await store.putBlobs([...texts, tree].map((text) => Buffer.from(text)));
      if (options.wait) {
        tell({ digests });
        await input.next();
      }
      const after = digests.at(-1);
      session = session.append({ type: "workspace-change", before: session.files.tree, after, paths: [] });
      await store.save(session, { name: options.me });
    }
    tell({ id: session.id });
  },

  /** Takes a long lease and keeps it until it is killed. */
  async keep(store) {
    const { epoch, owner } = await store.lease("main", { ...options.lease, milliseconds: 600_000 });
    tell({ epoch, owner });
    await new Promise((done) => setTimeout(done, 600_000));
  },

  /** Moves names that belong together, until it is killed. */
  async together(store) {
    let [session, side] = [await store.load("main"), undefined];
    for (let round = 0; ; round++) {
      session = session.say(`${round} `.repeat(round % 50));
      side = session.fork("side").say(`aside ${round}`);
      await store.save(session, {
        name: "main",
        also: {
          twin: session,
          [round % 2 === 0 ? "even" : "odd"]: side,
          [round % 2 === 0 ? "odd" : "even"]: null,
        },
      });
      if (round === 3) tell({ ready: true });
    }
  },

  /** Writes long stretches, starts over now and then, and collects what is left behind. */
  async churn(store) {
    let session;
    for (let round = 0; round < options.rounds; round++) {
      if (round % 8 === 0) session = Session.start(options.me);
      // The words of a user are a blob each; most of a stretch is in lines.
      for (let step = 0; step < 150; step++)
        session = session.say(`${round} ${step} `.repeat(5), {
          role: step % 10 === 0 ? "user" : "assistant",
        });
      await store.save(session, { name: options.me, force: true });
      if (round % 5 === 4) await store.gc();
    }
    tell({ id: session.id });
  },

  /** Reads every name again and again until it is told to stop. */
  async read(store) {
    let stopped = false;
    input.next().then(() => {
      stopped = true;
    });
    const wrong = [];
    let loaded = 0;
    while (!stopped) {
      for (const { id } of await store.names()) {
        try {
          const session = await store.load(id);
          if ([...session.history()].length !== session.depth + 1) wrong.push(`${id} has holes`);
          loaded += 1;
        } catch (error) {
          // It may have been collected since its name was read.
          if (error.code !== "not-found") wrong.push(`${error.code}: ${error.message}`);
        }
      }
      const { findings } = options.check ? await store.check() : { findings: [] };
      wrong.push(...findings.map(({ place, problem }) => `${place}: ${problem}`));
      await new Promise((done) => setTimeout(done, 1));
    }
    tell({ loaded, wrong });
  },

  /** Moves a name. */
  async move(store) {
    const session = (await store.load("main")).say("from elsewhere");
    await store.save(session, { name: "main" });
    tell({ id: session.id });
  },
};

const store = await openStore(url);
await tasks[task](store);
await store.close();
// Others may still be reading what this process is told; a watcher must come to its end by itself.
if (task !== "watch") process.exit(0);
