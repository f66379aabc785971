import { chmodSync, existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { EMPTY_TREE } from "../../session/index.js";
import { GitError, GitUnavailableError } from "../error.js";
import { importGit } from "./git-import.js";
import { folder, git, gitBytes, hasGit } from "./testing/git.js";
import { listed, memoryTrees } from "./testing/planted.js";

/** A repository with one commit of some files. */
function repository(
  files: { readonly [path: string]: string | Uint8Array },
  ...init: readonly string[]
): string {
  const path = folder();
  git(path, "init", "-q", ...init);
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(join(path, name, ".."), { recursive: true });
    writeFileSync(join(path, name), content);
  }
  git(path, "add", "-A", "-f");
  git(path, "commit", "-q", "--allow-empty", "-m", "one");
  return path;
}

/** Adds a tree object made of raw entries, which git itself would not let anybody add, and commits it. */
function commitRaw(
  path: string,
  entries: readonly (readonly [mode: string, name: string, id: string])[],
): string {
  const bytes = Buffer.concat(
    entries.flatMap(([mode, name, id]) => [Buffer.from(`${mode} ${name}\0`), Buffer.from(id, "hex")]),
  );
  const tree = gitBytes(path, ["hash-object", "-t", "tree", "-w", "--literally", "--stdin"], bytes)
    .toString()
    .trim();
  return git(path, "commit-tree", "-m", "raw", tree).trim();
}

