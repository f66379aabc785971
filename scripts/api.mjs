// @ts-check
// Writes docs/api/: a page for each entry point, with every public name as its declaration file has it, comments of
// members included, so that a change of the public surface shows in review as a change of text. `npm run api` writes
// the pages; `npm test` fails when one is out of date (`--check`).
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { declarations } from "./build.mjs";
import { root, say } from "./run.mjs";

/** The entry points in reading order, core first. One that is not listed here comes last, without a description. */
const about = new Map([
  ["openrath", "sessions, the runtime, agents, tools, workflows, policies: most programs need only this"],
  [
    "openrath/agent",
    "agents: the loop of model and tools, structured output, handoffs, Agent Skills, AGENTS.md",
  ],
  ["openrath/model", "models: any AI SDK model, scripted models, parameters, prices"],
  ["openrath/tool", "tools: schemas, effects, approvals, the sandbox tools, asking a person"],
  ["openrath/workflow", "workflows: sequence, parallel, map, race, retry, loop, steps"],
  ["openrath/session", "the value in detail: views, the graph, record lines, limits"],
  ["openrath/store", "stores: save, load, export, import, leases, backup, erasure"],
  ["openrath/policy", "guardrails: rules that allow, ask a person or deny"],
  [
    "openrath/pattern",
    "multi-agent patterns: ReAct, group chat, supervisor, swarm, crew, debate; routing by rule, model, similarity, vote",
  ],
  ["openrath/compress", "context compression: summaries, dropped outputs, recall"],
  ["openrath/memory", "memory with evidence: write, recall, why, influence, rollback"],
  ["openrath/memory/tiers", "MemGPT, Reflexion, Generative Agents, memory files, consolidation"],
  ["openrath/memory/existing", "adoption of memories that another store keeps"],
  ["openrath/memory/mcp", "a memory server over MCP as a backend"],
  ["openrath/memory/viking", "OpenViking as a backend"],
  ["openrath/sandbox", "sandboxes: local, virtual, docker, host, and your own"],
  ["openrath/evidence", "dossiers, verification, signatures, audit questions, erasure"],
  ["openrath/mcp", "MCP: servers of tools as a client, and being a server"],
  ["openrath/front", "AG-UI and A2A handlers"],
  ["openrath/ui", "chat servers for the AI SDK's useChat: answers, approvals, `serve` for node:http"],
  ["openrath/server", "the HTTP server: identity, roles, reading, actions, live events"],
  ["openrath/client", "a typed client of that server, for browsers and Node"],
  [
    "openrath/cluster",
    "workers that run submitted sessions on one store, and the port of engines that wake them",
  ],
  ["openrath/interop", "import and export of other systems' formats, OpenTelemetry traces"],
  ["openrath/interop/ai-sdk", "the AI SDK: record and replay your own loop, use its tools"],
  ["openrath/interop/langgraph", "LangGraph: a checkpointer on our store"],
  ["openrath/testkit", "conformance suites for stores and sandboxes of your own"],
]);

const kinds = /** @type {const} */ (["Functions and values", "Classes", "Types", "Errors", "Constants"]);
/** The maximum number of public names: of the main entry point, and of all together. */
const MOST = { main: 60, all: 420 };
/** How to write a type that has no public name, which programs rarely need. */
const UNNAMED =
  "Functions above take or return these types. They have no public name: write `Parameters<typeof …>[1]`, `ReturnType<typeof …>` or the type of a member.";

const folder = join(root, "docs", "api");
/** Broken rules of the public surface. @type {string[]} */
const faults = [];
const pages = renderPages();
if (process.argv.includes("--check")) check();
else write();

function write() {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const [file, text] of pages) writeFileSync(join(folder, file), text);
  say(`wrote ${pages.size} pages to docs/api`);
}

function check() {
  const present = existsSync(folder) ? readdirSync(folder) : [];
  const stale = [
    ...[...pages].flatMap(([file, text]) =>
      present.includes(file) && readFileSync(join(folder, file), "utf8") === text ? [] : [file],
    ),
    ...present.filter((file) => !pages.has(file)),
  ];
  if (stale.length > 0)
    faults.push(`docs/api is out of date (${stale.join(", ")}): run \`npm run api\` and review the changes.`);
  for (const fault of faults) say(fault);
  if (faults.length === 0) say("docs/api is up to date, and the public surface is as small as promised");
  else process.exitCode = 1;
}

/**
 * One name has one meaning, shadows no global type, and there are few enough to remember.
 *
 * @param {readonly { name: string, own: number, total: number }[]} index
 * @param {ReadonlyMap<string, ReadonlySet<ts.Symbol>>} meanings
 * @param {ReadonlySet<string>} globals
 */
