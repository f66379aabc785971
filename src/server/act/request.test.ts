import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { openRath } from "../../runtime/index.js";
import { openStore, StoreError } from "../../store/index.js";
import { step, workflow } from "../../workflow/index.js";
import { client } from "../contract/client.js";
import { clerk, folder, type Serving, serving, stateOf } from "../testing/serving.js";
import { forgetRequests } from "./request.js";

const counter = () =>
  workflow("counter", async (session) => {
    const count = step("count", async () => 1, { effect: "read" });
    return (await count.call(session)).session;
  });

/** Two servers over one store, one after the other. */
async function servers(url: string): Promise<readonly [Serving, Serving]> {
  const options = { modules: { counter: counter(), clerk: clerk() } };
  const first = await serving(options, { url });
  return [first, await serving({ ...options, auth: { users: first.users.file } }, { url })];
}

it("[SA4] a fork, a merge and a rerun are done once for a key, also by the next server", async () => {
  const [first, second] = await servers(`sqlite:${join(folder(), "rath.db")}`);
  const token = first.token("ada", ["run"]);
  const [before, after] = [first, second].map(({ url }) => client(url, { token })) as [
    ReturnType<typeof client>,
    ReturnType<typeof client>,
  ];
  const { id: head } = await before.run({ module: "counter", name: "a", text: "Count.", wait: true });
  const keyed = (key: string) => ({ headers: { "idempotency-key": key } });

  const forked = await before.fork({ name: "a", as: "b" }, keyed("fork"));
  expect(await after.fork({ name: "a", as: "b" }, keyed("fork"))).toEqual(forked);
  await expect(after.fork({ name: "a", as: "c" }, keyed("fork"))).rejects.toMatchObject({ status: 409 });

  const merge = { name: "a", theirs: "b", as: "m" };
  const merged = await before.merge(merge, keyed("merge"));
  expect(await after.merge(merge, keyed("merge"))).toEqual(merged);

  const facts = (await before.facts({ name: "a" })).items;
  const from = facts.find(({ type }) => type === "step-call")?.id ?? head;
  const { digest } = await before.rerunPlan({ name: "a", from, as: "again" });
  const rerun = { name: "a", from, as: "again", digest, wait: true };
  const ran = await before.rerun(rerun, keyed("rerun"));
  const state = await stateOf(first.store);
  expect(await after.rerun(rerun, keyed("rerun"))).toEqual(ran);
  expect(await stateOf(first.store)).toBe(state);
  // A refused one did nothing, and may be sent again.
  await expect(after.fork({ name: "a", as: "b" }, keyed("other"))).rejects.toMatchObject({ status: 409 });
  expect(await stateOf(first.store)).toBe(state);
  // After a week the keys are forgotten, and the sessions stay.
  await forgetRequests(first.store);
  expect(await stateOf(first.store)).toBe(state);
  await forgetRequests(first.store, Date.now() + 1);
  expect(await first.store.names({ under: ".requests/" })).toEqual([]);
  expect(await first.store.head("b")).toBe(forked.id);
});

it("[SA17] a resume is on record in the name of its verified sender", async () => {
  const ground = await serving();
  const ada = client(ground.url, { token: ground.token("ada", ["run"]) });
  await ada.run({ module: "clerk", name: "pay", text: "Pay 7.", wait: true });
  await ada.resume({ name: "pay", wait: true });
  const requests = await ground.store.names({ under: ".requests/" });
  expect(requests).toHaveLength(1);
  const said = [...(await ground.store.load(requests[0]?.id ?? "")).history()].map(({ fact }) => fact);
  expect(said).toMatchObject([
    { type: "session-start", text: "resume pay", by: "user:ada" },
    { type: "note", kind: "http-request", name: "pay", by: "user:ada" },
  ]);
  await client(ground.url, { token: ground.token("bob", ["run"]) }).resume({ name: "pay", wait: true });
  const [about, ...others] = await ground.store.names({ under: ".requests/" });
  expect(others).toEqual([]);
  expect((await ground.store.load(about?.id ?? "")).fact).toMatchObject({ did: "resume", by: "user:bob" });
});

it("[SA18] a run that is answered in another process goes on by itself", async () => {
  const url = `sqlite:${join(folder(), "rath.db")}`;
  const ground = await serving({}, { url });
  await ground.handler.resume();
  const ada = client(ground.url, { token: ground.token("ada", ["run"]) });
  await ada.run({ module: "clerk", name: "pay", text: "Pay 7.", wait: true });
  const store = await openStore(url);
  const other = openRath({ store });
  const [ask] = await other.pending("pay");
  await other.approve("pay", { by: "user:bea", ask: ask?.id ?? "", digest: ask?.digest ?? "" });
  await other.close();
  await store.close();
  await expect
    .poll(async () => (await ground.store.load("pay")).fact.type, { timeout: 20_000 })
    .toBe("run-end");
});

it("[SA18] also after the database was away for a while", async () => {
  const ground = await serving();
  const { store, rath } = ground;
  const watch = store.watch.bind(store);
  const away = new StoreError("unreachable", "Cannot reach the database.", "wait", { data: { retry: true } });
  vi.spyOn(store, "watch").mockImplementationOnce((options) =>
    Object.assign(watch(options), { next: () => Promise.reject(away) }),
  );
  await ground.handler.resume();
  const ada = client(ground.url, { token: ground.token("ada", ["run"]) });
  await ada.run({ module: "clerk", name: "pay", text: "Pay 7.", wait: true });
  const [ask] = await rath.pending("pay");
  await rath.approve("pay", { by: "user:bea", ask: ask?.id ?? "", digest: ask?.digest ?? "" });
  await expect.poll(async () => (await store.load("pay")).fact.type, { timeout: 20_000 }).toBe("run-end");
});
