import { isObject, parseJson } from "../../../util/index.js";
import { Tally } from "./tally.js";

type Case = { readonly fullName?: unknown; readonly status?: unknown; readonly failureMessages?: unknown };

/** The JSON that jest and vitest write, on a line of its own or alone in a file. */
export function readJson(output: string): Tally | undefined {
  for (const text of [output, ...output.split("\n")]) {
    const trimmed = text.trim();
    if (!trimmed.startsWith("{") || !trimmed.includes('"numTotalTests"')) continue;
    const value = parseJson(trimmed);
    if (isObject(value) && Array.isArray(value.testResults)) return counted(value.testResults);
  }
  return undefined;
}

function counted(files: readonly unknown[]): Tally {
  const tally = new Tally();
  for (const file of files) {
    const { assertionResults, status, message, name } = (file ?? {}) as { readonly [field: string]: unknown };
    const cases = Array.isArray(assertionResults) ? (assertionResults as readonly Case[]) : [];
    for (const one of cases) {
      if (one.status === "passed") tally.passed += 1;
      else if (one.status !== "failed") tally.skipped += 1;
      else {
        tally.failed += 1;
        const messages = Array.isArray(one.failureMessages) ? one.failureMessages : [];
        const words = String(messages[0] ?? "").split(/\n +at /)[0] ?? "";
        tally.failures.push({ name: String(one.fullName ?? ""), message: words.trim() });
      }
    }
    // A file that could not be run has no tests, and none of them passed.
    if (cases.length === 0 && status === "failed") {
      tally.failed += 1;
      tally.failures.push({ name: String(name ?? ""), message: String(message ?? "").trim() });
    }
  }
  return tally;
}

/** JUnit XML, alone or behind other output. It is scanned, not built: nothing in it is expanded or fetched. */
export function readJunit(output: string): Tally | undefined {
  const from = output.search(/<testsuites?[\s>]/);
  if (from < 0) return undefined;
  const tally = new Tally();
  let one: { name: string; outcome: "passed" | "failed" | "skipped"; message: string } | undefined;
  let inside: { text: string } | undefined;
  const finish = (): void => {
    if (one === undefined) return;
    tally.count(one.outcome);
    if (one.outcome === "failed") tally.failures.push({ name: one.name, message: one.message });
    one = undefined;
  };
  let depth = 0;
  let closed = 0;
  for (const token of tokensOf(output, from)) {
    if (token.type === "text") {
      if (inside !== undefined) inside.text += token.text;
      continue;
    }
    const { name, attributes, end } = token;
    if (name === "testsuite" || name === "testsuites") {
      if (end === "start") depth += 1;
      else if (end === "end") depth -= 1;
      if (depth === 0) closed += 1;
    } else if (name === "testcase") {
      if (end !== "end") {
        finish();
        const { classname, name: called = "" } = attributes;
        const names = [classname, called].filter(
          (part) => part !== undefined && part !== "" && part !== "test",
        );
        one = { name: [...new Set(names)].join(" > "), outcome: "passed", message: "" };
      }
      if (end !== "start") finish();
    } else if (name === "failure" || name === "error" || name === "skipped") {
      if (end !== "end" && one !== undefined && one.outcome !== "failed") {
        one.outcome = name === "skipped" ? "skipped" : "failed";
        one.message = attributes.message ?? "";
      }
      if (end === "start") inside = { text: "" };
      else if (inside !== undefined && one !== undefined && name !== "skipped") {
        const text = inside.text.trim();
        // The message is often the first line of the text, which says more.
        if (text !== "") one.message = text.includes(one.message) ? text : `${one.message}\n${text}`;
        inside = undefined;
      } else inside = undefined;
    }
  }
  finish();
  if (depth > 0 || closed === 0) tally.notes.push("the report is cut off");
  return tally;
}

type Token =
  | { readonly type: "text"; readonly text: string }
  | {
      readonly type: "tag";
      readonly name: string;
      readonly end: "start" | "end" | "both";
      readonly attributes: { readonly [name: string]: string };
    };

function* tokensOf(xml: string, from: number): Iterable<Token> {
  let at = from;
  while (at < xml.length) {
    const next = xml.indexOf("<", at);
    if (next < 0) return;
    if (next > at) yield { type: "text", text: decoded(xml.slice(at, next)) };
    if (xml.startsWith("<![CDATA[", next)) {
      const end = xml.indexOf("]]>", next);
      if (end < 0) return;
      yield { type: "text", text: xml.slice(next + 9, end) };
      at = end + 3;
    } else if (xml.startsWith("<!--", next)) {
      const end = xml.indexOf("-->", next);
      if (end < 0) return;
      at = end + 3;
    } else {
      const end = endOfTag(xml, next);
      if (end < 0) return;
      const tag = xml.slice(next + 1, end);
      const name = /^\/?([\w:.-]+)/.exec(tag)?.[1];
      if (name !== undefined)
        yield {
          type: "tag",
          name,
          end: tag.startsWith("/") ? "end" : tag.endsWith("/") ? "both" : "start",
          attributes: attributesOf(tag),
        };
      at = end + 1;
    }
  }
}

/** A ">" inside quotes is part of a value. */
function endOfTag(xml: string, from: number): number {
  let quote = "";
  for (let at = from + 1; at < xml.length; at++) {
    const character = xml[at] as string;
    if (quote !== "") {
      if (character === quote) quote = "";
    } else if (character === '"' || character === "'") quote = character;
    else if (character === ">") return at;
  }
  return -1;
}

function attributesOf(tag: string): { readonly [name: string]: string } {
  const found: { [name: string]: string } = Object.create(null);
  for (const [, name = "", double, single] of tag.matchAll(/\s([\w:.-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')/g))
    found[name] = decoded(double ?? single ?? "");
  return found;
}

const NAMED: { readonly [name: string]: string } = { lt: "<", gt: ">", amp: "&", quot: '"', apos: "'" };

function decoded(text: string): string {
  return text.replace(/&(#x[0-9a-f]{1,6}|#\d{1,7}|lt|gt|amp|quot|apos);/gi, (whole, name: string) => {
    if (!name.startsWith("#")) return NAMED[name.toLowerCase()] ?? whole;
    const code = /^#x/i.test(name) ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1));
    return code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff) ? String.fromCodePoint(code) : whole;
  });
}
