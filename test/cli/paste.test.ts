import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { openStore } from "openrath/store";
import { beforeAll, describe, expect, it } from "vitest";
import { argument, quoted } from "../../src/cli/text.js";
import { commandIn, scratch, twoBranches } from "./rath.js";

const folder = scratch();
/** A folder without a store of its own: a command that loses its --store finds nothing there. */
const elsewhere = join(folder, "elsewhere");
const store = `sqlite:${join(folder, "it's $HOME; a store.db")}`;
const NAMES = [
  "two words",
  "it's",
  'say "hi"',
  "$(touch pwned)",
  "`id`",
  "退款 ü",
  "-dash",
  "--all",
  "a;b|c&d>e",
  "# hash",
  "back\\slash",
  "star*?[a]",
  "~root",
  "turned\u202ename",
  "line\u2028end",
  "rath list",
  "see: rath log x   # y",
];

beforeAll(async () => {
  const { id } = await twoBranches(folder);
  cpSync(join(folder, "home", "rath.db"), join(folder, "it's $HOME; a store.db"));
  mkdirSync(elsewhere);
  const opened = await openStore(store);
  for (const name of NAMES) await opened.point(name, id);
  await opened.close();
  await commandIn(elsewhere)("key", "new", "ada");
});

describe("commands that are printed", { timeout: 120_000 }, () => {
  it("[C14] a shell takes a quoted word as it is, whatever is in it", () => {
    for (const word of [
      ...NAMES,
      "",
      "plain-1",
      "tab\tand\nline",
      "'",
      "\\'",
      "\u001b[31m",
      "=x",
      "a'\u202e\\b",
    ])
      expect(wordsOf(`echo ${quoted(word)}`), JSON.stringify(word)).toEqual(["echo", word]);
    expect(quoted("demo-1@bold~2")).toBe("demo-1@bold~2");
    expect(argument("-dash")).toBe("./-dash");
  });

  it("[C14] hints of all commands can be pasted unchanged, with --store and for any name", async () => {
    const rath = commandIn(elsewhere);
    const tried = new Set<string>();
    const pasted = async (words: readonly string[]): Promise<void> => {
      const { stdout, stderr } = await rath(...words);
      for (const line of printedIn(`${stdout}\n${stderr}`)) {
        if (tried.has(line)) continue;
        tried.add(line);
        expect(line, words.join(" ")).toMatch(/^(npx )?rath [a-z]+ --store '/);
        const [, ...typed] = wordsOf(line.replace(/^npx /, ""));
        const said = await rath(...typed);
        expect(said.stderr, `${words.join(" ")}: ${line}`).toBe("");
        expect([0, 3], line).toContain(said.code);
      }
    };
    const at = ["--store", store];
    for (const [index, name] of NAMES.entries()) {
      const word = name.startsWith("-") ? `./${name}` : name;
      const every = [
        ["show", word],
        ["log", word, "-n", "2"],
        ["files", word],
        ["fork", word],
        ["diff", word, "answer"],
      ];
      // The most awkward names go through all commands.
      const all = [
        ["list", "--under", name],
        ["show", `${word}~1`],
        ["log", word],
        ["show", `${word}:nothing`],
        ["watch", `${word}~1`],
        ["diff", `${word}@small`, `${word}@bold`],
        ["why", word],
        ["why", word, "--file", "answer.txt"],
        ["verify", word],
        ["pending", word],
        ["export", word, "-o", `-out ${index}'s.jsonl`],
        ["import", `./-out ${index}'s.jsonl`],
        ["dossier", word, "-o", `-page ${index}`],
        ["grep", "nothing at all", word],
      ];
      for (const words of [...every, ...(/^(-dash|\$|it's)/.test(name) ? all : [])])
        await pasted([...words, ...at]);
    }
    for (const words of [
      ["list"],
      ["memory"],
      ["doctor"],
      ["show", "nobody"],
      ["grep", "("],
      ["list", "--since", "x"],
    ])
      await pasted([...words, ...at]);
    expect(tried.size).toBeGreaterThan(NAMES.length * 5);
  });

  it("[C14] without --store none is added", async () => {
    const { stdout } = await commandIn(folder)("log", "answer");
    expect(stdout).toMatch(/: (npx )?rath log answer --all\n/);
    const { error } = JSON.parse((await commandIn(folder)("log", "answr", "--json")).stdout);
    expect(error.hint).toMatch(/: (npx )?rath list$/);
    expect(error.message).toContain(error.hint);
    const listed = await commandIn(folder, { RATH_STORE: store })("list");
    expect(listed.stdout).not.toContain("--store");
  });
});

/** The commands in a text that can be typed as they are: those with something to fill in are left out. */
function printedIn(text: string): readonly string[] {
  return [...text.matchAll(/(?:(?:next|or|try|type|facts|out|there|is|are): +)((?:npx )?rath [a-z]+ .*)$/gm)]
    .map(([, line]) => line as string)
    .filter(
      (line) => !/…|\b(FILE|NAME|FOLDER|SESSION)\b/.test(line) && !/^(npx )?rath (demo|run) /.test(line),
    );
}

/** The words that a shell makes of a line. */
function wordsOf(line: string): readonly string[] {
  const words = execFileSync("bash", ["-c", `take() { printf '%s\\0' "$@"; }; take ${line}`], {
    cwd: elsewhere,
  });
  return words.toString().split("\0").slice(0, -1);
}
