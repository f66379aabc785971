import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { openRath } from "../../runtime/index.js";
import { digestOf, type Session } from "../../session/index.js";
import { type Module, sequence, withState } from "../../workflow/index.js";
import { all, factsOf } from "../../workflow/testing/ran.js";
import { agent } from "../index.js";
import { type LanguageModel, scripted } from "../model/index.js";
import { tool } from "../tool/index.js";
import type { Callable } from "../toolbox.js";
import { activeSkills, loadSkills, type Skills, skilled } from "./index.js";
import { folderOf, skillFile } from "./testing/folder.js";

/** Runs a module, takes the world away, and replays it to the same id. */
async function ranWithout(module: Module, folder: string): Promise<Session> {
  const rath = openRath({ store: "memory:" });
  try {
    const session = await rath.run(module, rath.start("go"), { name: "run" });
    rmSync(folder, { recursive: true, force: true });
    expect((await rath.replay("run", module, { mode: "verify" })).id).toBe(session.id);
    return session;
  } finally {
    await rath.close();
  }
}

const activate = (name: string) => ({ tool: "skill", input: { name } });
const readFile = (skill: string, path: string, from?: number) => ({
  tool: "skill_file",
  input: { skill, path, ...(from !== undefined && { from }) },
});

function coder(skills: Skills, model: LanguageModel, own: readonly Callable[] = [], aliases = {}): Module {
  return agent({
    name: "coder",
    model,
    instructions: skills.instructions("Base."),
    tools: skills.tools(own, aliases),
  });
}

function counting(name: string): { readonly tool: Callable; readonly calls: () => number } {
  let calls = 0;
  const made = tool({
    name,
    description: `Does ${name}.`,
    input: { type: "object" },
    effect: "write",
    run: () => `${name} ${++calls}`,
  });
  return { tool: made as Callable, calls: () => calls };
}

const outputs = (session: Session) => all(session, "tool-result").map(({ output }) => output);
const failures = (session: Session) => all(session, "tool-failure").map(({ error }) => error.code);

