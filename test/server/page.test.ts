import { execFile } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { program, surroundings } from "../cli/call.js";

const folder = mkdtempSync(join(tmpdir(), "rath-page-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const page = readFileSync(new URL("../../docs/server.md", import.meta.url), "utf8");
const blocks = (language: string): readonly string[] =>
  [...page.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\``, "gms"))].map(([, text]) => text as string);

/** What the lines of the page print, block by block. The last one ends what they started in the background. */
function printed(): Promise<readonly string[]> {
  const bin = join(folder, "bin");
  mkdirSync(bin);
  writeFileSync(join(bin, "rath"), `#!/bin/sh\nexec "${process.execPath}" "${program}" "$@"\n`);
  chmodSync(join(bin, "rath"), 0o755);
  writeFileSync(join(folder, "agents.mjs"), blocks("js")[0] as string);
  const end = [
    `HEAD=$(curl -s "$URL/api/sessions/pay%2Fprint/facts?limit=1&reverse=true" -H "authorization: Bearer $ADA")`,
    `echo "$HEAD" > head.json`,
    `until grep -q "$(sed 's/.*"id":"\\([^"]*\\)".*/\\1/' head.json)" events.txt; do sleep 0.1; done`,
    `curl -s "$URL/api/sessions/pay%2Fprint/facts?limit=1000" -H "authorization: Bearer $ADA"`,
    `kill $(jobs -p); wait`,
  ].join("\n");
  const script = [...blocks("sh"), end].map((block) => `echo "--- block"\n${block}`).join("\n");
  writeFileSync(join(folder, "page.sh"), script);
  const home = join(folder, "home");
  const env = {
    ...surroundings,
    PATH: `${bin}${delimiter}${surroundings.PATH}`,
    RATH_HOME: home,
    RATH_CONFIG: join(home, "config"),
  };
  return new Promise((resolve, reject) => {
    execFile("bash", ["page.sh"], { cwd: folder, env, maxBuffer: 2 ** 26 }, (error, stdout, stderr) => {
      if (error === null || stdout.split("--- block\n").length === blocks("sh").length + 2)
        resolve(stdout.split("--- block\n").slice(1));
      else reject(new Error(`${stderr}\n${stdout}`));
    });
  });
}

it("[SV9] the lines of the page about the server do what it says", { timeout: 300_000 }, async () => {
  const [, started = "", approved = "", killed = "", facts = ""] = await printed();
  expect(JSON.parse(started)).toMatchObject({ name: "pay/7", state: "waiting" });
  expect(approved).toContain('"code":"forbidden"');
  expect(approved).toContain('"resumed":true');
  expect(approved).toMatch(/event: end\ndata: .*"state":"finished","text":"It is paid\."/);
  expect(killed).toContain('"state":"running"');
  expect(killed).toMatch(/event: end\ndata: .*"state":"finished"/);
  // Nothing finished was done twice: at most the effect that the kill met.
  const pages = readFileSync(join(folder, "printed.txt"), "utf8").trim().split("\n");
  expect(new Set(pages).size).toBe(10);
  expect(pages.length).toBeLessThanOrEqual(11);
  const { items } = JSON.parse(facts) as { items: { type: string; id: string }[] };
  expect(items.filter(({ type }) => type === "step-result")).toHaveLength(10);
  // The events before and after the kill are one chain.
  const moves = [...readFileSync(join(folder, "events.txt"), "utf8").matchAll(/^event: move\ndata: (.*)$/gm)]
    .map(([, data]) => JSON.parse(data as string) as { name: string; head: string; before: string | null })
    .filter(({ name }) => name === "pay/print");
  expect(moves[0]?.before).toBeNull();
  for (const [place, { before }] of moves.entries())
    if (place > 0) expect(before).toBe(moves[place - 1]?.head);
  expect(moves.at(-1)?.head).toBe(items.at(-1)?.id);
});
