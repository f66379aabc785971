// @ts-check
import { lstatSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";

/** What can be created. */
export const templates = /** @type {const} */ ({
  agent: "an agent with a tool, streaming and replay",
  workflow: "a durable workflow with an approval",
  chat: "a chat server with streaming and staff approvals",
});

/** The project cannot be created. The message is for the person who typed the command; nothing was written. */
export class RefusedError extends Error {}

/**
 * Why a project cannot have this name, with a name that it can have. The name is that of the folder and of the package.
 *
 * @param {string} name
 * @returns {string | undefined}
 */
export function problemOfName(name) {
  if (name === ".") return undefined;
  if (name.length <= 100 && /^[a-z0-9][a-z0-9._-]*$/.test(name) && name !== "node_modules") return undefined;
  const near = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]+/g, "-")
    .replaceAll(/^[^a-z0-9]+|[^a-z0-9]+$/g, "")
    .slice(0, 100);
  const hint = near === "" || near === "node_modules" ? "my-agent" : near;
  return `Cannot name a project ${JSON.stringify(name)}: use lower-case letters, digits, "-", "." and "_", such as ${hint}`;
}

/**
 * Creates the folder with the files of a template. Never overwrites a file.
 *
 * @param {string} name a name, or "." for the present folder
 * @param {string} template
 * @param {string} cwd
 * @returns {{ folder: string, files: readonly string[] }}
 */
export function createProject(name, template, cwd) {
  const problem = problemOfName(name);
  if (problem !== undefined) throw new RefusedError(problem);
  if (!Object.hasOwn(templates, template))
    throw new RefusedError(
      `There is no template ${JSON.stringify(template)}. The templates are ${Object.keys(templates).join(", ")}`,
    );
  const folder = resolve(cwd, name);
  const packageName = basename(folder);
  const unfit = problemOfName(packageName);
  if (unfit !== undefined)
    throw new RefusedError(`${unfit}. Rename the folder, or give a name in place of "."`);
  requireEmpty(folder, name);

  const source = new URL(`templates/${template}/`, import.meta.url);
  const files = readdirSync(source).sort();
  mkdirSync(folder, { recursive: true });
  write(folder, "package.json", `${JSON.stringify(manifest(packageName, files), null, 2)}\n`);
  // npm leaves files of this name out of packages.
  write(folder, ".gitignore", "node_modules/\n.rath/\n");
  for (const file of files)
    write(folder, file, readFileSync(new URL(file, source), "utf8").replaceAll("{{name}}", packageName));
  return { folder: name, files: ["package.json", ...files] };
}

/**
 * @param {string} folder
 * @param {string} name
 */
function requireEmpty(folder, name) {
  const found = lstatSync(folder, { throwIfNoEntry: false });
  if (found === undefined) return;
  if (!found.isDirectory())
    throw new RefusedError(
      `Cannot create the folder ${name}: there is a file of this name. Choose another name`,
    );
  const left = readdirSync(folder).filter((entry) => entry !== ".git");
  if (left.length > 0)
    throw new RefusedError(
      `Cannot create the project in ${name}: the folder is not empty (${left.slice(0, 3).join(", ")}${left.length > 3 ? ", …" : ""}). Choose another name, or empty it`,
    );
}

/**
 * @param {string} name
 * @param {readonly string[]} files
 */
function manifest(name, files) {
  const { version, engines } = JSON.parse(readFileSync(new URL("package.json", import.meta.url), "utf8"));
  const main = files.find((file) => file === "server.js") ?? "main.js";
  return {
    name,
    version: "0.0.0",
    private: true,
    type: "module",
    engines,
    scripts: { start: `node ${main}`, test: "node --test" },
    dependencies: { openrath: `^${version}` },
  };
}

/**
 * @param {string} folder
 * @param {string} file
 * @param {string} text
 */
function write(folder, file, text) {
  writeFileSync(join(folder, file), text, { flag: "wx" });
}
