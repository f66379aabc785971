import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** The task, as the session begins with it. */
export const TASK = "Fix issue 41 (ISSUE.md): when a bill is split, the shares do not add up to the total.";

/** What is kept for this project is kept under this scope. */
export const PROJECT = "project:tally";

const SPLIT = `import { amount, cents } from "./money.js";

/** Splits an amount among so many people: "10.00" among 4 is four times "2.50". */
export function split(total, people) {
  const share = Math.round(cents(total) / people);
  return Array.from({ length: people }, () => amount(share));
}
`;

const MONEY = `/** An amount such as "10.00" in whole cents. */
export function cents(text) {
  if (!/^-?\\d+\\.\\d\\d$/.test(text)) throw new TypeError(JSON.stringify(text) + " is no amount");
  return Number(text.replace(".", ""));
}

/** Whole cents as an amount: 250 is "2.50". */
export function amount(cents) {
  const digits = String(Math.abs(cents)).padStart(3, "0");
  return (cents < 0 ? "-" : "") + digits.slice(0, -2) + "." + digits.slice(-2);
}
`;

const TEST = `import assert from "node:assert/strict";
import { test } from "node:test";
import { cents } from "../src/money.js";
import { split } from "../src/split.js";

test("a bill that can be divided", () => {
  assert.deepEqual(split("10.00", 4), ["2.50", "2.50", "2.50", "2.50"]);
});

test("one person pays all of it", () => {
  assert.deepEqual(split("19.99", 1), ["19.99"]);
});

test("the shares of 10.00 among 3 add up (issue 41)", () => {
  assert.equal(split("10.00", 3).reduce((sum, share) => sum + cents(share), 0), 1000);
});
`;

const ISSUE = `# Issue 41: a cent is missing

split("10.00", 3) gives 3.33 three times, which is 9.99. Whoever collects the money pays the missing cent.

The shares must add up to the total, whatever is split among however many people.
`;

/** The repository that is repaired, by path. */
const FILES: { readonly [path: string]: string } = {
  "package.json": `${JSON.stringify({ name: "tally", version: "1.4.0", private: true, type: "module", exports: "./src/split.js", scripts: { test: "node --test" } }, null, 2)}\n`,
  "README.md": "# tally\n\nSplits bills. `node --test` runs the tests.\n",
  "ISSUE.md": ISSUE,
  "src/money.js": MONEY,
  "src/split.js": SPLIT,
  "test/split.test.js": TEST,
};

/** Puts the repository into a folder that is new. */
export function writeRepository(folder: string): void {
  for (const [path, text] of Object.entries(FILES)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
}

/** Tests that whoever repairs it does not see: they decide what a repair is worth. */
export const HELD_OUT_PATH = "test/held-out.test.js";
export const HELD_OUT = `import assert from "node:assert/strict";
import { test } from "node:test";
import { cents } from "../src/money.js";
import { split } from "../src/split.js";

const BILLS = [["20.00", 7], ["0.05", 10], ["100.00", 6], ["0.00", 3]];
const sum = (shares) => shares.reduce((total, share) => total + cents(share), 0);
const apart = (shares) => Math.max(...shares.map(cents)) - Math.min(...shares.map(cents));

for (const [total, people] of BILLS) {
  test("held out: the shares of " + total + " among " + people + " add up", () => {
    assert.equal(sum(split(total, people)), cents(total));
  });
  test("held out: no two shares of " + total + " among " + people + " differ by more than a cent", () => {
    const shares = split(total, people);
    assert.ok(apart(shares) <= 1, total + " among " + people + ": " + shares.join(", "));
  });
}

test("held out: a refund of 10.00 among 3 adds up too", () => {
  const shares = split("-10.00", 3);
  assert.equal(sum(shares), -1000, "-10.00 among 3: " + shares.join(", "));
  assert.ok(apart(shares) <= 1, "-10.00 among 3: " + shares.join(", "));
});
`;

/** What is known of earlier work. It is taken in as an import, from this text, and trusted as far as that goes. */
export const NOTES: readonly { readonly text: string; readonly subject: string }[] = [
  {
    subject: "amounts",
    text: "Amounts in tally are whole cents inside; an amount as text is read and written only in src/money.js.",
  },
  {
    subject: "issue 12",
    text: "In issue 12 a bill was rounded share by share, and nobody noticed that refunds are negative bills.",
  },
  { subject: "releases", text: "Releases of tally are made on Fridays, with a line in the change log." },
];
