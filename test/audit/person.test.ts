import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openStore } from "openrath/store";
import { describe, expect, it } from "vitest";
import { commandIn, scratch } from "../cli/rath.js";

const PERSON = "Jane Roe";
const WHY = ["--yes", "--why", "request 41", "--as", "user:dpo"];

/** A program as somebody would write it who has not thought of erasure: it remembers, recalls and answers. */
const PROGRAM = `
import { agent, scripted, signal, workflow } from "openrath";
import { memory } from "openrath/memory";
const notes = memory({ name: "people", scope: "project:mail" });
const clerk = agent({ name: "clerk", model: scripted((prompt) => process.env.ECHO ? "Dear Jane Roe" : "It is sent.") });
export default workflow("mail", { clerk }, async (session) => {
  const said = [...session.history()][0];
  const { session: kept } = await notes.write(session, { text: "Jane Roe wants no letters.", because: [said.id], source: "human-correction", by: "user:ada" });
  const { session: told } = await notes.recall(kept, "What does Jane Roe want?", { threshold: 0 });
  return clerk.forward(told);
});
export const asks = workflow("asks", async (session) => (await signal("who", { question: "Who?" }).call(session)).session);
`;

/** The files below a folder that have these bytes, whatever they are called: the store, its log, indexes, notes. */
function filesWith(folder: string, words: string): readonly string[] {
  const paths = readdirSync(folder, { recursive: true, encoding: "utf8" });
  return paths.filter((path) => {
    const file = join(folder, path);
    return statSync(file).isFile() && readFileSync(file).includes(words);
  });
}

describe("words of a person that nobody planned to erase", () => {
  it("[E3] go with one command: out of the record, the log, free pages and every index", async () => {
    const folder = scratch();
    const rath = commandIn(folder);
    writeFileSync(join(folder, "bot.mjs"), PROGRAM.replaceAll("Jane Roe", "Jane\\u0020Roe"));
    expect((await rath("run", "bot.mjs", "--name", "jr", "--input", `Write to ${PERSON}.`)).code).toBe(0);
    expect((await rath("run", "bot.mjs#asks", "--name", "who")).stderr).toBe("");
    expect((await rath("answer", "who", "--value", JSON.stringify({ name: PERSON }))).code).toBe(0);
    expect((await rath("resume", "who")).code).toBe(0);
    expect(filesWith(join(folder, "home"), PERSON)).not.toEqual([]);
    const erased = await rath("erase", "--about", PERSON, ...WHY);
    expect(erased).toMatchObject({ code: 0, stderr: "" });
    expect(erased.stdout).toMatch(/Erased \d+ pieces of content.*The store verifies/s);
    expect(filesWith(folder, PERSON)).toEqual([]);
    expect((await rath("verify")).code).toBe(0);
    expect((await rath("show", "jr")).stdout).toContain("[erased]");
    // What goes on is erasable too, although the key went with what was erased.
    expect(
      (await rath("run", "bot.mjs", "--on", "jr", "--name", "jr", "--input", `Again to ${PERSON}.`)).code,
    ).toBe(0);
    expect((await rath("erase", "--about", PERSON, ...WHY)).code).toBe(0);
    expect(filesWith(folder, PERSON)).toEqual([]);
  });

  it("[E4] what a model repeated stays, is told with its place, and the command exits with 3", async () => {
    const folder = scratch();
    const rath = commandIn(folder, { ECHO: "yes" });
    writeFileSync(join(folder, "bot.mjs"), PROGRAM);
    await rath("run", "bot.mjs", "--name", "jr", "--input", `Write to ${PERSON}.`);
    const erased = await rath("erase", "--about", PERSON, ...WHY);
    expect(erased.code).toBe(3);
    expect(erased.stdout).toMatch(
      /Erased \d+ pieces.*1 place cannot be erased.*content of model-reply in jr.*Some of it remains/s,
    );
    expect(JSON.parse((await rath("erase", "--about", PERSON, ...WHY, "--json")).stdout)).toMatchObject({
      remains: true,
    });
    const store = await openStore(`sqlite:${join(folder, "home", "rath.db")}`);
    expect((await store.check()).findings).toEqual([]);
    await store.close();
  });
});
