import { expect, it } from "vitest";
import { agent } from "../../agent/index.js";
import { scripted } from "../../agent/model/index.js";
import { workflow } from "../../workflow/index.js";
import { client } from "../contract/client.js";
import { eventsOf } from "../testing/events.js";
import { serving } from "../testing/serving.js";

it("[SI7] streams of people who are revoked end, and those of others go on", async () => {
  let open = (): void => {};
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  const slow = workflow("slow", async (session) => {
    await gate;
    return session.append({ type: "note", kind: "over" });
  });
  const { url, token, users } = await serving({ modules: { slow } });
  const ada = client(url, { token: token("ada", ["run"]) });
  const eve = client(url, { token: token("eve", ["run"]) });
  await ada.run({ module: "slow", name: "s", text: "hi" });
  const hers = await Promise.all([eve.events(), eve.stream({ name: "s" })]);
  const [lists, run] = (await Promise.all([ada.events(), ada.stream({ name: "s" })])).map(eventsOf);
  users.revoke("eve");
  for (const response of hers) {
    const events = eventsOf(response);
    while ((await events.read()) !== undefined);
  }
  open();
  expect(await run?.next("end")).toMatchObject({ data: { state: "finished" } });
  await lists?.next("move");
  await lists?.stop();
});

it("[SI7] a stream of another front end ends too, and one whose roles have changed", async () => {
  const talker = agent({ name: "talker", model: scripted({ text: "Hello.", delay: 600_000 }) });
  const { url, token, users } = await serving({ modules: { talker } });
  const bearer = token("eve", ["run"]);
  const chat = await fetch(`${url}/ui/talker`, {
    method: "POST",
    headers: { authorization: `Bearer ${bearer}`, "content-type": "application/json" },
    body: JSON.stringify({
      id: "c",
      trigger: "submit-message",
      messages: [{ id: "m", role: "user", parts: [{ type: "text", text: "hi" }] }],
    }),
  });
  expect(chat.headers.get("content-type")).toMatch(/^text\/event-stream/);
  users.revoke("eve");
  await chat.text();
});