describe("loading", () => {
  it("[F2] [F3] loads what is whole and says why the rest is not", async () => {
    const folder = folderOf({
      "good/SKILL.md": skillFile(
        "good",
        "license: MIT\ncompatibility: Needs git\nmetadata:\n  author: ada\nallowed-tools: Read, Bash(git add:*) Write\n",
      ),
      "other-name/SKILL.md": skillFile("good"),
      "Upper/SKILL.md": skillFile("Upper"),
      "a--b/SKILL.md": skillFile("a--b"),
      "no-name/SKILL.md": "---\ndescription: x\n---\nbody",
      "no-description/SKILL.md": "---\nname: no-description\n---\nbody",
      "long/SKILL.md": `---\nname: long\ndescription: ${"x".repeat(1025)}\n---\nbody`,
      "just/SKILL.md": `---\nname: just\ndescription: ${"😀".repeat(1024)}\n---\nbody`,
      "compat/SKILL.md": skillFile("compat", `compatibility: ${"x".repeat(501)}\n`),
      "meta/SKILL.md": skillFile("meta", "metadata: text\n"),
      "typo/SKILL.md": skillFile("typo", "licence: MIT\n"),
      "yaml/SKILL.md": skillFile("yaml", "license: [MIT]\n"),
      "empty/SKILL.md": skillFile("empty", "", ""),
      "binary/SKILL.md": new Uint8Array([45, 45, 45, 10, 255, 254]),
      "huge/SKILL.md": skillFile("huge", "", "x".repeat(100_000)),
      "nothing/README.md": "no skill",
      "README.md": "not looked at",
      ".hidden/SKILL.md": "not looked at",
    });
    symlinkSync(join(folder, "good"), join(folder, "linked"));
    mkdirSync(join(folder, "inner"));
    symlinkSync(join(folder, "good/SKILL.md"), join(folder, "inner/SKILL.md"));
    const { list, problems } = await loadSkills(folder);
    expect(list).toEqual([
      {
        name: "good",
        description: "What good is for.",
        license: "MIT",
        compatibility: "Needs git",
        metadata: { author: "ada" },
        allowedTools: ["Read", "Bash(git add:*)", "Write"],
        folder,
        digest: expect.stringMatching(/^[0-9a-f]{64}$/),
      },
      expect.objectContaining({ name: "just" }),
    ]);
    const codes = Object.fromEntries(problems.map(({ name, code }) => [name, code]));
    expect(codes).toEqual({
      "other-name": "field",
      Upper: "field",
      "a--b": "field",
      "no-name": "field",
      "no-description": "field",
      long: "field",
      compat: "field",
      meta: "field",
      typo: "field",
      yaml: "frontmatter",
      empty: "field",
      binary: "not-text",
      huge: "too-large",
      nothing: "skill-file-missing",
      linked: "link",
      inner: "link",
    });
    expect(problems.find(({ name }) => name === "typo")?.message).toContain('did you mean "license"');
  });

  it("[F3] takes the first of two skills of one name, and misses no folder in silence", async () => {
    const first = folderOf({ "a/SKILL.md": skillFile("a", "", "first") });
    const second = folderOf({ "a/SKILL.md": skillFile("a", "", "second"), "b/SKILL.md": skillFile("b") });
    const { list, problems } = await loadSkills([first, second, join(first, "not-there")]);
    expect(list.map(({ name, folder }) => [name, folder])).toEqual([
      ["a", first],
      ["b", second],
    ]);
    expect(problems.map(({ code }) => code)).toEqual(["name-taken", "folder-missing"]);
  });

  it("[F4] loads or reports any bytes", async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 80 }), async (bytes) => {
        const folder = folderOf({ "a/SKILL.md": bytes });
        const { list, problems } = await loadSkills(folder);
        expect(list.length + problems.length).toBe(1);
      }),
      { numRuns: 50 },
    );
  });

  it("[O1] refuses what makes no sense", async () => {
    await expect(loadSkills("")).rejects.toMatchObject({ code: "skill-refused" });
    await expect(loadSkills([])).rejects.toMatchObject({ code: "skill-refused" });
    expect(() => skilled("", "x", () => sequence([]))).toThrow("no name");
    expect(() => skilled("a", "x", undefined as never)).toThrow("nothing that takes them");
  });
});

