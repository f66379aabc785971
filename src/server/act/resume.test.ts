import { join } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { openRath } from "../../runtime/index.js";
import { openStore } from "../../store/index.js";
import { workflow } from "../../workflow/index.js";
import { client } from "../contract/client.js";
import { Users } from "../identity/users.js";
import { server } from "../server.js";
import { folder } from "../testing/serving.js";

it("[SA14] runs go on in the background, and a resumed run is answered for before its next fact", async () => {
  const cut = workflow("cut", async (session) => {
    const told = session.append({ type: "note", kind: "begun" });
    await new Promise(() => {});
    return told;
  });
  const store = await openStore("memory:");
  const before = openRath({ store });
  for (const name of ["a", "b", "held"]) {
    before.run(cut, before.start("hi"), { name }).catch(() => {});
    for (let tries = 0; ; tries++) {
      if ((await store.head(name)) !== undefined && (await before.load(name)).fact.type === "note") break;
      if (tries > 1_000) throw new Error(`${name} does not begin`);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
  await before.close();
  await store.lease("held", { owner: "another process" });
  const rath = openRath({ store });
  const users = new Users(join(folder(), "users.json"));
  const handler = server(rath, { modules: { cut }, auth: { users: users.file } });
  onTestFinished(async () => {
    handler.close();
    await rath.close();
    await store.close();
  });
  const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
  onTestFinished(() => warned.mockRestore());
  const ada = client("http://localhost", {
    token: users.add({ name: "ada", roles: ["run"], under: "*" }).token,
    fetch: (input, init) => handler(new Request(input as string, init)),
  });
  const { id } = await rath.load("a");
  expect(await ada.resume({ name: "a" })).toEqual({ name: "a", id, state: "running" });
  expect(await handler.resume()).toEqual(["b"]);
  expect(warned).toHaveBeenCalledOnce();
});
