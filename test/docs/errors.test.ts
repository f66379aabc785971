import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { errorCodes } from "../../scripts/codes.mjs";

const page = readFileSync(new URL("../../docs/errors.md", import.meta.url), "utf8");
const entries = page.split(/^### /m).slice(1);
const { codes, passed } = errorCodes();

describe("troubleshooting by error code", () => {
  it("[DC1] has an entry for every code of the sources, and for nothing else", () => {
    const documented = entries.map((entry) => /^`([\w-]+)`\n/.exec(entry)?.[1]);
    expect(documented.toSorted()).toEqual([...codes.keys()].toSorted());
    // Of every kind that the sources have: thrown, by a prefix and a union, recorded, of a protocol, a warning.
    expect(documented).toEqual(
      expect.arrayContaining([
        "divergence",
        "model-failed",
        "store-locked",
        "memory-block-limit",
        "handoff-twice",
        "task-not-found",
        "OPENRATH_OBSERVER",
      ]),
    );
  });

  it("[DC1] says in every entry what to do", () => {
    expect(entries.filter((entry) => !/\n\n\S[^#]+\*\*What\sto\sdo:\*\*\s\S/.test(entry))).toEqual([]);
  });

  it("[DC1] knows the places that pass on the code of another error", () => {
    expect(passed).toEqual(["src/agent/model/failure.ts", "src/cli/error.ts", "src/session/thrown.ts"]);
  });
});
