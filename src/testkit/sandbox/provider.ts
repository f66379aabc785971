import { deepStrictEqual, equal, ok } from "node:assert";
import type { SandboxRef, SandboxSpec } from "../../sandbox/index.js";
import { skip, until } from "../runner.js";
import { type Bench, check, done, newId, promise, refused, run, type SandboxCase, text } from "./case.js";

export const providerCases: readonly SandboxCase[] = [
  promise("[P1] capabilities are plain JSON, always the same", async ({ provider, capabilities, open }) => {
    deepStrictEqual(JSON.parse(JSON.stringify(capabilities)), capabilities);
    deepStrictEqual(await provider.capabilities(), capabilities);
    deepStrictEqual((await open()).capabilities, capabilities);
    equal(new Set(capabilities.limits).size, capabilities.limits.length);
    ok(capabilities.network.length > 0, "no kind of network is possible, not even none");
  }),

  promise("[P2] a sandbox without isolation says so in its status", async ({ capabilities, open }) => {
    const { conditions } = await (await open()).status();
    equal(conditions.find(({ type }) => type === "Isolated")?.status, capabilities.isolation !== "none");
  }),

  promise("[P3] the same id and incarnation give the same sandbox", async ({ provider, trees, own }) => {
    const options = { id: newId(), incarnation: 1, tree: null, trees };
    const [one, two] = (await Promise.all([provider.create({}, options), provider.create({}, options)])).map(
      own,
    );
    const three = own(await provider.create({}, options));
    await one?.files.write("a.txt", "one");
    equal(text((await two?.files.read("a.txt")) ?? new Uint8Array()), "one");
    equal(await done(three, "cat a.txt"), "one");
    deepStrictEqual([one?.ref.id, one?.ref.incarnation], [three.ref.id, three.ref.incarnation]);
    deepStrictEqual(one?.ref.native, three.ref.native);
    equal((await listed(provider, options.id)).length, 1);
  }),

  promise("[P4] another incarnation of an id is another sandbox", async ({ open }) => {
    const id = newId();
    const [first, second] = [await open({}, { id }), await open({}, { id, incarnation: 2 })];
    await first.files.write("a.txt", "first");
    deepStrictEqual(await second.files.list(), []);
    await second.destroy();
    equal(await done(first, "cat a.txt"), "first");
  }),

  promise("[P5] a sandbox is found again by its ref, which is plain JSON", async (bench) => {
    const { provider, trees, open, own } = bench;
    const tree = await treeWith(bench, "a.txt", "text");
    const spec: SandboxSpec = { env: { NAME: "value" } };
    const { ref } = await open(spec, { tree });
    const stored: SandboxRef = JSON.parse(JSON.stringify(ref));
    deepStrictEqual(stored, ref);
    equal(ref.provider, provider.name);
    deepStrictEqual([ref.spec, ref.tree, ref.incarnation], [spec, tree, 1]);
    const again = own(await provider.connect(stored, { trees }));
    equal(await done(again, "cat a.txt; echo $NAME"), "textvalue\n");
    equal(again.ref.id, ref.id);
  }),

  check("[P6] a destroyed sandbox is lost, and stays so", async (sandbox, { provider, trees }) => {
    await sandbox.files.write("a.txt", "text");
    const { ref } = sandbox;
    await sandbox.destroy();
    await sandbox.destroy();
    await refused("sandbox-lost", "connect", () => provider.connect(ref, { trees }));
    await refused("sandbox-lost", "read", () => sandbox.files.read("a.txt"));
    await refused("sandbox-lost", "write", () => sandbox.files.write("b.txt", ""));
    await refused("sandbox-lost", "snapshot", () => sandbox.snapshot());
    await refused("sandbox-lost", "restore", () => sandbox.restore(null));
    await refused("sandbox-lost", "fork", () => sandbox.fork({ id: newId() }));
    const { outcome, code, why } = await run(sandbox, "true");
    deepStrictEqual([outcome, code, typeof why], ["unstarted", null, "string"]);
    const { phase, conditions } = await sandbox.status();
    equal(phase, "finished");
    equal(conditions.find(({ type }) => type === "Ready")?.status, false);
    equal(conditions.find(({ type }) => type === "Finished")?.status, true);
  }),

  promise("[P7] sandboxes are listed while they are there", async ({ provider, open }) => {
    const [one, two] = [await open(), await open()];
    const ids = async () =>
      (await Promise.all([one, two].map(({ ref }) => listed(provider, ref.id)))).map(({ length }) => length);
    deepStrictEqual(await ids(), [1, 1]);
    equal((await listed(provider, two.ref.id))[0]?.incarnation, 1);
    await one.destroy();
    deepStrictEqual(await ids(), [0, 1]);
  }),

  check("[P8] closing a provider ends its sandboxes", async (sandbox, { provider, trees }) => {
    const execution = sandbox.exec("sleep 60");
    const { ref } = sandbox;
    await provider.close();
    const { outcome } = await execution.result;
    ok(
      outcome === "killed" || outcome === "lost" || outcome === "unstarted",
      `the command ended as ${outcome}`,
    );
    equal((await sandbox.status()).phase, "finished");
    await refused("sandbox-lost", "connect", () => provider.connect(ref, { trees }));
  }),

  check("[P9] a sandbox ends with the block that holds it", async (sandbox, { provider, trees }) => {
    await sandbox[Symbol.asyncDispose]();
    await refused("sandbox-lost", "connect", () => provider.connect(sandbox.ref, { trees }));
  }),

  promise("[P10] a wrong or unsupported spec is refused", async ({ provider, capabilities, trees }) => {
    const id = newId();
    const attempt = (spec: object) => () =>
      provider.create(spec as SandboxSpec, { id, incarnation: 1, tree: null, trees });
    await refused("sandbox-spec-refused", "a setting that is not", attempt({ limit: {} }));
    await refused("sandbox-spec-refused", "a negative limit", attempt({ limits: { wall: -1 } }));
    await refused("sandbox-spec-refused", "no kind of network", attempt({ network: { mode: "some" } }));
    await refused("sandbox-spec-refused", "a secret nobody gave", attempt({ secrets: ["NEVER_GIVEN"] }));
    const all = ["wall", "memory", "pids", "cpu", "file", "disk", "output", "scratch"] as const;
    for (const limit of all)
      if (!capabilities.limits.includes(limit))
        await refused("sandbox-spec-refused", `limits.${limit}`, attempt({ limits: { [limit]: 1e9 } }));
    for (const mode of ["none", "full"] as const)
      if (!capabilities.network.includes(mode))
        await refused("sandbox-spec-refused", `network ${mode}`, attempt({ network: { mode } }));
    if (capabilities.isolation !== "container" && capabilities.isolation !== "vm")
      await refused("sandbox-spec-refused", "an image of nothing", attempt({ image: "debian:12" }));
    equal((await listed(provider, id)).length, 0);
  }),

  promise("[P11] an opening that was aborted leaves nothing", async ({ provider, trees }) => {
    const id = newId();
    let rejected = false;
    try {
      await provider.create({}, { id, incarnation: 1, tree: null, trees, signal: AbortSignal.abort() });
    } catch {
      rejected = true;
    }
    ok(rejected, "it was opened although it was aborted");
    await until("the end of what was aborted", async () => (await listed(provider, id)).length === 0);
  }),

  promise("[P12] two sandboxes never see each other's files", async ({ open }) => {
    const [one, two] = [await open(), await open()];
    await one.files.write("mine.txt", "secret of one");
    await done(one, "echo secret of one > also.txt");
    equal(await done(two, "ls -A"), "");
    deepStrictEqual(await two.files.list(), []);
  }),

  promise("[P13] nor what they write outside of the workspace", async ({ capabilities, open }) => {
    if (capabilities.isolation === "none") skip("without isolation, everybody sees the same machine");
    const [one, two] = [await open(), await open()];
    await done(one, `echo secret > /tmp/${one.ref.id}`);
    equal(await done(one, `cat /tmp/${one.ref.id}`), "secret\n");
    equal((await run(two, `cat /tmp/${one.ref.id}`)).outcome, "error");
  }),
];

async function listed(provider: Bench["provider"], id: string): Promise<SandboxRef[]> {
  const found: SandboxRef[] = [];
  for await (const ref of provider.list()) if (ref.id === id) found.push(ref);
  return found;
}

async function treeWith({ open }: Bench, path: string, content: string) {
  const sandbox = await open();
  await sandbox.files.write(path, content);
  return (await sandbox.snapshot()).tree;
}
