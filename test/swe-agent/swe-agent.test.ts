import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { agent, type Json, openRath, scripted } from "openrath";
import { patchOf, Trees } from "openrath/sandbox";
import { sandboxTools } from "openrath/tool";
import { describe, expect, it } from "vitest";
import { lacking, type Workspace, within } from "../../src/agent/tool/sandbox/testing/workspace.js";
import { Driver } from "./drive.js";
import { inside, linesBefore, rebuilt, windowsIn } from "./past.js";
import { missing, readTrajectory, type Step } from "./trajectory.js";

const why = missing ?? (await lacking("git", "python3"));

/** A recorded run, and what of its repository has to be made up because the recording does not show it. */
type Recorded = {
  readonly file: string;
  readonly path: string;
  readonly executable?: true;
  /** Lines around the known ones without which those would be no program. Everything else unknown is a comment. */
  readonly scaffold: { readonly [line: number]: string };
  /** Files that the recording names and does not show. */
  readonly others: readonly string[];
  /** Commands that need more of the repository than the recording shows. */
  readonly left: readonly string[];
};

const RUNS: readonly Recorded[] = [
  {
    // All of the file is shown: its git id proves that it is the one.
    file: "function_calling_simple.traj",
    path: "tests/missing_colon.py",
    executable: true,
    scaffold: {},
    others: [],
    left: [],
  },
  {
    // 156 of 1997 lines are shown, from within a table of a class to the first line of a condition.
    file: "mm1867_function_calling_replace__install-1__run.traj",
    path: "src/marshmallow/fields.py",
    scaffold: {
      1400: "class Unknown:",
      1401: "    default_error_messages = {",
      1558: "            pass",
    },
    others: [
      ...[
        "AUTHORS.rst",
        "LICENSE",
        "RELEASING.md",
        "setup.py",
        "CHANGELOG.rst",
        "MANIFEST.in",
        "azure-pipelines.yml",
      ],
      ...[
        "pyproject.toml",
        "CODE_OF_CONDUCT.md",
        "NOTICE",
        "CONTRIBUTING.rst",
        "README.rst",
        "setup.cfg",
        "tox.ini",
      ],
      ...["performance/unknown", "docs/unknown", "examples/unknown", "tests/unknown"],
    ],
    left: ["python reproduce.py"],
  },
  {
    // 136 of 372 lines are shown, from within the docstring of the function that the diff names.
    file: "swe-bench-dev-easy_first_only__default__t-0.00__p-0.95__c-3.00__install-1__pydicom__pydicom-1458.traj",
    path: "pydicom/pixel_data_handlers/numpy_handler.py",
    scaffold: {
      230: 'def get_pixeldata(ds: "Dataset", read_only: bool = False) -> "np.ndarray":',
      231: '    """',
    },
    others: ["pydicom/overlays/numpy_handler.py", "pydicom/waveforms/numpy_handler.py"],
    left: ["python reproduce_bug.py"],
  },
];

