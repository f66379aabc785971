import { expect, it, onTestFinished } from "vitest";
import { serve } from "../../connect/front/index.js";
import { client } from "../contract/client.js";
import { server } from "../server.js";
import { clerk, serving } from "../testing/serving.js";

it("[SI6] a token of somebody who is called like the person of single-user mode is not theirs", async () => {
  const { rath, users } = await serving();
  const handler = server(rath, {
    auth: { single: "user:ada", users: users.file },
    modules: { clerk: clerk(true) },
  });
  const { url, close } = await serve(handler);
  onTestFinished(async () => {
    handler.close();
    await close();
  });
  const { token } = users.add({ name: "ada", roles: ["run", "approve"], under: "*" });
  const [named, owner] = [client(url, { token }), client(url, { token: handler.token as string })];
  await named.run({ module: "clerk", name: "own", text: "Pay 7.", wait: true });
  const [one] = await rath.pending("own");
  const agreed = { name: "own", request: one?.id as string, digest: one?.digest as string };
  await expect(named.approve(agreed)).rejects.toMatchObject({ status: 403 });
  expect(await named.me()).not.toHaveProperty("isOwner");
  expect(await owner.approve(agreed)).toMatchObject({ resumed: true });
});