describe.skipIf(!hasGit)("importing from git", () => {
  it("[G1] files, modes, links and odd names of a commit become a tree, byte for byte", async () => {
    const path = repository({
      "a.txt": "text\r\nwith ends\n",
      "deep/er/b": Uint8Array.of(0, 255, 10),
      "new\nline": "n\n",
      grün: "",
      ".gitattributes": "* text=auto eol=lf\n",
      ".gitignore": "ignored\n",
      ignored: "kept\n",
    });
    writeFileSync(join(path, "run"), "#!/bin/sh\n");
    chmodSync(join(path, "run"), 0o755);
    symlinkSync("../outside", join(path, "link"));
    writeFileSync(Buffer.concat([Buffer.from(`${path}/`), Buffer.of(0xff, 0xfe)]), "bytes\n");
    git(path, "-c", "core.autocrlf=false", "add", "-A");
    git(path, "commit", "-q", "-m", "two");
    const trees = memoryTrees();
    const imported = await importGit(trees, path, "HEAD");
    expect(await listed(trees, imported.tree)).toEqual([
      '.gitattributes 644 "* text=auto eol=lf\\n"',
      '.gitignore 644 "ignored\\n"',
      `a.txt 644 ${JSON.stringify(gitBytes(path, ["cat-file", "blob", "HEAD:a.txt"]).toString("latin1"))}`,
      "deep/ 755",
      "deep/er/ 755",
      `deep/er/b 644 ${JSON.stringify("\0\xff\n")}`,
      'grün 644 ""',
      'ignored 644 "kept\\n"',
      "link -> ../outside",
      'new\nline 644 "n\\n"',
      'run 755 "#!/bin/sh\\n"',
      '\udcff\udcfe 644 "bytes\\n"',
    ]);
    expect(imported).toMatchObject({ commit: git(path, "rev-parse", "HEAD").trim(), files: 10, skipped: [] });
    const first = await importGit(trees, path, "HEAD~");
    expect(first.files).toBe(7);
    expect((await importGit(trees, path, first.commit)).tree).toBe(first.tree);
  });

  it("[G1] a long file comes in pieces, equal ones are read once, and an empty commit is the empty tree", async () => {
    const long = Buffer.alloc(20_000_001, "0123456789abcdef");
    const path = repository({ long, again: long, small: "s" });
    const trees = memoryTrees();
    const imported = await importGit(trees, path);
    const [again] = await listed(trees, imported.tree);
    expect(again).toBe(`again 644 ${JSON.stringify(long.toString("latin1"))}`);
    expect(imported.bytes).toBe(2 * long.length + 1);
    expect((await importGit(trees, repository({}))).tree).toBe(EMPTY_TREE);
  });

  it("[G2] bare repositories, work trees beside the main one, tags, short ids and SHA-256", async () => {
    const path = repository({ a: "a\n" });
    git(path, "tag", "-m", "note", "v1");
    const trees = memoryTrees();
    const { tree } = await importGit(trees, path);
    const bare = folder();
    git(bare, "clone", "-q", "--bare", path, "copy.git");
    git(path, "worktree", "add", "-q", "--detach", join(bare, "beside"));
    const odd = join(bare, 'o:d"d\n');
    git(bare, "clone", "-q", path, odd);
    for (const [from, commit] of [
      [odd, "HEAD"],
      [join(bare, "copy.git"), "HEAD"],
      [join(bare, "beside"), "HEAD"],
      [path, "v1"],
      [path, git(path, "rev-parse", "--short", "HEAD").trim()],
      [join(path, ".git"), "HEAD"],
    ] as const)
      expect((await importGit(trees, from, commit)).tree, from).toBe(tree);
    expect((await importGit(trees, repository({ a: "a\n" }, "--object-format=sha256"))).tree).toBe(tree);
  });

  it("[G3] submodules and what git itself would refuse to write are left out and told", async () => {
    const path = repository({ a: "a\n" });
    const blob = git(path, "rev-parse", "HEAD:a").trim();
    const tree = git(path, "rev-parse", "HEAD^{tree}").trim();
    const commit = commitRaw(path, [
      ["100644", "..", blob],
      ["40000", ".GIT", tree],
      ["100644", ".git", blob],
      ["120000", "empty-link", gitBytes(path, ["hash-object", "-w", "--stdin"], "").toString().trim()],
      ["100644", "fine", blob],
      ["100644", "fine", blob],
      ["100664", "group", blob],
      ["160000", "module", git(path, "rev-parse", "HEAD").trim()],
      ["40000", "none", gitBytes(path, ["mktree"], "").toString().trim()],
    ]);
    const trees = memoryTrees();
    const imported = await importGit(trees, path, commit);
    expect(await listed(trees, imported.tree)).toEqual(['fine 644 "a\\n"', 'group 644 "a\\n"', "none/ 755"]);
    expect(imported.skipped.map(({ path: at, why }) => [at, why.slice(0, 20)])).toEqual([
      ["..", "git itself would ref"],
      [".GIT", "git itself would ref"],
      [".git", "git itself would ref"],
      ["fine", "something else has t"],
      ["module", "it is a submodule, a"],
      ["empty-link", "it is a link that le"],
    ]);
  });

  it("[G4] nothing of a hostile repository is run", async () => {
    const path = repository({ a: "a\n", ".gitattributes": "* filter=evil diff=evil merge=evil\n" });
    const ran = join(folder(), "ran");
    const evil = `touch ${ran}`;
    for (const [name, value] of Object.entries({
      "core.fsmonitor": evil,
      "core.pager": evil,
      "core.sshCommand": evil,
      "core.editor": evil,
      "core.askPass": evil,
      "core.alternateRefsCommand": evil,
      "core.gitProxy": evil,
      "core.hooksPath": join(path, "hooks"),
      "filter.evil.smudge": evil,
      "filter.evil.clean": evil,
      "filter.evil.process": evil,
      "filter.evil.required": "true",
      "diff.evil.textconv": evil,
      "diff.evil.command": evil,
      "diff.external": evil,
      "merge.evil.driver": evil,
      "credential.helper": `!${evil}`,
      "alias.rev-parse": `!${evil}`,
      "alias.cat-file": `!${evil}`,
      "gpg.program": evil,
      "log.showSignature": "true",
      "protocol.ext.allow": "always",
      "protocol.file.allow": "always",
      // Objects that are missing are fetched from here, by a program of its choice.
      "extensions.partialClone": "origin",
      "remote.origin.promisor": "true",
      "remote.origin.url": `ext::sh -c ${evil.replace(" ", "% ")}`,
      "remote.origin.uploadpack": evil,
    }))
      git(path, "config", name, value);
    git(path, "config", "core.repositoryFormatVersion", "1");
    for (const directory of [join(path, "hooks"), join(path, ".git", "hooks")]) {
      mkdirSync(directory, { recursive: true });
      for (const hook of ["post-checkout", "reference-transaction", "post-index-change", "pre-auto-gc"]) {
        writeFileSync(join(directory, hook), `#!/bin/sh\n${evil}\n`);
        chmodSync(join(directory, hook), 0o755);
      }
    }
    const trees = memoryTrees();
    expect((await importGit(trees, path)).files).toBe(2);
    const missing = commitRaw(path, [["100644", "gone", "12".repeat(20)]]);
    await expect(importGit(trees, path, missing)).rejects.toThrow(/1212.* is missing/);
    await expect(importGit(trees, path, "34".repeat(20))).rejects.toThrow(/no such commit/);
    git(path, "config", "remote.origin.url", path);
    await expect(importGit(trees, path, missing)).rejects.toThrow(/1212.* is missing/);
    expect(existsSync(ran)).toBe(false);
    // The same repository does run it when it is asked without care.
    expect(() => git(path, "cat-file", "-p", "12".repeat(20))).toThrow();
    expect(existsSync(ran)).toBe(true);
  });

  it("[G5] a folder that is not a repository, a missing commit, or an option in disguise is an error that says so", async () => {
    const trees = memoryTrees();
    const path = repository({ a: "a\n" });
    mkdirSync(join(path, "inside"));
    const empty = folder();
    vi.stubEnv("TMPDIR", folder());
    onTestFinished(() => {
      vi.unstubAllEnvs();
    });
    await importGit(trees, path);
    for (const [from, commit] of [
      [empty, "HEAD"],
      [join(path, "inside"), "HEAD"],
      [join(path, "nowhere"), "HEAD"],
      [join(path, "a"), "HEAD"],
      [path, "nothing"],
      [path, "--all"],
      [path, "HEAD:a"],
      [path, ""],
    ] as const)
      await expect(importGit(trees, from, commit), `${from} ${commit}`).rejects.toThrow(GitError);
    expect(readdirSync(tmpdir())).toEqual([]);
  });

  it("[G6] without git, an error says how to get it", async () => {
    const path = repository({ a: "a\n" });
    vi.stubEnv("PATH", folder());
    onTestFinished(() => {
      vi.unstubAllEnvs();
    });
    const error = await importGit(memoryTrees(), path).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(GitUnavailableError);
    expect((error as GitUnavailableError).hint).toContain("apt-get install git");
  });

  it("[G6] it can be cancelled", async () => {
    const path = repository({ a: "a\n" });
    await expect(importGit(memoryTrees(), path, "HEAD", { signal: AbortSignal.abort() })).rejects.toThrow(
      /cancelled/,
    );
  });
});
