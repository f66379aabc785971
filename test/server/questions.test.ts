import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { openRath } from "openrath";
import { client } from "openrath/client";
import { pages } from "openrath/evidence";
import { server } from "openrath/server";
import { openStore, type Store } from "openrath/store";
import { serve } from "openrath/ui";
import { afterAll, beforeAll, expect, it } from "vitest";
import { world } from "../audit/world.js";
import { commandIn, scratch } from "../cli/rath.js";

const folder = scratch();
const rath = commandIn(folder);
const url = `sqlite:${join(folder, "home", "rath.db")}`;

/** A question as the library and the server take it, and as it is typed. */
type Asked = {
  readonly question: string;
  readonly session?: string;
  readonly options?: { readonly [name: string]: string | number | boolean };
  readonly words: readonly string[];
};

let store: Store;
let memory: string;
let close: () => Promise<void>;
let address: { readonly url: string; readonly token: string };

beforeAll(async () => {
  mkdirSync(join(folder, "home"), { recursive: true });
  const made = await world(url);
  memory = made.memory;
  await made.rath.close();
  await made.store.close();
  store = await openStore(url);
  const runtime = openRath({ store });
  const handler = server(runtime, { auth: { single: "user:ada" } });
  const served = await serve(handler);
  address = { url: served.url, token: handler.token as string };
  close = async () => {
    handler.close();
    await served.close();
    await runtime.close();
    await store.close();
  };
});
afterAll(() => close());

/** At least fifty questions about the record of some work. */
async function questions(): Promise<readonly Asked[]> {
  const facts: { readonly id: string; readonly type: string; readonly at: string }[] = [];
  for await (const { id, fact } of store.history("work")) facts.push({ id, type: fact.type, at: fact.at });
  const said = facts.filter(({ type }) => type === "model-reply");
  const called = facts.filter(({ type }) => /^(model|tool|step)-call$/.test(type));
  const [first, last] = [facts[0]?.at ?? "", facts.at(-1)?.at ?? ""];
  const about = (question: string, options: Asked["options"], words: readonly string[]): Asked => ({
    question,
    session: "work",
    options: options ?? {},
    words: ["work", ...words],
  });
  return [
    about("branch", {}, []),
    ...said.map(({ id }) => about("branch", { message: id }, ["--message", id])),
    ...called.map((_, at) => about("step", { step: `${at + 1}` }, ["--step", `${at + 1}`])),
    ...called.map(({ id }) => about("saw", { step: id }, ["--step", id, "--saw"])),
    ...called.map((_, at) => about("memory", { step: `${at + 1}` }, ["--step", `${at + 1}`, "--memory"])),
    about("file", { path: "src/price.txt" }, ["--file", "src/price.txt"]),
    ...[1, 2, 3, 4].map((line) =>
      about("file", { path: "src/price.txt", line }, ["--file", `src/price.txt:${line}`]),
    ),
    about("approvals", {}, ["--approvals"]),
    about("approvals", { limit: 1 }, ["--approvals", "--limit", "1"]),
    about("between", { from: first, to: last }, ["--from", first, "--to", last]),
    about("between", { from: first, to: last, limit: 5 }, ["--from", first, "--to", last, "--limit", "5"]),
    about("between", { from: first, to: last, all: true }, ["--from", first, "--to", last, "--all"]),
    ...["user:ada", "user:bob", "agent:shipper"].map((principal) =>
      about("by", { principal }, ["--by", principal]),
    ),
    { question: "by", options: { principal: "user:ada" }, words: ["--by", "user:ada"] },
    { question: "ifFalse", options: { memory }, words: ["--if-false", memory] },
  ];
}

it("[SV3] the command, the library and the server answer the same fifty questions alike", async () => {
  const all = await questions();
  // Each is asked once, and hardly two have the same answer.
  expect(new Set(all.map((one) => JSON.stringify(one))).size).toBe(all.length);
  expect(all.length).toBeGreaterThanOrEqual(50);
  const answers = new Set<string>();
  const [library, http] = [pages(store), client(address.url, { token: address.token })];
  for (const { question, session, options = {}, words } of all) {
    const answer = JSON.parse(JSON.stringify(await library.ask(question, session ?? "", options)));
    const served =
      session === undefined
        ? await http.askAll({ question, ...options })
        : await http.ask({ name: session, question, ...options });
    expect(served).toEqual(answer);
    const said = await rath("why", ...words, "--json");
    expect(said.code).toBe(0);
    expect(JSON.parse(said.stdout)).toEqual(answer);
    answers.add(JSON.stringify(answer));
  }
  expect(answers.size).toBeGreaterThanOrEqual(50);
});
