import { describe, expect, it } from "vitest";
import { benchOf } from "./bench.js";

type Given = { readonly id: string; readonly by: string; readonly revoked?: { readonly by: string } };

describe.concurrent("standing approvals on the command line", { timeout: 180_000 }, () => {
  it("[X26] are given, listed, used and revoked", async (context) => {
    const bench = benchOf(context);
    const begun = await bench.rath(
      "run",
      "claim.mjs#clerk",
      "--input",
      "a",
      "--name",
      "one",
      "--by",
      "user:cy",
    );
    expect(begun.code).toBe(4);
    expect((await bench.rath("approvals")).stdout).toContain("There are no standing approvals.");
    const agreed = await bench.rath("approve", "one", "--always", "arguments", "--by", "user:ada");
    expect(agreed.stdout).toContain("approved, always for this call, one as user:ada");
    expect((await bench.rath("resume", "one")).code).toBe(0);
    const on = (name: string) =>
      bench.rath("run", "claim.mjs#again", "--on", "one", "--input", "b", "--name", name, "--by", "user:cy");
    expect(await on("two")).toMatchObject({ code: 0, stdout: expect.stringContaining("refunded 130") });
    const [given] = await bench.json<Given[]>("approvals", "one");
    expect(given).toMatchObject({ by: "user:ada", session: "one", what: "refund", always: "arguments" });
    const { stdout } = await bench.rath("approvals", "one");
    const command = /(npx )?rath approvals one .*--revoke [0-9a-f]{12} --by user:ada/.exec(stdout)?.[0] ?? "";
    expect((await bench.typed(`${command.replace("user:ada", "user:eve")} --why enough`)).code).toBe(0);
    expect(await bench.json<Given[]>("approvals")).toMatchObject([
      { revoked: { by: "user:eve", why: "enough" } },
    ]);
    expect((await bench.rath("approvals", "one")).stdout).toMatch(/revoked {2}\S+ by user:eve: enough/);
    expect((await on("three")).code).toBe(4);
    expect((await bench.rath("approvals", "--revoke", "1a2b3c4d")).code).toBe(2);
    expect((await bench.rath("list")).stdout).not.toContain("standing/");
  });

  it("[X27] a request is withdrawn by its requester alone", async (context) => {
    const bench = benchOf(context);
    await bench.rath("run", "claim.mjs#clerk", "--input", "a", "--name", "one", "--by", "user:cy");
    expect(await bench.rath("withdraw", "one", "--by", "user:eve")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("did not make the request"),
    });
    const withdrawn = await bench.rath("withdraw", "one", "--by", "user:cy", "--why", "never mind");
    expect(withdrawn.stdout).toContain("withdrew the request of one as user:cy");
    const done = await bench.rath("resume", "one");
    expect(done).toMatchObject({ code: 0, stdout: expect.stringContaining("not refunded") });
  });

  it("[X28] a replay ends at a fact, and a what-if begins at one", async (context) => {
    const bench = benchOf(context);
    await bench.rath("run", "claim.mjs#clerk", "--input", "a", "--name", "one");
    await bench.rath("approve", "one", "--by", "user:ada");
    await bench.rath("resume", "one");
    const [asked] = await bench.json<{ readonly id: string }[]>("log", "one", "--type", "tool-call");
    const call = asked?.id ?? "";
    const until = await bench.json<{ readonly id: string }>("replay", "one", "--until", call.slice(0, 12));
    expect(until).toMatchObject({ same: true, id: call });
    const anew = await bench.rath("replay", "one", "--from", call.slice(0, 12), "--name", "anew");
    // The call was taken over, and its approval is asked for anew.
    expect(anew).toMatchObject({ code: 4, stdout: expect.stringContaining("refund") });
    expect((await bench.rath("replay", "one", "--until", "1", "--from", "1")).code).toBe(2);
  });
});
