import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { Sandbox } from "../../../sandbox/index.js";
import { ToolDefinitionError } from "../error.js";
import { specOf, type ToolContext } from "../tool.js";
import { editTool } from "./edit.js";
import { findTool, listTool } from "./list.js";
import { patchTool } from "./patch.js";
import { searchTool } from "./search.js";
import { shellTool } from "./shell.js";
import { testTool } from "./test.js";
import { KINDS, within } from "./testing/workspace.js";
import { sandboxTools } from "./tools.js";
import { viewTool, writeTool } from "./view.js";

const makers = {
  shellTool,
  viewTool,
  listTool,
  findTool,
  searchTool,
  writeTool,
  editTool,
  patchTool,
  testTool,
};
const reads = ["view", "list", "find", "search"];

describe("the tools of a sandbox", () => {
  it("[W6] have the inputs that the guide says, those that may be left out in brackets", () => {
    const guide = readFileSync(new URL("../../../../docs/sandbox.md", import.meta.url), "utf8");
    for (const one of sandboxTools()) {
      const { name, input } = specOf(one);
      const { properties, required = [] } = input as { properties: object; required?: readonly string[] };
      const row = guide.split("\n").find((line) => line.startsWith(`| \`${name}\` |`)) ?? "";
      for (const property of Object.keys(properties)) expect(row).toContain(`\`${property}\``);
      // Of `old` and `line`, an edit has one.
      for (const property of Object.keys(properties).filter((each) => each !== "old" && each !== "line"))
        expect([name, property, row.includes(`[\`${property}\``)]).toEqual([
          name,
          property,
          !required.includes(property),
        ]);
    }
  });

  it("[W1] are nine, each alone as in the list, and their options are checked", () => {
    const tools = sandboxTools();
    expect(tools.map(({ name }) => name)).toEqual([
      "shell",
      "view",
      "list",
      "find",
      "search",
      "write",
      "edit",
      "patch",
      "test",
    ]);
    for (const make of Object.values(makers)) {
      const alone = make();
      const listed = tools.find(({ name }) => name === alone.name);
      expect(listed && specOf(listed)).toEqual(specOf(alone));
      expect(alone.maxOutput).toBe(16_000);
      for (const wrong of [
        { maxOutput: 10 },
        { maxOutput: 1e9 },
        { skip: ".git" },
        { maxOuput: 5000 },
      ] as object[])
        expect(() => make(wrong)).toThrow(ToolDefinitionError);
    }
    expect(() => sandboxTools({ maxOuput: 5000 } as object)).toThrow(/did you mean "maxOutput"/);
    expect(sandboxTools({ maxOutput: 3000 }).every((tool) => tool.maxOutput === 3000)).toBe(true);
    const asked = sandboxTools({ approval: ({ command }) => String(command).startsWith("rm ") });
    expect(
      asked.filter((tool) => tool.approval({ command: "rm -r x", path: "a" })).map(({ name }) => name),
    ).toEqual(["shell", "test"]);
  });

  it("[W2] conflict at the workspace, and say what they do", () => {
    for (const tool of sandboxTools()) {
      expect(tool.conflicts({})).toEqual(["workspace"]);
      expect(tool.effect).toBe(reads.includes(tool.name) ? "read" : "write");
    }
  });

  it("[W7] say what they touch, whether it can be undone, and where what they show comes from", () => {
    const tools = new Map(sandboxTools().map((tool) => [tool.name, tool]));
    for (const name of ["view", "write", "edit"])
      expect(tools.get(name)?.touches?.({ path: "src/a.ts" })).toEqual({
        paths: ["src/a.ts"],
        commands: [],
        hosts: [],
      });
    expect(tools.get("write")?.touches?.({ path: "/workspace/./secrets//key/" })).toMatchObject({
      paths: ["secrets/key"],
    });
    for (const name of ["shell", "test"])
      expect(tools.get(name)?.touches?.({ command: "make" })).toEqual({ commands: ["make"] });
    expect(tools.get("test")?.touches?.({})).toEqual({});
    for (const name of ["list", "find", "search", "patch"]) expect(tools.get(name)?.touches).toBeUndefined();
    for (const name of ["write", "edit", "patch"]) expect(tools.get(name)?.reversible?.({})).toBe(true);
    expect(tools.get("shell")?.reversible).toBeUndefined();
    for (const { origin } of tools.values()) expect(origin).toBe("file");
  });

  it("[W3] may be repeated where nothing but the workspace could be reached", async () => {
    const sandbox = (isolation: string, mode?: string): ToolContext =>
      ({
        sandbox: async () =>
          ({
            ref: { spec: mode === undefined ? {} : { network: { mode } } },
            capabilities: { isolation },
          }) as unknown as Sandbox,
      }) as ToolContext;
    const finding = (name: string, context: ToolContext): unknown =>
      sandboxTools()
        .find((tool) => tool.name === name)
        ?.reconcile?.({}, context);
    for (const name of ["write", "edit", "patch"])
      expect(await finding(name, sandbox("none", "full"))).toBe("again");
    for (const name of ["shell", "test"]) {
      for (const isolation of ["virtual", "namespace", "container", "vm"]) {
        expect(await finding(name, sandbox(isolation))).toBe("again");
        expect(await finding(name, sandbox(isolation, "none"))).toBe("again");
        expect(await finding(name, sandbox(isolation, "allow"))).toBe("unknown");
        expect(await finding(name, sandbox(isolation, "full"))).toBe("unknown");
      }
      expect(await finding(name, sandbox("none"))).toBe("unknown");
    }
    for (const name of reads) expect(finding(name, sandbox("none"))).toBeUndefined();
  });

  it("[W4] never give more than maxOutput", async () => {
    await within("virtual", async (workspace) => {
      const long = `${"wide ".repeat(4000)}\n`;
      await workspace.write({
        "long.txt": long.repeat(50),
        "package.json": '{"scripts":{"test":"x"}}',
        "fails.tap": `TAP version 13\n1..300\n${Array.from({ length: 300 }, (_, at) => `not ok ${at + 1} - ${"name ".repeat(300)}\n  ---\n  error: '${"why ".repeat(900)}'\n  ...\n`).join("")}`,
      });
      for (let at = 0; at < 300; at++)
        await workspace.write({ [`many/${"name".repeat(20)}-${at}.txt`]: "wide\n" });
      for (const maxOutput of [1000, 2000, 16_000]) {
        const options = { maxOutput };
        const outputs = [
          await workspace.say(shellTool(options), { command: "cat long.txt; cat long.txt >&2" }),
          await workspace.say(viewTool(options), { path: "long.txt" }),
          await workspace.say(viewTool(options), { path: "many" }),
          await workspace.say(listTool(options), { depth: 3 }),
          await workspace.say(findTool(options), { name: "*.txt" }),
          await workspace.say(searchTool(options), { pattern: "wide", context: 2 }),
          await workspace.say(testTool(options), { command: "cat fails.tap; exit 1" }),
          await workspace.say(testTool(options), { command: "cat long.txt" }),
        ];
        for (const output of outputs) {
          expect(output.length).toBeLessThanOrEqual(maxOutput);
          // Less than half of it would waste what the model could have seen; the end of it is there.
          expect(output.length).toBeGreaterThan(maxOutput / 3);
          expect(output).toMatch(/left out|not shown|more lines? below|cut here|more characters/);
          expect(output).not.toMatch(/^\[… \d+ of \d+ characters left out …\]$/);
        }
      }
    });
  });

  describe.each(KINDS)("in a sandbox of the kind $kind", ({ kind, missing }) => {
    it.skipIf(missing !== undefined)(
      `[W5] keep to the workspace${missing === undefined ? "" : ` (${missing})`}`,
      async () => {
        await within(kind, async (workspace) => {
          await workspace.write({ "src/a.txt": "inside\n" });
          await workspace.say(shellTool(), {
            command: "ln -s /etc out; ln -s /etc/passwd file; ln -s src near",
          });
          for (const path of [
            "/workspace/src/a.txt",
            "./src/a.txt",
            "src/../src//a.txt",
            "/workspace/./src/a.txt",
          ])
            expect(await workspace.say(viewTool(), { path })).toContain("1:inside");
          const calls = (path: string): { readonly [tool: string]: () => Promise<unknown> } => ({
            view: () => workspace.call(viewTool(), { path }),
            list: () => workspace.call(listTool(), { path }),
            find: () => workspace.call(findTool(), { name: "passwd", path }),
            search: () => workspace.call(searchTool(), { pattern: "root", path }),
            write: () => workspace.call(writeTool(), { path: `${path}/x`, text: "no" }),
            edit: () => workspace.call(editTool(), { path, old: "root", new: "no" }),
            patch: () =>
              workspace.call(patchTool(), {
                patch: `*** Begin Patch\n*** Add File: ${path}/y\n+no\n*** End Patch\n`,
              }),
          });
          for (const path of ["/etc", "../..", "src/../../x", "out", "near", "/workspace/out"])
            for (const [name, call] of Object.entries(calls(path)))
              await expect(call(), `${name} ${path}`).rejects.toThrow();
          for (const path of ["out/passwd", "near/a.txt", "file"])
            await expect(workspace.call(viewTool(), { path })).rejects.toThrow();
          expect(await workspace.say(findTool(), { name: "passwd" })).toContain("[0 matches");
          expect(await workspace.read("src/a.txt")).toBe("inside\n");
        });
      },
    );
  });
});