function checkSurface(index, meanings, globals) {
  const main = index.find(({ name }) => name === "openrath")?.total ?? 0;
  const all = meanings.size;
  if (main > MOST.main) faults.push(`openrath exports ${main} names, ${MOST.main} allowed`);
  if (all > MOST.all) faults.push(`the entry points export ${all} names together, ${MOST.all} allowed`);
  for (const [name, symbols] of meanings) {
    if (symbols.size > 1) faults.push(`"${name}" means ${symbols.size} things in different entry points`);
    if (globals.has(name)) faults.push(`"${name}" shadows a global of the same name`);
  }
  say(`${main} names in the main entry point, ${all} in all`);
}

/** @typedef {{ name: string, kind: (typeof kinds)[number], about: string, code: string }} Entry */

/** The text of each page by its file name. A name that several entry points export is described on the first page. */
function renderPages() {
  const doors = entryPoints();
  const program = ts.createProgram(
    doors.map((door) => door.path),
    { module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext, types: [] },
  );
  const checker = program.getTypeChecker();
  /** @type {Map<ts.Symbol, string>} */
  const home = new Map();
  /** @type {Map<string, { name: string, own: Entry[], shared: { name: string, file: string }[], symbols: ts.Symbol[] }>} */
  const parts = new Map();
  /** @type {{ name: string, file: string, own: number, total: number }[]} */
  const index = [];
  /** @type {Map<string, Set<ts.Symbol>>} */
  const meanings = new Map();
  for (const { name, file, path } of doors) {
    const module = checker.getSymbolAtLocation(/** @type {ts.Node} */ (program.getSourceFile(path)));
    if (module === undefined) throw new Error(`${path} exports nothing: build first`);
    /** @type {Entry[]} */
    const own = [];
    /** @type {{ name: string, file: string }[]} */
    const shared = [];
    /** @type {ts.Symbol[]} */
    const symbols = [];
    for (const exported of checker.getExportsOfModule(module)) {
      const symbol = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported;
      meanings.set(exported.name, (meanings.get(exported.name) ?? new Set()).add(symbol));
      const first = home.get(symbol);
      if (first !== undefined) shared.push({ name: exported.name, file: first });
      else {
        home.set(symbol, file);
        symbols.push(symbol);
        own.push(describe(exported.name, symbol, checker));
      }
    }
    parts.set(file, { name, own, shared, symbols });
    index.push({ name, file, own: own.length, total: own.length + shared.length });
  }
  /** @type {Map<string, string>} */
  const texts = new Map();
  const described = new Set(home.keys());
  for (const [file, { name, own, shared, symbols }] of parts) {
    const unnamed = unnamedIn(symbols, described, checker).map((one) => describe(one.name, one, checker));
    texts.set(file, page(name, own, unnamed, shared));
  }
  texts.set("README.md", indexPage(index));
  const anyFile = /** @type {ts.SourceFile} */ (program.getSourceFile(doors[0]?.path ?? ""));
  const lib = (/** @type {ts.Symbol} */ { declarations = [] }) =>
    declarations.some((one) => program.isSourceFileDefaultLibrary(one.getSourceFile()));
  const globals = checker
    .getSymbolsInScope(anyFile, ts.SymbolFlags.Type | ts.SymbolFlags.Value)
    .filter(lib)
    .map(({ name }) => name);
  checkSurface(index, meanings, new Set(globals));
  return texts;
}

/**
 * The types that the functions among `symbols` take and return, and that no page describes yet.
 *
 * @param {readonly ts.Symbol[]} symbols
 * @param {Set<ts.Symbol>} described
 * @param {ts.TypeChecker} checker
 */
function unnamedIn(symbols, described, checker) {
  /** @type {ts.Symbol[]} */
  const found = [];
  const add = (/** @type {ts.Node} */ name) => {
    let symbol = checker.getSymbolAtLocation(name);
    if (symbol !== undefined && symbol.flags & ts.SymbolFlags.Alias)
      symbol = checker.getAliasedSymbol(symbol);
    const [declaration] = symbol?.declarations ?? [];
    if (symbol === undefined || declaration === undefined || described.has(symbol)) return;
    if (!(symbol.flags & (ts.SymbolFlags.TypeAlias | ts.SymbolFlags.Interface))) return;
    if (!declaration.getSourceFile().fileName.startsWith(declarations)) return;
    described.add(symbol);
    found.push(symbol);
  };
  const visit = (/** @type {ts.Node} */ node) => {
    if (ts.isClassElement(node) && isPrivate(node)) return;
    if (ts.isTypeReferenceNode(node)) add(node.typeName);
    if (ts.isExpressionWithTypeArguments(node)) add(node.expression);
    ts.forEachChild(node, visit);
  };
  for (const symbol of symbols)
    if (symbol.flags & ts.SymbolFlags.Value && !(symbol.flags & ts.SymbolFlags.Class))
      symbol.declarations?.forEach(visit);
  return found;
}

