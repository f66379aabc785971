// @ts-check
// A process that works in local sandboxes and is going to be killed: `node killed.mjs <store> <state directory> <mark>`.
// It goes on with the run if there is one. What it starts inside carries the mark, so that leftovers can be found.
import { openRath, step, workflow } from "openrath";
import { localSandbox } from "openrath/sandbox";

const [, , url, directory, mark] = process.argv;
if (url === undefined || directory === undefined || mark === undefined)
  throw new Error("arguments are missing");
const tell = (/** @type {object} */ word) => process.stdout.write(`${JSON.stringify(word)}\n`);

const rath = openRath({
  store: url,
  sandboxes: { local: localSandbox({ directory, onSweep: (report) => tell({ swept: report }) }) },
});
rath.observe((event) => {
  if (event.kind === "fact" && event.session.fact.type === "step-result") tell({ done: event.session.id });
});

/** A command that leaves a process behind. What it does to the files can be done again from the files before. */
const run = (/** @type {string} */ name, /** @type {string} */ command) =>
  step(
    name,
    async (_input, { sandbox }) => {
      const box = await sandbox();
      tell({ open: box.ref.id });
      const { code, stdout } = await box.exec(`(setsid sleep ${mark} >/dev/null 2>&1 &); ${command}`).result;
      return { code, out: Buffer.from(stdout).toString() };
    },
    { effect: "write", reconcile: async () => "again" },
  );

const flow = workflow("killed", async (session) => {
  let base = session;
  for (const turn of [1, 2, 3])
    base = await run(`base ${turn}`, `echo base ${turn} >> log.txt; sleep 0.02`).forward(base);
  const ends = await Promise.all(
    ["a", "b", "c"].map(async (name) => {
      let branch = base.fork(name);
      for (const turn of [1, 2, 3])
        branch = await run(
          `${name} ${turn}`,
          `echo ${name} ${turn} >> ${name}.txt; sleep 0.05; wc -l < ${name}.txt`,
        ).forward(branch);
      return branch;
    }),
  );
  const [first, ...others] = ends;
  if (first === undefined) throw new Error("there are no branches");
  return run("last", "cat log.txt a.txt b.txt c.txt").forward(first.merge(others));
});

const known = (await (await rath.store()).head("killed")) !== undefined;
tell({ ready: known });
const session = known
  ? await rath.resume("killed", flow)
  : await rath.run(flow, rath.start("Work.").to("local"), { name: "killed" });
const steps = [...session.history()].filter(({ fact }) => fact.type === "step-result");
const last = steps.at(-1)?.fact;
tell({ ended: session.id, value: last?.type === "step-result" ? last.value : null });
// Stays where it is, to be killed here.
if (process.env.STAY !== undefined) await new Promise((resolve) => setTimeout(resolve, 60_000));
const verified = await rath.replay("killed", flow, { mode: "verify" });
tell({ verified: verified.id });
await rath.close();
