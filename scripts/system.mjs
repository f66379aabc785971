// @ts-check
// What comes from the operating system and not from npm: asked for where it may be (root, apt-get), and said plainly
// where it may not, with what is skipped for that.
import { isMain, run, say } from "./run.mjs";

/** @typedef {{ command: string, test: readonly string[], package: string, without: string }} SystemTool */

/** @type {{ readonly [name: string]: SystemTool }} */
const tools = {
  python3: {
    command: "python3",
    test: ["--version"],
    package: "python3",
    without: "the tests of tools/verify.py are skipped",
  },
  bubblewrap: {
    command: "bwrap",
    test: ["--version"],
    package: "bubblewrap",
    without: "local sandboxes cannot be opened, and what needs them is skipped",
  },
  git: {
    command: "git",
    test: ["--version"],
    package: "git",
    without: "import from and export to git is skipped",
  },
  postgres: {
    command: "sh",
    test: ["-c", 'ls /usr/lib/postgresql/*/bin/initdb || ls "$(pg_config --bindir)/initdb"'],
    package: "postgresql",
    without: "the tests of PostgreSQL stores are skipped",
  },
  pgbouncer: {
    command: "/usr/sbin/pgbouncer",
    test: ["--version"],
    package: "pgbouncer",
    without: "the test of PostgreSQL stores behind a pooler is skipped",
  },
  chromium: {
    command: "chromium",
    test: ["--version"],
    package: "chromium",
    without: "the tests of dossiers in a browser are skipped",
  },
};

/**
 * Installs what is missing of these, and says what is missing afterwards.
 *
 * @param {readonly (keyof typeof tools)[]} names
 */
export function ensureSystem(names) {
  const missing = names.flatMap((name) => {
    const tool = /** @type {SystemTool} */ (tools[name]);
    return has(tool) ? [] : [tool];
  });
  if (missing.length === 0 || process.platform !== "linux") return missing.length === 0;
  const packages = missing.map((tool) => tool.package);
  if (process.getuid?.() === 0) {
    say(`${packages.join(" and ")} missing; trying apt-get ...`);
    const env = { DEBIAN_FRONTEND: "noninteractive" };
    const options = { output: /** @type {const} */ ("ignore"), env, timeout: 180_000 };
    const install = ["install", "--yes", "--no-install-recommends", ...packages];
    // The lists of packages may be older than what the mirrors still have.
    if (run("apt-get", install, options) !== 0) {
      run("apt-get", ["update"], options);
      run("apt-get", install, options);
    }
  }
  const left = missing.filter((tool) => !has(tool));
  for (const tool of left)
    say(`${tool.package} is missing (apt-get install ${tool.package}): ${tool.without}.`);
  return left.length === 0;
}

function has(/** @type {SystemTool} */ { command, test }) {
  return run(command, test, { output: "ignore" }) === 0;
}

// What the tests use.
if (isMain(import.meta.url))
  ensureSystem(["python3", "bubblewrap", "git", "chromium", "postgres", "pgbouncer"]);