/** Read from "exports" in package.json, so that an entry point is declared there and nowhere else. */
function entryPoints() {
  const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  /** @type {[string, string | { types: string }][]} */
  const exported = Object.entries(manifest.exports);
  const order = [...about.keys()];
  const rank = (/** @type {string} */ name) => (order.includes(name) ? order.indexOf(name) : order.length);
  return exported
    .flatMap(([path, target]) => {
      if (typeof target === "string") return [];
      const name = `${manifest.name}${path.slice(1)}`;
      const file = `${name === manifest.name ? name : path.slice(2).replaceAll("/", "-")}.md`;
      return [{ name, file, path: join(declarations, target.types.slice("./dist/".length)) }];
    })
    .sort((one, other) => rank(one.name) - rank(other.name));
}

/**
 * @param {string} name
 * @param {readonly Entry[]} own
 * @param {readonly Entry[]} unnamed
 * @param {readonly { name: string, file: string }[]} shared
 */
function page(name, own, unnamed, shared) {
  const head = `# ${name}\n\n${about.has(name) ? `${capital(about.get(name) ?? "")}.\n\n` : ""}`;
  const note = "Written by `npm run api` from the declarations. [All entry points](README.md)\n";
  const sections = kinds.flatMap((kind) => {
    const entries = own.filter((entry) => entry.kind === kind);
    return entries.length === 0 ? [] : [`\n## ${kind}\n\n${bodies(entries)}`];
  });
  if (unnamed.length > 0)
    sections.push(`\n## Types of options and results\n\n${UNNAMED}\n\n${bodies(unnamed)}`);
  const links = [...shared].sort(byName).map(({ name, file }) => `[${name}](${file}#${name.toLowerCase()})`);
  const also = links.length === 0 ? "" : `\n## Also exported here\n\n${links.join(", ")}\n`;
  return `${head}${note}${sections.join("")}${also}`;
}

function bodies(/** @type {readonly Entry[]} */ entries) {
  return [...entries]
    .sort(byName)
    .map(({ name, about, code }) => `### ${name}\n\n${about}\`\`\`ts\n${code}\n\`\`\`\n`)
    .join("\n");
}

/** @param {readonly { name: string, file: string, own: number, total: number }[]} index */
function indexPage(index) {
  const rows = index.map(
    ({ name, file, own, total }) =>
      `| [\`${name}\`](${file}) | ${about.get(name) ?? ""} | ${total} | ${own} |`,
  );
  const head =
    "# Public names by entry point\n\nWritten by `npm run api` from the declarations. A name that several entry points export is described on the\npage of the first one.\n";
  return `${head}\n| import from | for | names | described there |\n|---|---|---|---|\n${rows.join("\n")}\n`;
}

/**
 * @param {string} name
 * @param {ts.Symbol} symbol
 * @param {ts.TypeChecker} checker
 * @returns {Entry}
 */
function describe(name, symbol, checker) {
  const declarations = (symbol.declarations ?? []).map((declaration) =>
    ts.isVariableDeclaration(declaration) ? declaration.parent.parent : declaration,
  );
  if (declarations.length === 0) throw new Error(`${name} is declared nowhere`);
  const comment = ts.displayPartsToString(symbol.getDocumentationComment(checker)).trim();
  return {
    name,
    kind: kindOf(name, symbol),
    about: comment === "" ? "" : `${comment}\n\n`,
    code: declarations.map(codeOf).join("\n"),
  };
}

/**
 * @param {string} name
 * @param {ts.Symbol} symbol
 */
function kindOf(name, symbol) {
  if (symbol.flags & ts.SymbolFlags.Class) return name.endsWith("Error") ? "Errors" : "Classes";
  if (/^[A-Z\d_]+$/.test(name)) return "Constants";
  return symbol.flags & ts.SymbolFlags.Value ? "Functions and values" : "Types";
}

/** The declaration as it stands, without its own comment, which is above it, and without private members. */
function codeOf(/** @type {ts.Node} */ statement) {
  const source = statement.getSourceFile();
  const start = statement.getStart(source);
  let text = source.text.slice(start, statement.getEnd());
  const members = ts.isClassDeclaration(statement) ? [...statement.members] : [];
  for (const member of members.filter(isPrivate).reverse())
    text = text.slice(0, member.getFullStart() - start) + text.slice(member.getEnd() - start);
  return text.replace(/^export (declare )?/, "").replace(/^declare /, "");
}

function isPrivate(/** @type {ts.ClassElement} */ member) {
  if (member.name !== undefined && ts.isPrivateIdentifier(member.name)) return true;
  return (ts.getCombinedModifierFlags(member) & ts.ModifierFlags.Private) !== 0;
}

/**
 * @param {{ name: string }} one
 * @param {{ name: string }} other
 */
function byName(one, other) {
  return one.name < other.name ? -1 : 1;
}

function capital(/** @type {string} */ text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
