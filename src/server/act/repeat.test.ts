import { expect, it } from "vitest";
import { agent } from "../../agent/index.js";
import { scripted } from "../../agent/model/index.js";
import { client } from "../contract/client.js";
import type { Identity } from "../identity/identity.js";
import { serving } from "../testing/serving.js";
import { Repeats } from "./repeat.js";

const talker = () => agent({ name: "talker", model: scripted("Hello.") });

it("[SA4] a repeated key is answered from memory only with the same roles", async () => {
  const ground = await serving({ modules: { talker: talker() } });
  const ada = client(ground.url, { token: ground.token("ada", ["run"], "talk/*") });
  const body = { module: "talker", name: "talk/1", text: "hi", wait: true } as const;
  const keyed = { headers: { "idempotency-key": "k-1" } };
  await ada.run(body, keyed);
  expect(await ada.run(body, keyed)).toMatchObject({ state: "finished" });
  const narrow = client(ground.url, { token: ground.token("ada", ["run"], "other/*") });
  await expect(narrow.run(body, keyed)).rejects.toMatchObject({ status: 403 });
});

it("[SA19] erased content is in no answer that is given again", async () => {
  const shy = agent({
    name: "talker",
    model: scripted("heliotrope ".repeat(5_000), "heliotrope ".repeat(5_000)),
  });
  const ground = await serving({ modules: { talker: shy } });
  const ada = client(ground.url, { token: ground.token("ada", ["run", "erase"]) });
  const keyed = (key: string) => ({ headers: { "idempotency-key": key } });
  const body = { module: "talker", name: "talk/1", text: "Tell it.", wait: true } as const;
  const first = await ada.run(body, keyed("k-1"));
  expect(first.text).toContain("heliotrope");
  expect(await ada.run(body, keyed("k-1"))).toEqual(first);
  const turn = { ...body, turn: true } as const;
  await ada.run(turn, keyed("k-2"));
  const erase = { what: { about: "heliotrope" }, why: "asked for" };
  const { token } = await ada.erase(erase, keyed("k-3"));
  // A preview is looked at anew.
  expect((await ada.erase(erase, keyed("k-3"))).token).not.toBe(token);
  expect(await ada.erase({ token: token as string }, keyed("k-4"))).toMatchObject({ erased: true });
  for (const again of [await ada.run(body, keyed("k-1")), await ada.run(turn, keyed("k-2"))]) {
    expect(again).toMatchObject({ name: "talk/1", state: "finished" });
    expect(JSON.stringify(again)).not.toContain("heliotrope");
  }
});

it("[SA4] the memory of answers is bounded, in all and for each person", async () => {
  const repeats = new Repeats();
  const of = (name: string): Identity => ({ principal: `user:${name}`, grants: [], via: "token" });
  let acted = 0;
  const send = (who: string, key: string): Promise<Response> =>
    repeats.once(
      { key: `${who} ${key}`, body: "" },
      of(who),
      async () => {
        acted += 1;
        return new Response("x".repeat(60_000));
      },
      async (ran) => ran,
    );
  await send("bea", "first");
  for (let count = 0; count < 40; count++) await send("ada", `k${count}`);
  expect(acted).toBe(41);
  // The oldest of hers went, and none of others.
  await send("bea", "first");
  await send("ada", "k39");
  expect(acted).toBe(41);
  await send("ada", "k0");
  expect(acted).toBe(42);
  for (let count = 0; count < 300; count++) await send(`p${count}`, `k${count}`);
  await send("bea", "first");
  expect(acted).toBe(343);
});
