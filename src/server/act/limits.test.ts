import { expect, it } from "vitest";
import { agent } from "../../agent/index.js";
import { scripted } from "../../agent/model/index.js";
import { tool } from "../../agent/tool/index.js";
import { workflow } from "../../workflow/index.js";
import { client } from "../contract/client.js";
import { clerk, serving, stateOf } from "../testing/serving.js";

it("[SG6] runs under way are limited, in all and for each person", async () => {
  const gates: (() => void)[] = [];
  const slow = workflow("slow", async (session) => {
    await new Promise<void>((resolve) => gates.push(resolve));
    return session.append({ type: "note", kind: "over" });
  });
  const { url, token, store } = await serving({
    modules: { slow },
    limits: { runs: 3, runsPerPerson: 2 },
  });
  const [ada, bea] = ["ada", "bea"].map((name) => client(url, { token: token(name, ["run"]) })) as [
    ReturnType<typeof client>,
    ReturnType<typeof client>,
  ];
  const begin = (one: typeof ada, name: string) => one.run({ module: "slow", name, text: "hi" });
  await begin(ada, "a");
  await begin(ada, "b");
  const before = await stateOf(store);
  await expect(begin(ada, "c")).rejects.toMatchObject({ status: 429, code: "runs-limited" });
  expect(await stateOf(store)).toBe(before);
  await begin(bea, "d");
  await expect(begin(bea, "e")).rejects.toMatchObject({ status: 503, code: "runs-limited" });
  for (const open of gates) open();
  // One that is over makes room.
  const state = () =>
    begin(ada, "c").then(
      ({ state }) => state,
      (error: { code?: string }) => error.code,
    );
  await expect.poll(state).toBe("running");
});

it("[SG6] runs over other protocols count as those of their sender", async () => {
  const gates: (() => void)[] = [];
  const slow = workflow("slow", async (session) => {
    await new Promise<void>((resolve) => gates.push(resolve));
    return session.append({ type: "note", kind: "over" });
  });
  const { url, token } = await serving({ modules: { slow }, limits: { runsPerPerson: 1 } });
  const secret = token("ada", ["run"]);
  const ada = client(url, { token: secret });
  const send = (id: string) =>
    fetch(`${url}/ui/slow`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${secret}` },
      body: JSON.stringify({
        id,
        messages: [{ id: `${id}-1`, role: "user", parts: [{ type: "text", text: "hi" }] }],
      }),
    });
  const first = await send("one");
  await expect.poll(() => gates.length).toBe(1);
  const begin = () => ada.run({ module: "slow", name: "two", text: "hi" });
  await expect(begin()).rejects.toMatchObject({ status: 429, code: "runs-limited" });
  // Whatever the protocol makes of the refusal, the module does not begin.
  await (await send("three")).text();
  expect(gates).toHaveLength(1);
  for (const open of gates) open();
  await first.text();
  const state = () =>
    begin().then(
      ({ state }) => state,
      (error: { code?: string }) => error.code,
    );
  await expect.poll(state).toBe("running");
  for (const open of gates) open();
});

it("[SA15] an answer that is sent again otherwise is refused", async () => {
  const { url, token, rath, store } = await serving();
  const ada = client(url, { token: token("ada", ["run"]) });
  const bea = client(url, { token: token("bea", ["approve"]) });
  const asked = async (name: string) => {
    await ada.run({ module: "clerk", name, text: "Pay 7.", wait: true });
    const [one] = await rath.pending(name);
    return { name, request: one?.id as string, digest: one?.digest as string };
  };
  const refused = { status: 409, code: "answer-refused" };
  const plain = { ...(await asked("plain")), why: "It is due." };
  const { id } = await bea.approve(plain);
  const edited = await asked("edited");
  const edit = { ...edited, input: { amount: 5, note: { a: 1, b: 2 } } };
  const { id: other } = await bea.edit(edit);
  const before = async () => {
    await ada.resume({ name: "plain", wait: true });
    await ada.resume({ name: "edited", wait: true });
    return stateOf(store);
  };
  const state = await before();
  expect(await bea.approve(plain)).toEqual({ id, resumed: false });
  const again = { ...edited, input: { note: { b: 2, a: 1 }, amount: 5 } };
  expect(await bea.edit(again)).toEqual({ id: other, resumed: false });
  await expect(bea.approve({ ...plain, why: "It is late." })).rejects.toMatchObject(refused);
  await expect(bea.approve({ ...plain, always: "tool" })).rejects.toMatchObject(refused);
  await expect(bea.approve({ ...plain, digest: "0".repeat(64) })).rejects.toMatchObject(refused);
  await expect(bea.edit({ ...plain, input: { amount: 7 } })).rejects.toMatchObject(refused);
  await expect(bea.edit({ ...edit, input: { amount: 6 } })).rejects.toMatchObject(refused);
  await expect(bea.approve(edited)).rejects.toMatchObject(refused);
  expect(await stateOf(store)).toBe(state);
});

it("[SA16] `may` of what waits says whether an answer would be taken", async () => {
  const pay = tool({
    name: "pay",
    description: "Pays.",
    input: { type: "object" },
    effect: "write",
    approval: true,
    run: () => "paid",
  });
  const model = scripted({ tools: [{ tool: "pay", input: {} }] }, "It is paid.");
  const any = agent({ name: "any", model, tools: [pay] });
  const { url, token } = await serving({ modules: { any, clerk: clerk() } });
  const [ada, bea] = ["ada", "bea"].map((name) =>
    client(url, { token: token(name, ["run", "approve"]) }),
  ) as [ReturnType<typeof client>, ReturnType<typeof client>];
  await ada.run({ module: "any", name: "own", text: "Pay.", wait: true });
  for (const [who, may] of [
    [ada, false],
    [bea, true],
  ] as const) {
    const { items } = await who.pending();
    expect(items).toMatchObject([{ name: "own", may }]);
  }
  const { items } = await ada.pending();
  const { request, digest } = items[0] as { readonly request: string; readonly digest: string };
  await expect(ada.approve({ name: "own", request, digest })).rejects.toMatchObject({ status: 403 });
  expect(await bea.approve({ name: "own", request, digest })).toMatchObject({ resumed: true });
});