describe("activation", () => {
  it("[A1] tells the names and descriptions, and nothing else", async () => {
    const folder = folderOf({
      "a/SKILL.md": skillFile("a", "", "Secret words."),
      "b/SKILL.md": "---\nname: b\ndescription: |\n  Two\n  lines.\n---\nbody",
    });
    const skills = await loadSkills(folder);
    expect(skills.instructions("Base.")).toMatch(
      /^Base\.\n\nYou have skills.*\n- a: What a is for\.\n- b: Two lines\.$/s,
    );
    const none = await loadSkills(folderOf({ "x/README.md": "" }));
    expect([none.instructions("Base."), none.tools()]).toEqual(["Base.", []]);
  });

  it("[A2] [A6] is a fact with the digest and the instructions", async () => {
    const text = skillFile("a", "", "Read references/api.md first.");
    const folder = folderOf({
      "a/SKILL.md": text,
      "a/references/api.md": "The API.",
      "a/scripts/run.sh": "echo",
    });
    const skills = await loadSkills(folder);
    const module = coder(skills, scripted(activate("a"), readFile("a", "references/api.md"), "Done."));
    const session = await ranWithout(module, folder);
    expect(all(session, "skill-activate")).toMatchObject([
      {
        name: "a",
        source: join(folder, "a/SKILL.md"),
        digest: digestOf(text),
        instructions: "Read references/api.md first.",
        by: "workflow:skill",
      },
    ]);
    const [call] = [...session.history()].filter(({ fact }) => fact.type === "tool-call");
    expect(all(session, "skill-activate")[0]?.of).toBe(call?.id);
    expect(outputs(session)).toEqual([
      {
        skill: "a",
        instructions: "Read references/api.md first.",
        files: ["references/api.md", "scripts/run.sh"],
      },
      { path: "references/api.md", digest: digestOf("The API."), characters: 8, text: "The API." },
    ]);
  });

  it("[A6] finds out which skills there are through the door", async () => {
    const folder = folderOf({ "a/SKILL.md": skillFile("a"), "bad/SKILL.md": "" });
    const module = skilled("team", folder, (skills) => coder(skills, scripted(activate("a"), "Done.")));
    const session = await ranWithout(module, folder);
    expect(all(session, "step-result")[0]?.value).toMatchObject({
      skills: [{ name: "a" }],
      problems: [{ name: "bad", code: "frontmatter" }],
    });
    expect(all(session, "skill-activate")).toHaveLength(1);
  });

  it("[A3] does not take another skill for the one that was loaded", async () => {
    const folder = folderOf({ "a/SKILL.md": skillFile("a"), "b/SKILL.md": skillFile("b") });
    const skills = await loadSkills(folder);
    writeFileSync(join(folder, "a/SKILL.md"), skillFile("a", "", "Delete everything."));
    rmSync(join(folder, "b"), { recursive: true });
    const session = await ranWithout(
      coder(skills, scripted(activate("a"), activate("b"), activate("c"), "Done.")),
      folder,
    );
    expect(all(session, "skill-activate")).toEqual([]);
    expect(failures(session)).toHaveLength(3);
    expect(all(session, "tool-failure")[0]?.error.message).toContain("changed since it was loaded");
  });

  it("[A4] reads files of an active skill, and none beside it", async () => {
    const folder = folderOf({
      "a/SKILL.md": skillFile("a"),
      "a/long.md": `${"x".repeat(39_999)}😀end`,
      "a/picture.png": new Uint8Array([137, 80, 0, 255]),
      "a/huge.txt": new Uint8Array(2_000_001).fill(65),
      "secret.txt": "secret",
    });
    symlinkSync(join(folder, "secret.txt"), join(folder, "a/link.txt"));
    symlinkSync(folder, join(folder, "a/up"));
    const skills = await loadSkills(folder);
    const bad = [
      "../secret.txt",
      "link.txt",
      "up/secret.txt",
      "/etc/passwd",
      "picture.png",
      "huge.txt",
      "none",
      "",
      "a\0b",
    ];
    const session = await ranWithout(
      coder(
        skills,
        scripted(
          readFile("a", "long.md"),
          activate("a"),
          { call: bad.map((path) => readFile("a", path)) },
          readFile("a", "long.md"),
          readFile("a", "long.md", 39_999),
          "Done.",
        ),
      ),
      folder,
    );
    expect(failures(session)[0]).toBe("skill-inactive");
    expect(failures(session)).toHaveLength(1 + bad.length);
    expect(JSON.stringify(factsOf(session))).not.toContain('"secret"');
    const [, first, second] = outputs(session) as { text: string; next?: number }[];
    expect([first?.text, first?.next]).toEqual(["x".repeat(39_999), 39_999]);
    expect([second?.text, second?.next]).toEqual(["😀end", undefined]);
  });

  it("[A5] ends with the work of the module that activated it", async () => {
    const folder = folderOf({ "a/SKILL.md": skillFile("a", "allowed-tools: none\n") });
    const skills = await loadSkills(folder);
    const act = counting("act");
    const seen: (readonly string[])[] = [];
    const look = tool({
      name: "none",
      description: "Looks.",
      input: { type: "object" },
      effect: "read",
      run: (_input, { session }) => {
        seen.push(activeSkills(session));
        return "looked";
      },
    }) as Callable;
    const own = [look, act.tool];
    const inner = agent({
      name: "inner",
      model: scripted(activate("a"), { tool: "none" }, "ok"),
      tools: skills.tools([look]),
    });
    const outer = agent({
      name: "outer",
      model: scripted({ tool: "inner", input: { task: "x" } }, { tool: "none" }, { tool: "act" }, "ok"),
      tools: skills.tools([...own, inner]),
    });
    const next = agent({ name: "next", model: scripted({ tool: "act" }, "ok"), tools: skills.tools(own) });
    const first = agent({
      name: "first",
      model: scripted(activate("a"), { tool: "none" }, "ok"),
      tools: skills.tools(own),
    });
    await ranWithout(sequence([outer, first, next]), folder);
    expect(seen).toEqual([["a"], [], ["a"]]);
    expect(act.calls()).toBe(2);
  });
});

