import { execFileSync } from "node:child_process";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { quoteShell } from "../../util/index.js";
import { probe, refusal } from "./probe.js";
import { localSandbox } from "./provider.js";
import { framed, ordered, type Report, Reports } from "./shell.js";
import { folder } from "./testing/folder.js";
import { memoryTrees } from "./testing/open.js";

const create = (bwrap: string) =>
  localSandbox({ directory: folder(), bwrap }).create(
    {},
    { id: "x", incarnation: 1, tree: null, trees: memoryTrees() },
  );

/** A program that says it is bubblewrap, and refuses. */
function pretender(version: string, complaint: string): string {
  const path = join(folder(), "bwrap");
  writeFileSync(
    path,
    `#!/bin/sh\n[ "$1" = --version ] && { echo "bubblewrap ${version}"; exit; }\necho "bwrap: ${complaint}" >&2\nexit 1\n`,
  );
  chmodSync(path, 0o755);
  return path;
}

describe("where a local sandbox cannot be had", () => {
  it("[L1] says that bubblewrap is missing and how to get it", async () => {
    await expect(create("/nowhere/bwrap")).rejects.toMatchObject({
      code: "sandbox-unavailable",
      message: expect.stringContaining("bubblewrap is missing"),
      hint: expect.stringMatching(/install|pacman|apk|package manager/),
      data: { provider: "local" },
    });
    await expect(
      localSandbox({ directory: folder(), bwrap: "/nowhere/bwrap" }).capabilities(),
    ).rejects.toMatchObject({ code: "sandbox-unavailable" });
  });

  it("[L1] says that bubblewrap is too old, or may not make namespaces", async (context) => {
    if (process.platform !== "linux") context.skip("namespaces are of Linux");
    await expect(create(pretender("0.4.1", "Unknown option --disable-userns"))).rejects.toThrow(
      "bubblewrap 0.4.1 is too old",
    );
    await expect(
      create(pretender("0.8.0", "Creating new namespace failed: Operation not permitted")),
    ).rejects.toMatchObject({
      code: "sandbox-unavailable",
      message: expect.stringContaining("Operation not permitted"),
    });
  });

  it("[L1] names the setting of the kernel that stands in the way", () => {
    const closed = (setting: string, value: string) =>
      refusal("0.8.0", "setting up uid map: Permission denied", (path) =>
        path.endsWith(setting) ? value : undefined,
      );
    expect(closed("apparmor_restrict_unprivileged_userns", "1").hint).toBe(
      "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
    );
    expect(closed("unprivileged_userns_clone", "0").hint).toBe(
      "sudo sysctl -w kernel.unprivileged_userns_clone=1",
    );
    expect(closed("max_user_namespaces", "0").hint).toBe("sudo sysctl -w user.max_user_namespaces=15000");
  });

  it("[L1] names other kinds where there is no Linux", async () => {
    const { platform } = process;
    Object.defineProperty(process, "platform", { value: "darwin" });
    try {
      await expect(probe("/some/bwrap")).rejects.toMatchObject({
        hint: expect.stringMatching(/"virtual".*"docker"/),
      });
    } finally {
      Object.defineProperty(process, "platform", { value: platform });
    }
  });

  it("[L1] refuses a folder that others can look into", async () => {
    const directory = folder();
    chmodSync(directory, 0o755);
    await expect(localSandbox({ directory }).capabilities()).rejects.toThrow(/is not ours alone/);
  });
});

describe("what is sent into a local sandbox", () => {
  const text = fc.string({
    unit: fc.constantFrom(
      "'",
      '"',
      "\\",
      "$",
      "`",
      "\n",
      " ",
      "!",
      "*",
      "a",
      "é",
      "\t",
      ";",
      "&",
      "#",
      "~",
      "{",
    ),
  });

  it("[E13] quotes every text exactly", () => {
    fc.assert(
      fc.property(
        fc.array(
          text.filter((one) => one !== ""),
          { minLength: 1, maxLength: 8 },
        ),
        (words) => {
          const out = execFileSync("/bin/bash", ["-c", `printf '%s\\0' ${words.map(quoteShell).join(" ")}`], {
            encoding: "utf8",
          });
          expect(out.split("\0").slice(0, -1)).toEqual(words);
        },
      ),
      { numRuns: 50 },
    );
    expect(quoteShell("")).toBe("''");
  });

  it("[E13] makes no other command of a command, a variable or a directory", () => {
    fc.assert(
      fc.property(text, text, text, (word, value, directory) => {
        const source = ordered({
          ...{
            number: 1,
            words: ["true", word],
            directory: `/${directory}`,
            environment: { A: value, "b.c": value },
          },
          pipes: { stdout: "0.out", stderr: "0.err" },
          limits: ":",
        });
        // Only looked at, not run: whatever is in it, it is one function and one call.
        const shown = execFileSync(
          "/bin/bash",
          ["--noprofile", "--norc", "-c", 'go() { declare -F; }; others=(); eval "$1"', "-", source],
          // Without the environment of this machine, which may bring functions of its own.
          { encoding: "utf8", env: {} },
        );
        expect(shown).toBe("declare -f go\ndeclare -f job\n");
      }),
      { numRuns: 50 },
    );
  });

  it("[E13] counts bytes, not characters", () => {
    expect(framed("é").toString("latin1")).toBe("00000002\xc3\xa9");
    expect(framed("\udcff").toString("latin1")).toBe("00000001\xff");
  });
});

describe("what comes out of a local sandbox", () => {
  const read = (...parts: string[]) => {
    const taken: Report[] = [];
    const nonsense: string[] = [];
    const reports = new Reports(
      (report) => taken.push(report),
      (line) => nonsense.push(line),
    );
    for (const part of parts) reports.push(Buffer.from(part, "latin1"));
    return { taken, nonsense };
  };

  it("[E14] is read as reports, in whatever pieces it comes", () => {
    const all =
      "r\ns 1 12\nu 2 program\ne 1 0 12\nopenrath: line 5:   34 Killed                  job\ne 3 137 34\ne 4 137 35\n";
    const expected: Report[] = [
      { kind: "ready" },
      { kind: "start", number: 1, process: 12 },
      { kind: "unstarted", number: 2, why: "program" },
      { kind: "exit", number: 1, status: 0, signalled: false },
      { kind: "exit", number: 3, status: 137, signalled: true },
      { kind: "exit", number: 4, status: 137, signalled: false },
    ];
    expect(read(all)).toEqual({ taken: expected, nonsense: [] });
    expect(read(...all)).toEqual({ taken: expected, nonsense: [] });
  });

  it("[E14] is not trusted after anything else", () => {
    for (const line of [
      "",
      "x",
      "s",
      "s 1",
      "s 1 2 3",
      "e 1 2",
      "e 1 x 2",
      "e 1 2 3 4",
      "r 1",
      "s -1 2",
      "s 1 2\r",
      "\0",
      "s 99999999999999999 1",
    ])
      expect(read(`${line}\ns 1 2\n`), JSON.stringify(line)).toEqual({ taken: [], nonsense: [line] });
    expect(read("x".repeat(10_000)).nonsense.length).toBe(1);
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        const { nonsense } = read(Buffer.from(bytes).toString("latin1"), "\n\n\n");
        expect(nonsense.length).toBe(1);
      }),
    );
  });
});
