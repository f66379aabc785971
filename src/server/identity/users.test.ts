import { fork } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { newOwner } from "../../store/index.js";
import { ensureBuilt } from "../../store/testing/worker.js";
import { folder } from "../testing/serving.js";
import { Users } from "./users.js";

it("[SI1] a token proves its person until it is revoked or expires", () => {
  const file = join(folder(), "users.json");
  const users = new Users(file);
  const { token, entry } = users.add({ name: "ada", roles: ["view", "run", "run"], under: "pay/*" });
  expect(users.identify(token)).toEqual({
    principal: "user:ada",
    grants: [{ roles: ["view", "run"], under: "pay/*" }],
    via: "token",
  });
  const soon = new Date(Date.now() + 60_000).toISOString();
  const other = users.add({ name: "ada", roles: ["view"], under: "*", expires: soon });
  expect(users.identify(other.token)?.grants).toEqual([{ roles: ["view"], under: "*" }]);
  expect(users.identify(other.token, Date.now() + 60_001)).toBeUndefined();
  for (const wrong of ["", "rath_", `${token}x`, token.slice(0, -1), token.replace(/_(.)/, "_f$1")])
    expect(users.identify(wrong)).toBeUndefined();
  // Another process takes it away.
  expect(new Users(file).revoke(entry.id)).toHaveLength(1);
  expect(users.identify(token)).toBeUndefined();
  expect(users.identify(other.token)).toBeDefined();
  expect(users.revoke("ada")).toHaveLength(1);
  expect(users.identify(other.token)).toBeUndefined();
});

it("[SI1] the file has only hashes, for its owner alone", () => {
  const file = join(folder(), "users.json");
  const users = new Users(file);
  const { token } = users.add({ name: "ada", roles: ["view"], under: "*" });
  const secret = token.replace(/^rath_[^_]+_/, "");
  expect(readFileSync(file, "utf8")).not.toContain(secret);
  if (process.platform === "win32") return;
  expect(statSync(file).mode & 0o777).toBe(0o600);
  chmodSync(file, 0o644);
  expect(() => new Users(file).tokens).toThrow("chmod 600");
});

it("[SI1] a change that makes no sense is refused, and nothing is written", () => {
  const file = join(folder(), "users.json");
  const users = new Users(file);
  const ada = { name: "ada", roles: ["view"], under: "*" } as const;
  for (const wrong of [
    { name: "" },
    { name: "a b" },
    { name: "../ada" },
    { name: "a".repeat(65) },
    { roles: [] },
    { roles: ["root" as "view"] },
    { under: "" },
    { under: "*/pay" },
    { expires: "yesterday" },
    { expires: "2020-01-01" },
  ])
    expect(() => users.add({ ...ada, ...wrong })).toThrow(
      expect.objectContaining({ code: "user-refused", hint: expect.any(String) }),
    );
  expect(() => users.revoke("ada")).toThrow("no user and no token");
  expect(users.tokens).toEqual([]);
  for (const broken of ["", "{}", "[1]", '{"users":2,"tokens":[]}', '{"users":1,"tokens":[{"id":1}]}']) {
    writeFileSync(file, broken, { mode: 0o600 });
    expect(() => new Users(file).tokens).toThrow("is not such a list");
  }
});

it("[SI1] people who are revoked while others are added stay revoked, and everybody is added", {
  timeout: 120_000,
}, async () => {
  ensureBuilt();
  const file = join(folder(), "users.json");
  const users = new Users(file);
  users.add({ name: "root", roles: ["view"], under: "*" });
  const workers = await Promise.all(["revoke", "add"].map((what) => changerOf(file, what)));
  for (let round = 0; round < 20; round++) {
    users.add({ name: "mallory", roles: ["view"], under: "*" });
    await Promise.all(workers.map((change) => change(round)));
    const names = users.tokens.map(({ name }) => name);
    expect(names).not.toContain("mallory");
    expect(names).toContain(`x${round}`);
  }
  expect(existsSync(`${file}.lock`)).toBe(false);
});

it("[SI1] the lock of a process that died is taken over, also by several at once", {
  timeout: 120_000,
}, async () => {
  if (process.platform !== "linux") return;
  ensureBuilt();
  const file = join(folder(), "users.json");
  const dead = newOwner().replace(/^process \d+/, "process 4194303");
  const workers = await Promise.all(
    ["add", "add", "add"].map((what, at) => changerOf(file, what, `w${at}-`)),
  );
  for (let round = 0; round < 5; round++) {
    writeFileSync(`${file}.lock`, dead, { flag: "wx" });
    await Promise.all(workers.map((change) => change(round)));
    expect(new Users(file).tokens).toHaveLength(3 * (round + 1));
  }
});

/** Another process that changes a list of users when it is told to. */
async function changerOf(
  file: string,
  what: string,
  prefix = "x",
): Promise<(round: number) => Promise<void>> {
  const [script, dist] = ["../testing/changer.mjs", "../../../dist"].map((path) =>
    fileURLToPath(new URL(path, import.meta.url)),
  );
  const child = fork(script as string, [dist as string, file, what, prefix]);
  onTestFinished(() => void child.kill());
  await once(child, "message");
  return async (round) => {
    child.send(round);
    const [problem] = await once(child, "message");
    expect(problem).toBe("");
  };
}
