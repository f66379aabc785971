import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it } from "vitest";
import { Dice } from "./dice.js";
import { Search } from "./search.js";

const COUNT = 1_000;
const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** A thousand secrets, some with characters that are escaped wherever they stand. */
function canaries(seed: number): { readonly [name: string]: string } {
  const dice = new Dice(seed);
  return Object.fromEntries(
    Array.from({ length: COUNT }, (_, place) => {
      const middle = place % 10 === 0 ? '"/+ü\\' : "-";
      return [`CANARY_${place}`, `${dice.word(12)}${middle}${dice.word(12)}`];
    }),
  );
}

type Ran = { readonly folder: string; readonly printed: Buffer; readonly code: number | null };

/** Runs the program that is told all of them, with a folder of its own for everything that it leaves. */
async function ran(
  secrets: { readonly [name: string]: string },
  store: string,
  mode: "told" | "untold",
): Promise<Ran> {
  const folder = mkdtempSync(join(tmpdir(), "openrath-canary-"));
  folders.push(folder);
  mkdirSync(join(folder, "tmp"));
  const program = fileURLToPath(new URL("./canary-world.mjs", import.meta.url));
  const child = spawn(process.execPath, [program, folder, `${store}:${join(folder, "store")}`, mode], {
    env: { PATH: process.env.PATH, TMPDIR: join(folder, "tmp"), HOME: join(folder, "tmp"), ...secrets },
    stdio: ["ignore", "pipe", "pipe"],
    cwd: folder,
    timeout: 120_000,
  });
  const printed: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (piece: Buffer) => printed.push(piece));
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", resolve);
  });
  return { folder, printed: Buffer.concat(printed), code };
}

describe("a thousand secrets", () => {
  it.each(["sqlite"])(
    "[V7] are nowhere in a %s store, its exports, what observers heard, what was printed and what is left behind",
    { timeout: 180_000 },
    async (store) => {
      const secrets = canaries(store.length);
      const { folder, printed, code } = await ran(secrets, store, "told");
      expect(code, printed.toString("utf8").slice(-2_000)).toBe(0);
      expect(printed.toString("utf8")).toContain("done ");
      const search = new Search(secrets);
      expect(search.below(folder)).toEqual({});
      expect(search.in(printed)).toEqual([]);
    },
  );

  it("[V8] are found where the runtime was not told of them", { timeout: 180_000 }, async () => {
    const secrets = canaries(99);
    const { folder, printed, code } = await ran(secrets, "sqlite", "untold");
    expect(code, printed.toString("utf8").slice(-2_000)).toBe(0);
    const search = new Search(secrets);
    const all = Object.values(search.below(folder)).flat();
    const names = new Set(all.map((one) => one.split(" ")[0]));
    console.log(
      `control: ${names.size} of ${COUNT} found, as ${[...new Set(all.map((one) => one.replace(/^\S+ /, "")))].join(", ")}`,
    );
    expect(names.size).toBeGreaterThan(0.75 * COUNT);
    for (const form of ["clear", "hex", "percent", "base64 at 0", "base64 at 1", "base64 at 2"])
      expect(
        all.some((one) => one.endsWith(`(${form})`)),
        form,
      ).toBe(true);
    expect(search.in(printed).length).toBeGreaterThan(0);
  });
});