describe.skipIf(why !== undefined)(
  `recorded runs of SWE-agent${why === undefined ? "" : ` (${why})`}`,
  () => {
    it.each(RUNS)("[G1] $file ends in the recorded diff", async (recorded) => {
      const { submission } = readTrajectory(recorded.file);
      await within("local", async (workspace) => {
        const { driver, run, before } = await prepared(workspace, recorded);
        const outputs: string[] = [];
        for (const { action, observation } of run.steps) {
          if (action.type === "command" && recorded.left.includes(action.command)) continue;
          const outcome = await driver.act(action);
          if (!outcome.done) continue;
          outputs.push(outcome.output);
          if (action.type === "find")
            expect(outcome.output.split("\n").slice(1).sort()).toEqual(found(observation, run.root));
          if (action.type === "command" && action.command === "ls -F")
            expect(names(outcome.output.replace(/\n\[exit code 0\]$/, ""))).toEqual(names(observation));
          if (action.type === "command" && action.command.startsWith("python"))
            expect(outcome.output).toBe(`${observation.trim()}\n[exit code 0]`);
        }
        const handedIn = `${(outputs.at(-1) ?? "").replace(/\n?\[exit code 0\]$/, "")}\n`;
        // Ids of whole files are the same where the whole file is known.
        const whole = Object.keys(recorded.scaffold).length === 0;
        expect(ending(whole ? handedIn : withoutIds(handedIn))).toBe(
          ending(whole ? submission : withoutIds(submission)),
        );
        // The trees of the workspace say the same, without asking git.
        const { tree } = await workspace.sandbox.snapshot();
        const made = await patchOf(workspace.trees, before, tree, { paths: [recorded.path] });
        expect(changesIn(made)).toEqual(changesIn(submission));
        expect(changesIn(made).length).toBeGreaterThan(3);
      });
    });

    it.each(RUNS)("[G2] $file: edits are refused and made as they were", async (recorded) => {
      await within("local", async (workspace) => {
        const { driver, run } = await prepared(workspace, recorded);
        const verdicts: string[] = [];
        for (const { action, observation } of run.steps) {
          if (action.type === "command" || action.type === "submit") continue;
          const before = driver.open === "" ? "" : await workspace.read(driver.open).catch(() => "");
          const outcome = await driver.act(action);
          const [, error] = /^- E999 (.*)$/m.exec(observation) ?? [];
          expect(outcome.done, observation.slice(0, 200)).toBe(error === undefined);
          if (outcome.done || error === undefined) continue;
          expect(outcome.message).toContain(error);
          expect(await workspace.read(driver.open)).toBe(before);
          verdicts.push(error);
        }
        expect(verdicts).toEqual(
          run.steps.flatMap(({ observation }) => /^- E999 (.*)$/m.exec(observation)?.[1] ?? []),
        );
      });
    });

    it.each(RUNS)("[G3] $file: windows show what they showed", async (recorded) => {
      await within("local", async (workspace) => {
        const { driver, run } = await prepared(workspace, recorded);
        let compared = 0;
        for (const step of run.steps) {
          if (step.action.type === "command" || step.action.type === "submit") continue;
          await driver.act(step.action);
          for (const { path, total, lines } of shownNow(step, run.root)) {
            const [start = 1] = lines.keys();
            const view = await driver.call("view", { path, start, lines: lines.size });
            const shown = [...lines].map(([number, text]) => `${number}:${text}`).join("\n");
            expect(view.done && view.output).toContain(`of ${total}]`);
            expect(view.done && view.output).toContain(shown);
            compared += lines.size;
          }
        }
        expect(compared).toBeGreaterThan(15);
      });
    });

    it.each(RUNS)("[G4] $file: an agent that does the same leaves it on the record", async (recorded) => {
      const folder = mkdtempSync(join(tmpdir(), "swe-agent-"));
      const rath = openRath({ store: `sqlite:${join(folder, "rath.db")}` });
      try {
        const { steps, submission, root } = readTrajectory(recorded.file);
        const text = rebuilt(linesBefore(readTrajectory(recorded.file), recorded.path), recorded.scaffold);
        const workspace = join(folder, "repository");
        mkdirSync(dirname(join(workspace, recorded.path)), { recursive: true });
        writeFileSync(join(workspace, recorded.path), text, {
          mode: recorded.executable === true ? 0o755 : 0o644,
        });
        const calls = steps
          .filter(
            ({ action }) =>
              action.type !== "submit" &&
              !(action.type === "command" && recorded.left.includes(action.command)),
          )
          .reduce(translated({ root, path: recorded.path, text }), { open: "", calls: [] }).calls;
        const engineer = agent({
          name: "engineer",
          model: scripted([...calls, "Done."]),
          tools: sandboxTools(),
          maxSteps: 50,
        });
        const session = await rath.run(engineer, rath.start("Fix it.").to("local", { workspace }), {
          name: "fix",
        });
        const facts = [...session.history()].map(({ fact }) => fact);
        const changes = facts.flatMap((fact) =>
          fact.type === "workspace-change" && fact.paths.some(({ path }) => path === recorded.path)
            ? [fact]
            : [],
        );
        expect(changes).toMatchObject([
          { by: "tool:edit", paths: [{ path: recorded.path, change: "modify" }] },
        ]);
        const [change] = changes;
        const made = await patchOf(
          new Trees(await rath.store()),
          change?.before ?? null,
          change?.after ?? null,
        );
        expect(changesIn(made)).toEqual(changesIn(submission));
        const refused = facts.filter((fact) => fact.type === "tool-failure");
        expect(refused).toHaveLength(
          steps.filter(({ observation }) => observation.includes("NOT been applied")).length,
        );
        // Checks are commands too, and on the record as such.
        expect(
          facts.some(
            (fact) => fact.type === "command-run" && JSON.stringify(fact.command).includes("python3"),
          ),
        ).toBe(true);
        expect((await rath.replay("fix", engineer, { mode: "verify" })).id).toBe(session.id);
      } finally {
        await rath.close();
        rmSync(folder, { recursive: true, force: true });
      }
    });

    it("[G2] there are recorded refusals and recorded edits to compare with", () => {
      const texts = RUNS.flatMap(({ file }) =>
        readTrajectory(file).steps.map(({ observation }) => observation),
      );
      expect(texts.filter((text) => text.includes("NOT been applied"))).toHaveLength(4);
      expect(
        texts.filter((text) => /^(Text replaced|.*\nFile updated)/ms.test(text)).length,
      ).toBeGreaterThanOrEqual(4);
    });
  },
);

