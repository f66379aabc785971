// @ts-check
// Collects the error codes of the sources: what errors are thrown with, what failures are recorded with, and warnings.
// docs/errors.md has an entry for each (test/errors.test.ts). `node scripts/codes.mjs` lists them with their places.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { isMain, root } from "./run.mjs";

/**
 * How a class makes its code: a prefix, and the argument that completes it. `known` are the values that the type of the argument
 * allows; without it, the places that make the error are read.
 *
 * @typedef {{ prefix: string, argument: number, known?: readonly string[] } | { code: string }} Form
 * @typedef {{ file: string, node: ts.ClassDeclaration, base: string }} ErrorClass
 */

/** The two bases. The code is the first argument of one, and comes after the session in the other. */
const bases = /** @type {const} */ ({ RathError: 0, SessionError: 1 });

/**
 * The codes, each with the files that make it; and places whose code comes from elsewhere: they pass on that of another error.
 *
 * @returns {{ codes: ReadonlyMap<string, readonly string[]>, passed: readonly string[] }}
 */
export function errorCodes() {
  const files = sources();
  const classes = errorClasses(files);
  const forms = formsOf(classes);
  /** @type {Map<string, Set<string>>} */
  const codes = new Map();
  /** @type {Set<string>} */
  const passed = new Set();
  const add = (/** @type {string} */ code, /** @type {string} */ file) =>
    codes.set(code, (codes.get(code) ?? new Set()).add(file));

  for (const [name, { file }] of classes) {
    const form = forms.get(name);
    if (form !== undefined && "code" in form) add(form.code, file);
    else for (const value of form?.known ?? []) add(`${form?.prefix}${value}`, file);
  }
  for (const [file, source] of files) {
    for (const made of madeIn(source)) {
      const form = forms.get(made.base);
      if (form === undefined || "code" in form || form.known !== undefined) continue;
      const argument = made.arguments[form.argument];
      const values = argument === undefined ? [] : [...literalsOf(argument), ...givenTo(argument)];
      for (const value of values) add(`${form.prefix}${value}`, file);
      // A class that has its code from an argument is read where it is made.
      if (values.length === 0 && !(made.inside !== undefined && forms.has(made.inside))) passed.add(file);
    }
    for (const code of recordedIn(source)) add(code, file);
    if (file.startsWith("src/testkit/")) continue;
    for (const [warning] of source.text.matchAll(/\bOPENRATH_(?!VERSION\b)[A-Z_]+(?=")/g)) add(warning, file);
  }
  const sorted = [...codes].sort(([one], [other]) => (one < other ? -1 : 1));
  return { codes: new Map(sorted.map(([code, from]) => [code, [...from]])), passed: [...passed].sort() };
}

/** @returns {ReadonlyMap<string, ts.SourceFile>} */
function sources() {
  const paths = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
    .map((path) => `src/${path.replaceAll("\\", "/")}`)
    .filter((path) => path.endsWith(".ts") && !/\.test(-d)?\.ts$|\/testing\//.test(path))
    .sort();
  return new Map(
    paths.map((path) => [
      path,
      ts.createSourceFile(path, readFileSync(join(root, path), "utf8"), ts.ScriptTarget.Latest, true),
    ]),
  );
}

/**
 * The classes that descend from RathError, without the two bases.
 *
 * @param {ReadonlyMap<string, ts.SourceFile>} files
 */
function errorClasses(files) {
  /** @type {Map<string, ErrorClass>} */
  const all = new Map();
  for (const [file, source] of files)
    visit(source, (node) => {
      const base = ts.isClassDeclaration(node) ? baseOf(node) : undefined;
      if (ts.isClassDeclaration(node) && node.name !== undefined && base !== undefined)
        all.set(node.name.text, { file, node, base });
    });
  /** @type {(name: string) => boolean} */
  const isError = (name) =>
    Object.hasOwn(bases, name) || (all.has(name) && isError(String(all.get(name)?.base)));
  return new Map([...all].filter(([name]) => !Object.hasOwn(bases, name) && isError(name)));
}

/** @param {ReadonlyMap<string, ErrorClass>} classes */
function formsOf(classes) {
  /** @type {Map<string, Form>} */
  const forms = new Map(Object.entries(bases).map(([name, argument]) => [name, { prefix: "", argument }]));
  /** @type {(name: string) => Form | undefined} */
  const formOf = (name) => {
    const known = forms.get(name);
    const found = classes.get(name);
    if (known !== undefined || found === undefined) return known;
    const inherited = formOf(found.base);
    const form = inherited && ownForm(found.node, inherited);
    if (form !== undefined) forms.set(name, form);
    return form;
  };
  for (const name of classes.keys()) formOf(name);
  return forms;
}

/**
 * @param {ts.ClassDeclaration} node
 * @param {Form} inherited
 * @returns {Form}
 */
function ownForm(node, inherited) {
  const maker = node.members.find(ts.isConstructorDeclaration);
  if (maker === undefined || "code" in inherited) return inherited;
  const call = madeIn(maker).find(({ inside }) => inside !== undefined);
  const value = call?.arguments[inherited.argument];
  if (value === undefined) return inherited;
  if (ts.isStringLiteral(value)) return { code: `${inherited.prefix}${value.text}` };
  const inner =
    ts.isTemplateExpression(value) && value.templateSpans.length === 1
      ? { prefix: value.head.text, name: value.templateSpans[0]?.expression.getText() }
      : { prefix: "", name: /^\w+/.exec(value.getText())?.[0] };
  const argument = maker.parameters.findIndex((parameter) => parameter.name.getText() === inner.name);
  if (argument < 0)
    return { prefix: `${inherited.prefix}${inner.prefix}`, argument: maker.parameters.length };
  const isLowered = value.getText().includes(".toLowerCase()");
  const known = unionOf(maker.parameters[argument]?.type, node.getSourceFile()).map((one) =>
    isLowered ? one.toLowerCase().replaceAll("_", "-") : one,
  );
  return { prefix: `${inherited.prefix}${inner.prefix}`, argument, ...(known.length > 0 && { known }) };
}

/**
 * The strings of a union type, written in place or named in the same file.
 *
 * @param {ts.TypeNode | undefined} type
 * @param {ts.SourceFile} source
 * @returns {readonly string[]}
 */
function unionOf(type, source) {
  if (type === undefined) return [];
  if (ts.isUnionTypeNode(type)) return type.types.flatMap((one) => unionOf(one, source));
  if (ts.isLiteralTypeNode(type) && ts.isStringLiteral(type.literal)) return [type.literal.text];
  if (ts.isTypeOperatorNode(type) && ts.isTypeQueryNode(type.type))
    return keysOf(type.type.exprName.getText(), source);
  if (!ts.isTypeReferenceNode(type)) return [];
  const name = type.typeName.getText();
  const alias = source.statements.find((one) => ts.isTypeAliasDeclaration(one) && one.name.text === name);
  return alias !== undefined && ts.isTypeAliasDeclaration(alias) ? unionOf(alias.type, source) : [];
}

/**
 * The names in an object that is a constant of the file.
 *
 * @param {string} name
 * @param {ts.SourceFile} source
 * @returns {readonly string[]}
 */
function keysOf(name, source) {
  /** @type {string[]} */
  const keys = [];
  visit(source, (node) => {
    if (!ts.isVariableDeclaration(node) || node.name.getText() !== name || node.initializer === undefined)
      return;
    const value = ts.isAsExpression(node.initializer) ? node.initializer.expression : node.initializer;
    if (ts.isObjectLiteralExpression(value))
      keys.push(...value.properties.map((property) => property.name?.getText() ?? ""));
  });
  return keys;
}

/**
 * The calls that make an error: `new X(…)`, and `super(…)` in a class, which makes its base.
 *
 * @param {ts.Node} node
 * @returns {{ base: string, inside?: string, arguments: readonly ts.Expression[] }[]}
 */
function madeIn(node) {
  /** @type {{ base: string, inside?: string, arguments: readonly ts.Expression[] }[]} */
  const found = [];
  visit(node, (each) => {
    if (ts.isNewExpression(each))
      found.push({ base: each.expression.getText(), arguments: each.arguments ?? [] });
    if (!ts.isCallExpression(each) || each.expression.kind !== ts.SyntaxKind.SuperKeyword) return;
    /** @type {ts.Node} */
    let holder = each;
    while (!ts.isClassLike(holder)) holder = holder.parent;
    const base = ts.isClassDeclaration(holder) ? baseOf(holder) : undefined;
    if (base !== undefined && holder.name !== undefined)
      found.push({ base, inside: holder.name.text, arguments: each.arguments });
  });
  return found;
}

/**
 * The codes of failures that are recorded or sent without being thrown: `{ message, code: "…" }`.
 *
 * @param {ts.SourceFile} source
 * @returns {readonly string[]}
 */
function recordedIn(source) {
  /** @type {string[]} */
  const codes = [];
  visit(source, (node) => {
    if (ts.isObjectLiteralExpression(node)) {
      const names = new Map(node.properties.map((each) => [each.name?.getText(), each]));
      const code = names.get("code");
      if (names.has("message") && code !== undefined && ts.isPropertyAssignment(code))
        codes.push(...literalsOf(code.initializer));
    }
    // Problems that are told as values: `readonly code: "a" | "b"`.
    if (ts.isPropertySignature(node) && node.name.getText() === "code")
      codes.push(...unionOf(node.type, source));
    // const [code, message] = …
    if (
      ts.isVariableDeclaration(node) &&
      ts.isArrayBindingPattern(node.name) &&
      node.initializer !== undefined
    )
      if (node.name.elements.map((each) => each.getText()).join() === "code,message")
        codes.push(...firstsOf(node.initializer));
  });
  return codes.filter((code) => /^[a-z]+(-[a-z]+)*$/.test(code));
}

/**
 * @param {ts.Expression} node
 * @returns {readonly string[]}
 */
function firstsOf(node) {
  if (ts.isConditionalExpression(node)) return [...firstsOf(node.whenTrue), ...firstsOf(node.whenFalse)];
  if (!ts.isArrayLiteralExpression(node) || node.elements[0] === undefined) return [];
  return literalsOf(node.elements[0]);
}

/**
 * The strings that callers in the same file give to a parameter: `function conflict(code: string, …)`.
 *
 * @param {ts.Expression} node
 * @returns {readonly string[]}
 */
function givenTo(node) {
  /** @type {ts.Node | undefined} */
  let holder = node;
  while (holder !== undefined && !ts.isFunctionDeclaration(holder)) holder = holder.parent;
  const name = holder?.name?.text;
  const at = holder?.parameters.findIndex((parameter) => parameter.name.getText() === node.getText()) ?? -1;
  if (name === undefined || at < 0) return [];
  /** @type {string[]} */
  const values = [];
  visit(node.getSourceFile(), (each) => {
    if (!ts.isCallExpression(each) || each.expression.getText() !== name) return;
    const argument = each.arguments[at];
    if (argument !== undefined) values.push(...literalsOf(argument));
  });
  return values;
}

/**
 * The strings that an expression can be, as far as it says them itself.
 *
 * @param {ts.Expression} node
 * @returns {readonly string[]}
 */
function literalsOf(node) {
  if (ts.isStringLiteralLike(node)) return [node.text];
  if (ts.isConditionalExpression(node)) return [...literalsOf(node.whenTrue), ...literalsOf(node.whenFalse)];
  if (ts.isBinaryExpression(node)) return literalsOf(node.right);
  return [];
}

/** @param {ts.ClassDeclaration} node */
function baseOf(node) {
  return node.heritageClauses
    ?.find(({ token }) => token === ts.SyntaxKind.ExtendsKeyword)
    ?.types[0]?.expression.getText();
}

/**
 * @param {ts.Node} node
 * @param {(node: ts.Node) => void} see
 */
function visit(node, see) {
  see(node);
  ts.forEachChild(node, (child) => visit(child, see));
}

if (isMain(import.meta.url)) {
  const { codes, passed } = errorCodes();
  for (const [code, files] of codes) process.stdout.write(`${code.padEnd(26)} ${files.join(", ")}\n`);
  process.stdout.write(`\n${codes.size} codes; passed on in ${passed.join(", ")}\n`);
}
