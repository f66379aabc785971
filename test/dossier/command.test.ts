import { existsSync, lstatSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { commandIn, scratch, twoBranches } from "../cli/rath.js";

const folder = scratch();
const rath = commandIn(folder);

beforeAll(async () => {
  await twoBranches(folder);
});

describe("rath dossier", () => {
  it("[C1] writes a page and a bundle that verifies and imports, and says where", async () => {
    const said = await rath("dossier", "answer", "-o", "out");
    expect(said).toMatchObject({ code: 0, stderr: "" });
    expect(said.stdout).toMatch(/answer.* finished: \d+ facts, 3 branches/);
    expect(said.stdout).toMatch(/next:.*rath verify out\.json/);
    expect(readFileSync(join(folder, "out.html"), "utf8")).toContain("<title>Dossier: answer</title>");
    expect((await rath("verify", "out.json")).code).toBe(0);
    const other = commandIn(folder, { RATH_HOME: join(folder, "elsewhere") });
    expect((await other("import", "out.json", "--name", "theirs")).code).toBe(0);
    expect((await other("dossier", "theirs", "--html-only", "-o", "again")).code).toBe(0);
    const json = await rath("dossier", "answer", "-o", "two.html", "--json");
    const told = JSON.parse(json.stdout);
    expect(told).toMatchObject({
      session: { name: "answer" },
      status: "finished",
      html: { file: "two.html" },
      bundle: { file: "two.json", digest: expect.stringMatching(/^[0-9a-f]{64}$/) },
    });
    expect(told.facts).toBeGreaterThan(20);
    // One word of it changed, and it does not verify.
    const changed = readFileSync(join(folder, "two.json"), "utf8").replace("forty-two", "forty-tow");
    writeFileSync(join(folder, "two.json"), changed);
    expect((await rath("verify", "two.json")).code).toBe(3);
  });

  it("[C1] only one of the files, of an earlier session, of a branch", async () => {
    expect(
      Object.keys(
        JSON.parse((await rath("dossier", "answer~2", "--html-only", "-o", "early", "--json")).stdout),
      ),
    ).not.toContain("bundle");
    expect(existsSync(join(folder, "early.json"))).toBe(false);
    const branch = JSON.parse(
      (await rath("dossier", "answer@bold", "--bundle-only", "-o", "bold", "--json")).stdout,
    );
    expect(branch).toMatchObject({ bundle: { file: "bold.json" } });
    expect(branch.elsewhere).toBeGreaterThan(0);
    expect((await rath("verify", "bold.json")).code).toBe(0);
    expect((await rath("dossier", "answer")).code).toBe(0);
    expect(existsSync(join(folder, "dossier-answer.html"))).toBe(true);
  });

  it("[C2] what makes no sense is refused, and nothing is written", async () => {
    const before = readdirSync(folder).sort();
    const wrong: readonly (readonly [number, RegExp, ...string[]])[] = [
      [2, /leave one of them out/, "answer", "--html-only", "--bundle-only"],
      [2, /whole number/, "answer", "--most", "many"],
      [2, /whole number/, "answer", "--characters", "5"],
      [2, /missing required argument/],
      [1, /did you mean answer/, "anser"],
      [1, /key/, "answer", "--sign", "nobody", "-o", "signed"],
      [1, /choose a folder/, "answer", "-o", "no/such/folder/x"],
    ];
    for (const [code, words, ...rest] of wrong) {
      const said = await rath("dossier", ...rest);
      expect(said.code, rest.join(" ")).toBe(code);
      expect(said.stderr, rest.join(" ")).toMatch(words);
    }
    expect(readdirSync(folder).sort()).toEqual(before);
  });

  it("[C3] writes through no link, leaves nothing unfinished, and replaces nothing that was not named", async () => {
    const at = (name: string): string => join(folder, name);
    writeFileSync(at("victim"), "mine");
    for (const name of ["x.jsonl", "x.jsonl.part", "x.csv.part"]) symlinkSync(at("victim"), at(name));
    const before = readdirSync(folder);
    expect((await rath("export", "answer", "-o", "x.jsonl")).code).toBe(0);
    expect((await rath("export", "answer", "--format", "csv", "-o", "x.csv")).code).toBe(0);
    expect(readFileSync(at("victim"), "utf8")).toBe("mine");
    expect(lstatSync(at("x.jsonl")).isFile()).toBe(true);
    expect((await rath("verify", "x.jsonl")).code).toBe(0);
    expect((await rath("export", "answer", "-o", "no/such/folder")).code).toBe(1);
    expect(readdirSync(folder).sort()).toEqual([...before, "x.csv"].sort());
    writeFileSync(at("mine.json"), "{}");
    const refused = await rath("dossier", "answer", "-o", "mine.html");
    expect(refused.code).toBe(1);
    expect(refused.stderr).toMatch(/mine\.json[\s\S]*--html-only/);
    expect(existsSync(at("mine.html"))).toBe(false);
    expect(readFileSync(at("mine.json"), "utf8")).toBe("{}");
    expect((await rath("dossier", "answer", "--html-only", "-o", "mine.html")).code).toBe(0);
  });
});
