import { spawn, spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ensureBuilt } from "../../../src/store/testing/worker.js";

type Finding = {
  readonly class: string;
  readonly name: string;
  readonly outcome: "held" | "escaped" | "not tried";
  readonly why?: string;
};

const root = fileURLToPath(new URL("../../../", import.meta.url));
const page = join(root, "docs", "escapes.md");
const isRoot = process.getuid?.() === 0;
const bwrap = spawnSync("bwrap", ["--ro-bind", "/", "/", "true"]).status === 0;
const obstacle = bwrap ? undefined : "bubblewrap is missing";
/** Nobody in particular. */
const USER = 65_534;

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "openrath-battery-"));
  if (obstacle !== undefined) return;
  ensureBuilt();
  // A place that an ordinary user can read: the checkout may be in somebody's home.
  chmodSync(folder, 0o755);
  for (const part of ["dist", "package.json", "test/sandbox/escape"])
    cpSync(join(root, part), join(folder, part), { recursive: true });
  for (const name of ["diff", "node-diff3"])
    cpSync(join(root, "node_modules", name), join(folder, "node_modules", name), { recursive: true });
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe.skipIf(obstacle !== undefined)(
  `the escape battery${obstacle === undefined ? "" : ` (skipped: ${obstacle})`}`,
  () => {
    it.concurrent("[X1] nothing gets out of a local sandbox, run by root or not", async () => {
      const findings = await battery(false);
      expect(findings.filter(({ outcome }) => outcome === "escaped")).toEqual([]);
      const held = findings.filter(({ outcome }) => outcome === "held");
      expect(held.length).toBeGreaterThanOrEqual(150);
      expect(new Set(held.map((one) => one.class)).size).toBeGreaterThanOrEqual(12);
      if (process.env.UPDATE_ESCAPES !== undefined) writeFileSync(page, pageOf(findings));
      // What is tried is what the page says: nobody has to believe a number.
      expect(listed(readFileSync(page, "utf8"))).toEqual(listed(pageOf(findings)));
    }, 600_000);

    it.concurrent("[X3] without a sandbox, the same attempts do get out", async () => {
      const findings = await battery(false, "--host");
      const escaped = findings.filter(({ outcome }) => outcome === "escaped").map((one) => one.class);
      expect(new Set(escaped)).toEqual(new Set(["files: reading", "sockets", "network"]));
      expect(escaped.length).toBeGreaterThan(10);
    });

    it.skipIf(!isRoot).concurrent(
      `[X2] nothing gets out of a local sandbox of an ordinary user${isRoot ? "" : " (skipped: this is one)"}`,
      async () => {
        const findings = await battery(true);
        expect(findings.filter(({ outcome }) => outcome === "escaped")).toEqual([]);
        expect(findings.filter(({ outcome }) => outcome === "held").length).toBeGreaterThanOrEqual(150);
      },
      600_000,
    );
  },
);

async function battery(other: boolean, ...more: readonly string[]): Promise<readonly Finding[]> {
  const script = join(folder, "test/sandbox/escape/battery.mjs");
  const home = mkdtempSync(join(folder, "home-"));
  mkdirSync(join(home, "tmp"));
  if (other) for (const path of [home, join(home, "tmp")]) chownSync(path, USER, USER);
  const become = [`--reuid=${USER}`, `--regid=${USER}`, "--clear-groups"];
  const [command, args] = other
    ? ["setpriv", [...become, process.execPath, script, "--json", ...more]]
    : [process.execPath, [script, "--json", ...more]];
  const child = spawn(command, args, {
    cwd: folder,
    env: { PATH: process.env.PATH ?? "", HOME: home, TMPDIR: join(home, "tmp") },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let [out, complaints] = ["", ""];
  child.stdout.on("data", (bytes) => {
    out += bytes;
  });
  child.stderr.on("data", (bytes) => {
    complaints += bytes;
  });
  await new Promise((resolve) => child.once("close", resolve));
  try {
    return (JSON.parse(out) as { findings: readonly Finding[] }).findings;
  } catch {
    throw new Error(`the battery ended without an answer: ${complaints.slice(-2000)}${out.slice(-500)}`);
  }
}

/** The lines of the table, without what differs from machine to machine. */
function listed(text: string): readonly string[] {
  return text.split("\n").filter((line) => line.startsWith("| ") && !line.includes("the host's address"));
}

function pageOf(findings: readonly Finding[]): string {
  const classes = [...new Set(findings.map((one) => one.class))];
  const rows = classes.map((of) => {
    const names = [...new Set(findings.filter((one) => one.class === of).map(({ name }) => name))];
    return `| ${of} | ${names.length} | ${names.map((name) => name.replaceAll("|", "\\|")).join("; ")} |`;
  });
  const head = existsSync(page)
    ? readFileSync(page, "utf8").split("\n## What is tried")[0]
    : "# What holds\n";
  return `${head}
## What is tried

| class | attempts | which |
|---|---|---|
${rows.join("\n")}
`;
}