type Script = {
  readonly open: string;
  readonly calls: readonly { readonly tool: string; readonly input: Json }[];
};

/** Recorded actions as calls that can be written down before they are made: only one edit of the file is made. */
function translated({
  root,
  path,
  text,
}: {
  readonly root: string;
  readonly path: string;
  readonly text: string;
}) {
  return ({ open, calls }: Script, { action }: Step): Script => {
    const call = (
      tool: string,
      input: { readonly [field: string]: string | number },
      now = open,
    ): Script => ({
      open: now,
      calls: [...calls, { tool, input }],
    });
    switch (action.type) {
      case "create":
        return call("write", { path: action.path, text: "\n" }, action.path);
      case "open":
        return call(
          "view",
          { path: inside(action.path, root), start: action.line ?? 1 },
          inside(action.path, root),
        );
      case "find":
        return call("find", { name: action.name });
      case "replace":
        return call("edit", { path: open, old: action.search, new: action.replace });
      case "insert":
        return call("edit", { path: open, line: 1, new: action.text });
      case "lines":
        return open === path
          ? call("edit", {
              path,
              old: text
                .split("\n")
                .slice(action.from - 1, action.to)
                .join("\n"),
              new: action.text,
            })
          : call("write", { path: open, text: `${action.text}\n` });
      case "command":
        return call("shell", { command: action.command.replace(/^python /, "python3 ") });
      default:
        return { open, calls };
    }
  };
}

/** The repository as far as it is known, under git, and what drives the recorded actions in it. */
async function prepared(workspace: Workspace, { file, path, executable, scaffold, others }: Recorded) {
  const run = readTrajectory(file);
  const text = rebuilt(linesBefore(run, path), scaffold);
  await workspace.write({ [path]: text, ...Object.fromEntries(others.map((other) => [other, ""])) });
  const mode = executable === true ? `chmod 755 ${path} && ` : "";
  const { code, stderr } = await workspace.sandbox.exec(
    `${mode}git init -q && git add -A && git -c user.name=a -c user.email=a@b commit -qm before`,
  ).result;
  expect(code, Buffer.from(stderr).toString()).toBe(0);
  const { tree: before } = await workspace.sandbox.snapshot();
  return { run, before, driver: new Driver(workspace, run) };
}

/** The windows of an observation that show files as they are after it: of an edit that was refused only the last. */
function shownNow({ observation }: Step, root: string) {
  const windows = windowsIn(observation, root);
  return observation.includes("NOT been applied") ? windows.slice(-1) : windows;
}

function found(observation: string, root: string): readonly string[] {
  return observation
    .split("\n")
    .filter((line) => line.startsWith(`${root}/`))
    .map((line) => inside(line, root))
    .sort();
}

function names(listing: string): readonly string[] {
  return listing
    .split(/\s+/)
    .filter((name) => name !== "")
    .sort();
}

function withoutIds(diff: string): string {
  return diff.replace(/^index .*$/gm, "index");
}

/** Context lines at the end are empty but for their mark, which recordings and terminals drop. */
function ending(diff: string): string {
  return diff.trimEnd();
}

/** The hunks of a diff, without the names of functions behind their numbers. */
function changesIn(diff: string): readonly string[] {
  const lines = diff
    .trimEnd()
    .split("\n")
    .map((line) => line.replace(/^(@@ .* @@).*$/, "$1"));
  return lines.slice(lines.findIndex((line) => line.startsWith("@@"))).map((line) => line.trimEnd());
}
