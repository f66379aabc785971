import { expect, it } from "vitest";
import { agent } from "../../agent/index.js";
import { scripted } from "../../agent/model/index.js";
import { signal, sleep, step, workflow } from "../../workflow/index.js";
import { type Client, client } from "../contract/client.js";
import { server } from "../server.js";
import { eventsOf } from "../testing/events.js";
import { clerk, type Serving, serving, stateOf } from "../testing/serving.js";

const talker = () =>
  agent({ name: "talker", model: scripted({ text: "Hello." }, { text: "And on." }, { text: "Yes." }) });

/** Waits for a signal. */
const asker = () =>
  workflow("asker", async (session) =>
    (await signal("which").forward(session)).append({ type: "note", kind: "told" }),
  );

/** Sends something, and never learns whether it arrived. */
const doubter = () =>
  workflow("doubter", async (session) => {
    const never = () => new Promise<string>(() => {});
    const send = step("send", never, { effect: "write", timeout: 30 });
    return (await send.call(session)).session;
  });

async function people(options = {}): Promise<Serving & { readonly [who in "ada" | "bea" | "eve"]: Client }> {
  const made = await serving({
    modules: { clerk: clerk(), talker: talker(), asker: asker(), doubter: doubter() },
    ...options,
  });
  const { url, token } = made;
  return {
    ...made,
    ada: client(url, { token: token("ada", ["run"], "pay/*") }),
    bea: client(url, { token: token("bea", ["approve"], "pay/*") }),
    eve: client(url, { token: token("eve", ["approve", "run"], "other/*") }),
  };
}

/** What waits for an answer under a name. */
async function waiting({ rath }: Serving, name: string) {
  const [one] = await rath.pending(name);
  if (one === undefined) throw new Error("nothing waits");
  return { request: one.id, digest: one.digest as string };
}

