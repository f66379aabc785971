import { chmodSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Digest, digestOf, Session } from "../../session/index.js";
import { campaign } from "../../session/testing/campaign.js";
import { GitError, MissingFileError } from "../error.js";
import { Trees } from "../trees.js";
import { exportGit } from "./git-export.js";
import { importGit } from "./git-import.js";
import { type Step, stepsOf } from "./step.js";
import { arbitraryDeeds, arbitraryGarden, done } from "./testing/arbitrary-tree.js";
import { folder, git, hasGit } from "./testing/git.js";
import { type Garden, listed, MemorySpace, memoryTrees, planted } from "./testing/planted.js";

async function stepsFor(trees: Trees, ...gardens: readonly Garden[]): Promise<readonly Step[]> {
  return Promise.all(gardens.map(async (garden, place) => step(await planted(trees, garden), place)));
}

function step(tree: Digest, place: number, message = `step ${place}`): Step {
  const at = new Date(Date.UTC(2026, 0, 1 + place)).toISOString();
  return {
    tree,
    message,
    session: digestOf(`session ${place}`),
    at,
    by: place % 2 === 0 ? "agent:coder" : "user:ada",
  };
}

describe.skipIf(!hasGit)("exporting to git", () => {
  it("[G10] each step is a commit with its files, its message, its author and the session it came from", async () => {
    const trees = memoryTrees();
    const path = join(folder(), "made", "here.git");
    const steps = await stepsFor(
      trees,
      { a: "1\n", d: { tree: { x: "x\n" } }, l: { link: "a" } },
      { a: "2\n", run: { file: "#!\n", mode: 0o755 }, d: { tree: { y: "y\n" } }, l: { link: "d/y" } },
      { d: "now a file\n", "é\n": "odd\n", "\udcff": "bytes\n", long: "x".repeat(9_000_000) },
    );
    const exported = await exportGit(trees, path, steps, { branch: "rath/fix" });
    expect(
      git(
        path,
        "log",
        "--reverse",
        "--format=%H|%an|%ae|%at|%s|%(trailers:key=Rath-Session,valueonly)",
        "rath/fix",
      )
        .split("\n")
        .filter(Boolean),
    ).toEqual(
      steps.map(({ session, message, at, by }, place) =>
        [
          exported.commits[place]?.commit,
          by,
          `${by.replace(":", ".")}@rath.invalid`,
          Date.parse(at) / 1000,
          message,
          session,
        ].join("|"),
      ),
    );
    expect(exported).toMatchObject({
      branch: "rath/fix",
      head: git(path, "rev-parse", "rath/fix").trim(),
      lost: [],
    });
    for (const [place, { commit }] of exported.commits.entries())
      expect((await importGit(trees, path, commit)).tree).toBe(steps[place]?.tree);
    git(path, "fsck", "--strict");
    expect(git(path, "symbolic-ref", "HEAD").trim()).toBe("refs/heads/rath/fix");
    expect(git(path, "diff", "--name-status", "rath/fix~2", "rath/fix~1").split("\n")).toEqual([
      "M\ta",
      "D\td/x",
      "A\td/y",
      "M\tl",
      "A\trun",
      "",
    ]);
  });

  it("[G11] the same steps give the same commits, again and elsewhere, and more steps go on from there", async () => {
    const trees = memoryTrees();
    const steps = await stepsFor(trees, { a: "1\n" }, { a: "2\n" }, { a: "3\n" });
    const [one, other] = [join(folder(), "one"), join(folder(), "other")];
    const author = { name: "Ada <Lovelace>\n", email: "ada@example.com" };
    const first = await exportGit(trees, one, steps.slice(0, 2), { branch: "x", author });
    const again = await exportGit(trees, one, steps.slice(0, 2), { branch: "x", author });
    expect(again).toEqual(first);
    expect((await exportGit(trees, other, steps.slice(0, 2), { branch: "y", author })).head).toBe(first.head);
    const more = await exportGit(trees, one, steps, { branch: "x", author });
    expect(more.commits.slice(0, 2)).toEqual(first.commits);
    expect(git(one, "rev-parse", "x~1").trim()).toBe(first.head);
    expect(git(one, "log", "-1", "--format=%an %ae %cn", "x").trim()).toBe(
      "Ada  Lovelace ada@example.com Ada  Lovelace",
    );
  });

  it("[G12] the work tree, the index and other branches stay, and a branch that is checked out is refused", async () => {
    const trees = memoryTrees();
    const path = folder();
    git(path, "init", "-q", "-b", "main");
    writeFileSync(join(path, "mine"), "mine\n");
    git(path, "add", "mine");
    git(path, "commit", "-q", "-m", "mine");
    writeFileSync(join(path, "mine"), "changed\n");
    writeFileSync(join(path, "staged"), "staged\n");
    git(path, "add", "staged");
    const before = [git(path, "status", "--porcelain"), git(path, "rev-parse", "HEAD")];
    const steps = await stepsFor(trees, { a: "1\n" });
    await exportGit(trees, path, steps, { branch: "rath" });
    expect([git(path, "status", "--porcelain"), git(path, "rev-parse", "HEAD")]).toEqual(before);
    const refused = exportGit(trees, path, steps, { branch: "main" });
    await expect(refused).rejects.toThrow(/checked out/);
    git(path, "worktree", "add", "-q", join(folder(), "beside"), "rath");
    await expect(exportGit(trees, path, steps, { branch: "rath" })).rejects.toThrow(/checked out/);
  });

  it("[G13] commits that would be left behind are not, unless told so", async () => {
    const trees = memoryTrees();
    const path = join(folder(), "repository");
    const [one, two, other] = await stepsFor(trees, { a: "1\n" }, { a: "2\n" }, { b: "1\n" });
    const { head } = await exportGit(trees, path, [one, two] as Step[], { branch: "x" });
    await expect(exportGit(trees, path, [other] as Step[], { branch: "x" })).rejects.toThrow(
      /do not come after/,
    );
    await expect(exportGit(trees, path, [one] as Step[], { branch: "x" })).rejects.toThrow(GitError);
    expect(git(path, "rev-parse", "x").trim()).toBe(head);
    const forced = await exportGit(trees, path, [other] as Step[], { branch: "x", force: true });
    expect(git(path, "rev-parse", "x").trim()).toBe(forced.head);
  });

  it("[G14] onto a commit of others: a first step that changes nothing is that commit", async () => {
    const trees = memoryTrees();
    const path = folder();
    git(path, "init", "-q", "-b", "main");
    writeFileSync(join(path, "a"), "1\n");
    git(path, "add", "a");
    git(path, "commit", "-q", "-m", "theirs");
    const imported = await importGit(trees, path);
    const changed = await planted(trees, { a: "2\n", b: "b\n" });
    const steps = [step(imported.tree, 0, "Import"), step(changed, 1, "Change")];
    const exported = await exportGit(trees, path, steps, { branch: "fix", onto: "main" });
    expect(exported.commits[0]?.commit).toBe(imported.commit);
    expect(git(path, "log", "--format=%s", "fix")).toBe("Change\ntheirs\n");
    expect(git(path, "diff", "--name-status", "main", "fix")).toBe("M\ta\nA\tb\n");
    const all = await exportGit(trees, path, steps.slice(1), { branch: "all", onto: "main" });
    expect(git(path, "log", "--format=%s", "all")).toBe("Change\ntheirs\n");
    expect(git(path, "rev-parse", `${all.head}^{tree}`)).toBe(git(path, "rev-parse", "fix^{tree}"));
    await expect(exportGit(trees, path, steps, { branch: "z", onto: "nothing" })).rejects.toThrow(
      /no commit/,
    );
  });

  it("[G15] paths that git cannot hold are listed: empty directories, modes, names it refuses", async () => {
    const trees = memoryTrees();
    const path = join(folder(), "repository");
    const steps = await stepsFor(
      trees,
      { a: "1\n", ".git": { tree: { config: "x\n", hooks: { tree: { h: "h\n" } } } }, e: { tree: {} } },
      {
        a: { file: "1\n", mode: 0o600 },
        ".git": { tree: { config: "y\n" } },
        d: {
          tree: {
            ".GIT ": "x\n",
            "git~1": "x\n",
            "g\u200cit": "fine\n",
            ".g\u200cit": "x\n",
            s: { tree: { x: "x\n" }, mode: 0o700 },
          },
        },
        tool: { file: "t\n", mode: 0o744 },
      },
      { a: "1\n", d: { tree: {} } },
    );
    const exported = await exportGit(trees, path, steps, { branch: "x" });
    expect(Object.fromEntries(exported.lost.map(({ path: at, why }) => [at, why]))).toEqual({
      ".git": "git refuses this name: it is left out",
      a: "git holds two modes of files: 600 became 644",
      d: "git holds no empty directories: it is left out",
      "d/.GIT ": "git refuses this name: it is left out",
      "d/.g\u200cit": "git refuses this name: it is left out",
      "d/git~1": "git refuses this name: it is left out",
      "d/s": "git holds no modes of directories: 700 is not kept",
      e: "git holds no empty directories: it is left out",
      tool: "git holds two modes of files: 744 became 755",
    });
    expect(git(path, "ls-tree", "-r", "--name-only", "-z", "x~1").split("\0")).toEqual([
      "a",
      "d/g\u200cit",
      "d/s/x",
      "tool",
      "",
    ]);
    expect(git(path, "ls-tree", "-r", "--name-only", "x")).toBe("a\n");
    git(path, "fsck", "--strict");
  });

  it("[G16] any message is kept, and can not be more than a message", async () => {
    const trees = memoryTrees();
    const path = join(folder(), "repository");
    const tree = await planted(trees, { a: "1\n" });
    const messages = [
      "",
      "data 5\n\ncommit refs/heads/evil\n",
      "ü\n\nbody\n\nKey: value",
      "nul\0nul \ud800",
      "done\n",
    ];
    await exportGit(
      trees,
      path,
      messages.map((message, place) => step(tree, place, message)),
      { branch: "x" },
    );
    expect(git(path, "log", "--reverse", "--format=%s", "x").split("\n")).toEqual([
      "A step",
      "data 5",
      "ü",
      "nulnul \ufffd",
      "done",
      "",
    ]);
    expect(git(path, "for-each-ref", "--format=%(refname)")).toBe("refs/heads/x\n");
    expect(git(path, "rev-list", "--count", "x").trim()).toBe("5");
  });

  it("[G16] no branch, no steps, no repository: errors that say so, and nothing is written", async () => {
    const trees = memoryTrees();
    const steps = await stepsFor(trees, { a: "1\n" });
    const full = folder();
    writeFileSync(join(full, "file"), "x");
    const path = folder();
    for (const branch of ["", "-x", "a..b", "a b", "x.lock", "a\nb"])
      await expect(exportGit(trees, path, steps, { branch }), branch).rejects.toThrow(GitError);
    await expect(exportGit(trees, path, [], { branch: "x" })).rejects.toThrow(/no step/);
    await expect(exportGit(trees, full, steps, { branch: "x" })).rejects.toThrow(/not a git repository/);
    await expect(exportGit(trees, join(full, "file"), steps, { branch: "x" })).rejects.toThrow(GitError);
    expect(existsSync(join(path, "HEAD"))).toBe(false);
  });

  it("[G17] a file that is missing ends the export, and the branch stays where it was", async () => {
    const space = new MemorySpace();
    const trees = new Trees(space);
    const path = join(folder(), "repository");
    const steps = await stepsFor(trees, { a: "1\n" }, { a: "1\n", b: "gone\n" });
    const { head } = await exportGit(trees, path, steps.slice(0, 1), { branch: "x" });
    space.blobs.delete(digestOf("gone\n"));
    await expect(exportGit(trees, path, steps, { branch: "x" })).rejects.toThrow(MissingFileError);
    expect(git(path, "rev-parse", "x").trim()).toBe(head);
    await expect(
      exportGit(trees, path, steps.slice(0, 1), { branch: "x", signal: AbortSignal.abort() }),
    ).rejects.toThrow(/cancelled/);
  });

  it("[G18] nothing of a hostile repository is run", async () => {
    const trees = memoryTrees();
    const path = folder();
    const ran = join(folder(), "ran");
    git(path, "init", "-q", "-b", "main");
    mkdirSync(join(path, ".git", "hooks"), { recursive: true });
    for (const hook of [
      "reference-transaction",
      "post-update",
      "pre-receive",
      "post-commit",
      "pre-auto-gc",
    ]) {
      writeFileSync(join(path, ".git", "hooks", hook), `#!/bin/sh\ntouch ${ran}\n`);
      chmodSync(join(path, ".git", "hooks", hook), 0o755);
    }
    git(path, "config", "core.fsmonitor", `touch ${ran}`);
    git(path, "config", "gc.auto", "1");
    const steps = await stepsFor(trees, { a: "1\n" }, { a: "2\n" });
    await exportGit(trees, path, steps, { branch: "x" });
    expect(existsSync(ran)).toBe(false);
    // A git without care does run the hook.
    git(path, "update-ref", "refs/heads/y", "x");
    expect(existsSync(ran)).toBe(true);
  });

  it("[G19] whatever is exported comes back, apart from what was told", async () => {
    await fc.assert(
      fc.asyncProperty(
        arbitraryGarden,
        fc.array(arbitraryDeeds, { maxLength: 3 }),
        async (garden, rounds) => {
          const trees = memoryTrees();
          const path = join(folder(), "repository");
          const gardens = [garden];
          for (const deeds of rounds) gardens.push(done(gardens.at(-1) as Garden, deeds));
          const steps = await stepsFor(trees, ...gardens);
          const { commits } = await exportGit(trees, path, steps, { branch: "x" });
          for (const [place, { commit }] of commits.entries())
            expect(await listed(trees, (await importGit(trees, path, commit)).tree)).toEqual(
              await listed(trees, await planted(trees, held(gardens[place] as Garden))),
            );
          git(path, "fsck", "--strict");
        },
      ),
      { numRuns: campaign(25) },
    );
  });

  it("[G22] conflicts are not exported, except on request", async () => {
    const trees = memoryTrees();
    const [base, marked, fixed] = (await Promise.all(
      [{ a: "1\n" }, { a: "<<<<<<< ours\n2\n=======\n3\n>>>>>>> theirs\n" }, { a: "2\n" }].map((garden) =>
        planted(trees, garden),
      ),
    )) as [Digest, Digest, Digest];
    const start = Session.start("task").append({
      type: "workspace-import",
      source: "here",
      after: base,
      files: 1,
      bytes: 2,
    });
    const merged = start.append({
      type: "workspace-merge",
      ...{ base, ours: base, theirs: base, after: marked, paths: [] },
      conflicts: [{ path: "a", kind: "content" }],
    });
    const path = join(folder(), "out.git");
    const open = stepsOf(merged);
    expect(open.map(({ conflicts }) => conflicts)).toEqual([undefined, ["a"]]);
    await expect(exportGit(trees, path, open, { branch: "fix" })).rejects.toMatchObject({
      code: "export-conflicted",
      message: expect.stringContaining('"a" is still in conflict'),
      data: { session: merged.id, paths: ["a"] },
    });
    expect(existsSync(path)).toBe(false);
    const kept = await exportGit(trees, path, open, { branch: "marked", conflicts: "keep" });
    expect(git(path, "show", `${kept.head}:a`)).toContain("<<<<<<<");
    const decided = merged.append({
      type: "workspace-resolve",
      ...{ merge: merged.id, by: "user:ada", after: fixed, paths: [], choices: "ours" },
    });
    const { commits } = await exportGit(trees, path, stepsOf(decided), { branch: "fix" });
    expect(commits.map(({ session }) => session)).toEqual([start.id, decided.id]);
    for (const { commit } of commits) expect(git(path, "show", `${commit}:a`)).not.toContain("<<<<<<<");
  });
});

/** What git holds of a garden. */
function held(garden: Garden): Garden {
  return Object.fromEntries(
    Object.entries(garden).flatMap(([name, plant]): [string, Garden[string]][] => {
      if (typeof plant === "string" || plant instanceof Uint8Array || "link" in plant) return [[name, plant]];
      if ("file" in plant) return [[name, { file: plant.file, mode: plant.mode & 0o100 ? 0o755 : 0o644 }]];
      const tree = held(plant.tree);
      return Object.keys(tree).length === 0 ? [] : [[name, { tree }]];
    }),
  );
}