describe("narrowing", () => {
  it("[N1] refuses what an active skill does not list", async () => {
    const folder = folderOf({ "a/SKILL.md": skillFile("a", "allowed-tools: safe\n") });
    const [safe, risky] = [counting("safe"), counting("risky")];
    const skills = await loadSkills(folder);
    const session = await ranWithout(
      coder(
        skills,
        scripted({ tool: "risky" }, activate("a"), { call: [{ tool: "risky" }, { tool: "safe" }] }, "Done."),
        [safe.tool, risky.tool],
      ),
      folder,
    );
    expect([safe.calls(), risky.calls()]).toEqual([1, 1]);
    expect(failures(session)).toEqual(["skill-tool-refused"]);
    expect(session.pending).toEqual([]);
  });

  it("[N2] needs the consent of every active skill that says something", async () => {
    const folder = folderOf({
      "a/SKILL.md": skillFile("a", "allowed-tools: one two\n"),
      "b/SKILL.md": skillFile("b", "allowed-tools: two three\n"),
      "c/SKILL.md": skillFile("c"),
    });
    const [one, two, three] = [counting("one"), counting("two"), counting("three")];
    const every = { call: [{ tool: "one" }, { tool: "two" }, { tool: "three" }] };
    const skills = await loadSkills(folder);
    await ranWithout(
      coder(
        skills,
        scripted(
          activate("c"),
          every,
          activate("a"),
          every,
          activate("c"),
          every,
          activate("b"),
          every,
          "Done.",
        ),
        [one.tool, two.tool, three.tool],
      ),
      folder,
    );
    expect([one.calls(), two.calls(), three.calls()]).toEqual([3, 4, 1]);
  });

  it("[N3] takes no pattern for a permission, and knows a tool by another name", async () => {
    const folder = folderOf({ "a/SKILL.md": skillFile("a", "allowed-tools: Bash(git:*) Read\n") });
    const [shell, view] = [counting("shell"), counting("view")];
    const skills = await loadSkills(folder);
    const session = await ranWithout(
      coder(
        skills,
        scripted(activate("a"), { tool: "shell" }, { tool: "view" }, "Done."),
        [shell.tool, view.tool],
        { Bash: "shell", Read: "view" },
      ),
      folder,
    );
    expect([shell.calls(), view.calls()]).toEqual([0, 1]);
    expect(failures(session)).toEqual(["skill-tool-refused"]);
  });

  it("[N4] holds for agents among the tools, and for what withState makes of them", async () => {
    const folder = folderOf({ "a/SKILL.md": skillFile("a", "allowed-tools: other\n") });
    const helper = agent({ name: "helper", model: scripted("I helped."), instructions: "Help." });
    const skills = await loadSkills(folder);
    const module = coder(skills, scripted(activate("a"), { tool: "helper", input: { task: "x" } }, "Done."), [
      helper,
    ]);
    for (const one of [module, withState(module, { "helper.instructions": "Help more." })]) {
      const rath = openRath({ store: "memory:" });
      const session = await rath.run(one, rath.start("go"));
      expect(failures(session)).toEqual(["skill-tool-refused"]);
      expect(all(session, "agent-configure").map(({ agent: name }) => name)).toEqual(["coder"]);
      await rath.close();
    }
  });
});
