// @ts-check
// Writes docs/api.md: every public name as it is declared, so that a change of the surface shows in review as a change
// of text. `npm run api` writes it; `npm test` fails when it is out of date (`--check`).
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { declarations } from "./build.mjs";
import { sourcesByName } from "./exports.mjs";
import { root, say } from "./run.mjs";

const file = join(root, "docs", "api.md");
const text = api();
if (!process.argv.includes("--check")) {
  writeFileSync(file, text);
  say("wrote docs/api.md");
} else if (!existsSync(file) || readFileSync(file, "utf8") !== text) {
  say("docs/api.md does not show the public names as they are: run `npm run api` and look at what changed.");
  process.exitCode = 1;
} else say("docs/api.md shows the public names as they are");

function api() {
  const doors = Object.entries(sourcesByName()).map(([name, source]) => ({
    name,
    path: join(declarations, source.slice("src/".length).replace(/\.ts$/, ".d.ts")),
  }));
  const program = ts.createProgram(
    doors.map((door) => door.path),
    { module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext, types: [] },
  );
  const checker = program.getTypeChecker();
  const sections = doors.map(({ name, path }) => {
    const module = checker.getSymbolAtLocation(/** @type {ts.Node} */ (program.getSourceFile(path)));
    if (module === undefined) throw new Error(`${path} exports nothing: build first`);
    const names = checker
      .getExportsOfModule(module)
      .map((symbol) => describe(symbol, checker))
      .sort((one, other) => (one.name < other.name ? -1 : 1));
    const entries = names.map(
      ({ name, about, code }) => `### ${name}\n\n${about}\`\`\`ts\n${code}\n\`\`\`\n`,
    );
    return `## ${name}\n\n${entries.join("\n")}`;
  });
  const head =
    "# Public names\n\nWritten by `npm run api` from the declarations; the comments in the sources say more.\n";
  return `${head}\n${sections.join("\n")}`;
}

/**
 * @param {ts.Symbol} exported
 * @param {ts.TypeChecker} checker
 */
function describe(exported, checker) {
  const symbol = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported;
  const [declaration] = symbol.declarations ?? [];
  if (declaration === undefined) throw new Error(`${exported.name} is declared nowhere`);
  const statement = ts.isVariableDeclaration(declaration) ? declaration.parent.parent : declaration;
  const printer = ts.createPrinter({ removeComments: true });
  const code = printer
    .printNode(ts.EmitHint.Unspecified, statement, statement.getSourceFile())
    .replace(/^export (declare )?/, "")
    // Private parts are nobody's business, and their order would show up as a change.
    .replace(/^\s*(#private|private .*);\n/gm, "");
  const [sentence = ""] = ts.displayPartsToString(symbol.getDocumentationComment(checker)).split(/(?<=\.)\s/);
  return { name: exported.name, about: sentence === "" ? "" : `${sentence.replaceAll("\n", " ")}\n\n`, code };
}