/** Reads until a session has come to a state. */
async function comesTo({ rath }: Serving, name: string, type: string): Promise<void> {
  for (let tries = 0; (await rath.load(name)).fact.type !== type; tries++) {
    if (tries > 1_000) throw new Error(`${name} does not come to ${type}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

it("[SA1] a run begins in the name of its sender, waits, and goes on when the right person has agreed", async () => {
  const ground = await people();
  const { ada, bea, eve, rath } = ground;
  const begun = await ada.run({ module: "clerk", name: "pay/1", text: "Pay 7.", wait: true });
  expect(begun).toMatchObject({ name: "pay/1", state: "waiting" });
  const shown = await waiting(ground, "pay/1");
  const before = await stateOf(ground.store);
  await expect(ada.approve({ name: "pay/1", ...shown })).rejects.toMatchObject({ status: 403 });
  await expect(eve.approve({ name: "pay/1", ...shown })).rejects.toMatchObject({ status: 403 });
  await expect(bea.approve({ name: "pay/1", request: shown.request })).rejects.toMatchObject({
    status: 409,
    code: "answer-refused",
  });
  const other = "0".repeat(64);
  await expect(bea.approve({ name: "pay/1", ...shown, digest: other })).rejects.toMatchObject({
    status: 409,
  });
  await expect(bea.approve({ name: "pay/1", ...shown, request: other })).rejects.toMatchObject({
    status: 409,
  });
  expect(await stateOf(ground.store)).toBe(before);
  const { id, resumed } = await bea.approve({ name: "pay/1", ...shown, why: "It is due." });
  expect(resumed).toBe(true);
  await comesTo(ground, "pay/1", "run-end");
  const facts = [...(await rath.load("pay/1")).history()].map(({ fact }) => fact);
  expect(facts.find(({ type }) => type === "run-start")).toMatchObject({ by: "user:ada", for: "user:ada" });
  expect((await ground.store.load(id)).fact).toMatchObject({
    by: "user:bea",
    decision: "approve",
    why: "It is due.",
  });
  expect((await rath.load("pay/1")).text).toBe("It is paid.");
  // Sent once more it gives the same answer, and does nothing.
  const after = await stateOf(ground.store);
  expect(await bea.approve({ name: "pay/1", ...shown, why: "It is due." })).toEqual({ id, resumed: false });
  await expect(bea.reject({ name: "pay/1", ...shown })).rejects.toMatchObject({ status: 409 });
  expect(await stateOf(ground.store)).toBe(after);
});

it("[SA2] an answer edits, refuses or does what was asked, in the name of its verified sender", async () => {
  const ground = await people();
  const { ada, bea, rath } = ground;
  for (const name of ["pay/edit", "pay/reject"])
    await ada.run({ module: "clerk", name, text: "Pay 7.", wait: true });
  await bea.edit({ name: "pay/edit", ...(await waiting(ground, "pay/edit")), input: { amount: 5 } });
  await comesTo(ground, "pay/edit", "run-end");
  await bea.reject({ name: "pay/reject", ...(await waiting(ground, "pay/reject")), why: "Not due." });
  await comesTo(ground, "pay/reject", "run-end");
  const facts = async (name: string) => [...(await rath.load(name)).history()].map(({ fact }) => fact);
  expect(await facts("pay/reject")).toContainEqual(
    expect.objectContaining({ type: "approval-give", by: "user:bea", decision: "reject", why: "Not due." }),
  );
  const edited = await facts("pay/edit");
  expect(edited).toContainEqual(expect.objectContaining({ edit: { amount: 5 }, by: "user:bea" }));
  expect(edited).toContainEqual(expect.objectContaining({ type: "tool-result", output: { paid: 5 } }));
  await ada.run({ module: "asker", name: "pay/ask", text: "Which?", wait: true });
  const { request } = await waiting(ground, "pay/ask");
  await bea.answer({ name: "pay/ask", request, value: "the second" });
  await comesTo(ground, "pay/ask", "run-end");
  expect(await facts("pay/ask")).toContainEqual(
    expect.objectContaining({ type: "signal-give", by: "user:bea", value: "the second" }),
  );
  await ada.run({ module: "doubter", name: "pay/doubt", text: "Send.", wait: true });
  const doubt = await waiting(ground, "pay/doubt");
  await expect(
    bea.settle({ name: "pay/doubt", request: doubt.request, outcome: "done" }),
  ).rejects.toMatchObject({
    status: 409,
  });
  await expect(bea.settle({ name: "pay/doubt", ...doubt })).rejects.toMatchObject({ status: 400 });
  await bea.settle({ name: "pay/doubt", ...doubt, happened: true, value: "sent" });
  await comesTo(ground, "pay/doubt", "run-end");
  expect(await facts("pay/doubt")).toContainEqual(
    expect.objectContaining({ type: "effect-settle", by: "user:bea", decision: "done", value: "sent" }),
  );
});

it("[SA3] the principal is never one of the body, and roles hold for names in the body too", async () => {
  const ground = await people();
  const { url, token } = ground;
  const bearer = {
    authorization: `Bearer ${token("mal", ["run"], "mal/*")}`,
    "content-type": "application/json",
  };
  const before = await stateOf(ground.store);
  const post = (path: string, body: object) =>
    fetch(`${url}${path}`, { method: "POST", headers: bearer, body: JSON.stringify(body) });
  const run = { module: "talker", text: "hi" };
  for (const [body, status] of [
    [{ ...run, name: "mal/1", by: "user:bea" }, 400],
    [{ ...run, name: "mal/1", principal: "user:bea" }, 400],
    [{ ...run, name: "pay/1" }, 403],
    [{ ...run }, 403],
    [{ ...run, name: "run/x" }, 403],
    [{ ...run, name: "mal/~1" }, 422],
    [{ ...run, name: "mal/\u0000" }, 422],
    [{ ...run, name: "mal/x@main" }, 422],
    [{ ...run, name: "mal/1", module: "__proto__" }, 404],
    [{ ...run, name: "mal/1", module: "constructor" }, 404],
    [{ module: "talker", name: "mal/1" }, 400],
    [{ ...run, name: "mal/1", input: {} }, 400],
    [{ ...run, turn: true }, 400],
  ] as const)
    expect([body, (await post("/api/runs", body)).status]).toEqual([body, status]);
  for (const act of ["resume", "stream", "cancel", "approve", "reject", "edit", "answer", "settle"]) {
    const asked = { request: "0".repeat(64), input: 1, value: 1, outcome: "done" };
    const bodies: { readonly [act: string]: object } = {
      resume: { module: "clerk" },
      stream: { module: "talker", text: "hi" },
      cancel: {},
      edit: { request: asked.request, input: 1 },
      answer: { request: asked.request, value: 1 },
      settle: { request: asked.request, outcome: "done" },
    };
    const { status } = await post(`/api/sessions/pay%2F1/${act}`, bodies[act] ?? { request: asked.request });
    expect([act, status]).toEqual([act, 403]);
  }
  expect(await stateOf(ground.store)).toBe(before);
});

it("[SA4] a request that is repeated with its key gets the first answer, also from the next server", async () => {
  const ground = await people();
  const { rath, users, url, token } = ground;
  const ada = client(url, { token: token("ada", ["run"]) });
  const keyed = { headers: { "idempotency-key": "k-1" } };
  const body = { module: "talker", name: "talk/1", text: "hi", wait: true } as const;
  const [first, second] = await Promise.all([ada.run(body, keyed), ada.run(body, keyed)]);
  expect(second).toEqual(first);
  expect(await ada.run(body, keyed)).toEqual(first);
  await expect(ada.run({ ...body, text: "ho" }, keyed)).rejects.toMatchObject({
    status: 409,
    code: "idempotency-key-reused",
  });
  await expect(ada.run(body, { headers: { "idempotency-key": "k-2" } })).rejects.toMatchObject({
    status: 409,
    code: "name-conflict",
  });
  const unnamed = { module: "talker", text: "hi", wait: true } as const;
  const key = { headers: { "idempotency-key": "k-3" } };
  const { name } = await ada.run(unnamed, key);
  // Another server over the same store.
  const next = server(rath, { modules: { talker: talker() }, auth: { users: users.file } });
  const again = client("http://localhost", {
    token: token("ada", ["run"]),
    fetch: (input, init) => next(new Request(input as string, init)),
  });
  const before = await stateOf(ground.store);
  expect(await again.run(body, keyed)).toMatchObject({ name: "talk/1", id: first.id, state: "finished" });
  expect(await again.run(unnamed, key)).toMatchObject({ name, state: "finished" });
  await expect(again.run({ ...body, text: "ho" }, keyed)).rejects.toMatchObject({ status: 409 });
  expect(await stateOf(ground.store)).toBe(before);
  for (const bad of ["", "a b", "x".repeat(256)])
    await expect(again.run(unnamed, { headers: { "idempotency-key": bad } })).rejects.toMatchObject({
      status: 400,
    });
});

it("[SA5] one run at a time has a name; a reader that leaves does not end it, and comes back to it", async () => {
  let open = (): void => {};
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  const slow = workflow("slow", async (session) => {
    const told = await talker().forward(session);
    await gate;
    return told.append({ type: "note", kind: "over" });
  });
  const ground = await people({ modules: { slow } });
  const ada = client(ground.url, { token: ground.token("ada", ["run"]) });
  const stop = new AbortController();
  const events = eventsOf(
    await ada.stream({ name: "s", module: "slow", text: "hi" }, { signal: stop.signal }),
  );
  const ids: string[] = [];
  const text = await events.next("text");
  expect(text.data).toMatchObject({ text: "Hello.", module: "talker" });
  stop.abort();
  await expect(ada.run({ module: "slow", name: "s", text: "hi" })).rejects.toMatchObject({
    status: 409,
    code: "run-under-way",
  });
  await expect(ada.stream({ name: "s", module: "slow", text: "ho" })).rejects.toMatchObject({ status: 409 });
  const last = { headers: { "last-event-id": text.id as string } };
  const rest = eventsOf(await ada.stream({ name: "s" }, last));
  const whole = eventsOf(await ada.stream({ name: "s" }));
  open();
  for (let event = await rest.read(); event !== undefined; event = await rest.read()) {
    ids.push(event.id as string);
    if (event.event === "end") expect(event.data).toMatchObject({ name: "s", state: "finished" });
  }
  const all: string[] = [];
  for (let event = await whole.read(); event !== undefined; event = await whole.read())
    all.push(event.id as string);
  expect(all.slice(all.indexOf(text.id as string) + 1)).toEqual(ids);
  const after = eventsOf(await ada.stream({ name: "s" }));
  expect(await after.next("end")).toMatchObject({ data: { state: "finished" } });
});

it("[SA6] a run is cancelled by name, while it is under way and while it waits, and the record says who did it", async () => {
  const ground = await people();
  const { ada, rath } = ground;
  await ada.run({ module: "clerk", name: "pay/9", text: "Pay 7.", wait: true });
  expect(await ada.cancel({ name: "pay/9", why: "wrong invoice" })).toEqual({ cancelled: true });
  const [cancel] = [...(await rath.load("pay/9")).history()].filter(({ fact }) => fact.type === "run-cancel");
  expect(cancel?.fact).toMatchObject({ by: "user:ada", why: "user:ada cancelled it: wrong invoice" });
  await expect(ada.cancel({ name: "pay/9" })).rejects.toMatchObject({ status: 409, code: "not-under-way" });
  await expect(ada.cancel({ name: "pay/none" })).rejects.toMatchObject({ status: 404 });
});

it("[SA7] a turn continues a conversation", async () => {
  const ground = await people();
  const ada = client(ground.url, { token: ground.token("ada", ["run"]) });
  const turn = { module: "talker", name: "chat", turn: true, wait: true } as const;
  expect(await ada.run({ ...turn, text: "one" })).toMatchObject({ text: "Hello." });
  expect(await ada.run({ ...turn, text: "two" })).toMatchObject({ state: "finished" });
  const said = [...(await ground.rath.load("chat")).history()].filter(
    ({ fact }) => fact.type === "message-say",
  );
  expect(said.map(({ fact }) => fact)).toMatchObject([{ content: "two", by: "user:ada" }]);
});

it("[SA13] a run that waits for a time goes on when it is due, also on the next server", async () => {
  const sleeper = workflow("sleeper", async (session) =>
    (await sleep(150).forward(session)).append({ type: "note", kind: "awake" }),
  );
  const ground = await people({ modules: { sleeper } });
  const ada = client(ground.url, { token: ground.token("ada", ["run"]) });
  await ada.run({ module: "sleeper", name: "s/1", text: "Sleep.", wait: true });
  await comesTo(ground, "s/1", "run-end");
  // One that began elsewhere, while no server was there.
  const { rath, users } = ground;
  await rath.run(sleeper, rath.start("Sleep."), { name: "s/2" });
  const next = server(rath, { modules: { sleeper }, auth: { users: users.file } });
  await next.resume();
  await comesTo(ground, "s/2", "run-end");
  next.close();
});
