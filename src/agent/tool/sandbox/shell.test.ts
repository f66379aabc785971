import { describe, expect, it } from "vitest";
import type { ExecResult, Sandbox } from "../../../sandbox/index.js";
import { SandboxLostError } from "../../../sandbox/index.js";
import { runTool } from "../call.js";
import type { ToolContext } from "../tool.js";
import { printedOf, shellTool, shownResult } from "./shell.js";
import { KINDS, within } from "./testing/workspace.js";

const shell = shellTool();

describe.each(KINDS)("shell in a sandbox of the kind $kind", ({ kind, missing }) => {
  const test = it.skipIf(missing !== undefined);

  test("[C1] gives output and exit code, in a directory, with input", async () => {
    await within(kind, async (workspace) => {
      await workspace.write({ "src/a.txt": "one\n" });
      expect(await workspace.call(shell, { command: "echo hello" })).toBe("hello\n[exit code 0]");
      expect(await workspace.call(shell, { command: "echo out; echo err >&2; exit 3" })).toBe(
        "out\n[stderr]\nerr\n[exit code 3]",
      );
      expect(await workspace.call(shell, { command: "true" })).toBe("[exit code 0]");
      expect(await workspace.call(shell, { command: "pwd; cat a.txt", directory: "src" })).toBe(
        "/workspace/src\none\n[exit code 0]",
      );
      expect(await workspace.call(shell, { command: "cat", stdin: "typed\n" })).toBe("typed\n[exit code 0]");
      expect(await workspace.call(shell, { command: "echo new > src/b.txt" })).toBe("[exit code 0]");
      expect(await workspace.read("src/b.txt")).toBe("new\n");
      expect(await workspace.call(shell, { command: "nosuchprogram" })).toMatch(
        /not found.*\[exit code 127\]$/s,
      );
    });
  });

  test("[C3] ends what takes too long, and gives no more time than the sandbox does", async () => {
    await within(
      kind,
      async (workspace) => {
        const ended = /^\[ended after \d\.\d s: it took too long\]$/m;
        expect(await workspace.call(shell, { command: "sleep 60", timeout: 0.2 })).toMatch(ended);
        expect(await workspace.call(shell, { command: "sleep 60", timeout: 3600 })).toMatch(ended);
        expect(await workspace.call(shell, { command: "sleep 60" })).toMatch(ended);
      },
      { limits: { wall: 700 } },
    );
  });

  test("[C4] a command that never began is a failure", async () => {
    await within(kind, async (workspace) => {
      await expect(workspace.call(shell, { command: "true", directory: "nowhere" })).rejects.toMatchObject({
        code: "command-unstarted",
      });
    });
  });

  test("[C5] tells observers, and ends with its call", async () => {
    await within(kind, async (workspace) => {
      await workspace.call(shell, { command: "printf 'gr\\303\\274n'; echo err >&2" });
      const told = workspace.told as { readonly from: string; readonly text: string }[];
      const of = (from: string): string =>
        told
          .filter((one) => one.from === from)
          .map(({ text }) => text)
          .join("");
      expect([of("stdout"), of("stderr")]).toEqual(["grün", "err\n"]);
      const stop = new AbortController();
      const call = workspace.call(shell, { command: "sleep 60; echo done > late.txt" }, stop.signal);
      setTimeout(() => stop.abort(new Error("enough")), 100);
      await expect(call).rejects.toThrow("enough");
      expect(await workspace.sandbox.files.stat("late.txt")).toBeUndefined();
    });
  });
});

describe("what a command printed", () => {
  const result = (stdout: string, stderr: string, more: Partial<ExecResult> = {}): ExecResult => ({
    code: 0,
    outcome: "ok",
    stdout: Buffer.from(stdout),
    stderr: Buffer.from(stderr),
    cut: 0,
    milliseconds: 1500,
    ...more,
  });

  it("[C2] is shown with beginning and end of both streams, whatever their lengths", async () => {
    const [long, other] = ["a".repeat(50_000), "b".repeat(50_000)].map((body) => `first ${body} last`);
    for (const most of [1000, 5000, 16_000])
      for (const [stdout, stderr] of [
        [long, other],
        [long, "short"],
        ["short", other],
        [long, ""],
        ["", other],
      ] as const) {
        const shown = shownResult(result(stdout ?? "", stderr ?? "", { cut: 12 }), most);
        expect(shown.length).toBeLessThanOrEqual(most);
        expect(shown.length).toBeGreaterThan(most * 0.85);
        for (const stream of [stdout, stderr]) {
          if (stream === "" || stream === undefined) continue;
          expect(shown).toContain(stream.slice(0, 5));
          expect(shown).toContain(stream.slice(-4));
        }
        expect(shown).toMatch(/\[12 bytes of output were too much and are not kept\]\n\[exit code 0\]$/);
      }
    await within("virtual", async (workspace) => {
      await workspace.write({ "long.txt": long ?? "" });
      const { stdout } = await workspace.sandbox.exec("cat long.txt").result;
      expect(Buffer.from(stdout).toString()).toBe(long);
      expect(await workspace.say(shell, { command: "cat long.txt" })).toContain("the record holds all of it");
    });
  });

  it("[C3] says why it was ended", () => {
    expect(shownResult(result("", "", { outcome: "oom", code: null }), 1000)).toContain(
      "more memory than it may have",
    );
    expect(shownResult(result("", "", { outcome: "disk", code: null }), 1000)).toContain(
      "wrote more than it may",
    );
    expect(shownResult(result("", "", { outcome: "killed", code: null, why: "asked to" }), 1000)).toBe(
      "[killed after 1.5 s: asked to]",
    );
    expect(shownResult(result("", "", { outcome: "error", code: null, signal: "SIGSEGV" }), 1000)).toBe(
      "[ended by SIGSEGV]",
    );
  });

  it("[C4] is not known of a sandbox that is lost", async () => {
    const lost: ExecResult = result("", "", { outcome: "lost", code: null, why: "the power went" });
    const sandbox = {
      ref: { id: "s1", spec: {} },
      exec: () => ({
        result: Promise.resolve(lost),
        async *[Symbol.asyncIterator]() {
          yield { type: "exit", result: lost };
        },
      }),
    } as unknown as Sandbox;
    const context = { signal: new AbortController().signal, sandbox: async () => sandbox } as ToolContext;
    const call = runTool(shell, { command: "true" }, context);
    await expect(call).rejects.toThrow(SandboxLostError);
    await expect(call).rejects.toMatchObject({ code: "sandbox-lost" });
  });

  it("[C6] is without colours, overwritten lines, and control characters", () => {
    const shown = (text: string | Uint8Array): string => printedOf(Buffer.from(text as string));
    expect(shown("\u001b[31mred\u001b[0m \u001b]8;;http://x\u0007link\u001b]8;;\u0007")).toBe("red link");
    expect(shown("10%\r50%\r100%\ndone\r\n")).toBe("100%\ndone\n");
    expect(shown(Uint8Array.of(65, 255, 66, 0, 7, 67))).toBe("A\ufffdB\ufffd\ufffdC");
    expect(shown("tab\tstays\n")).toBe("tab\tstays\n");
  });
});
