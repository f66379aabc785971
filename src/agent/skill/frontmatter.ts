import type { YAMLMap } from "yaml";
import { thrownMessage } from "../../session/index.js";
import { optionalPackage } from "../model/index.js";

/** The fields of a SKILL.md above its instructions: texts, and maps of texts. */
export type Frontmatter = { readonly [key: string]: string | { readonly [key: string]: string } };

export type ReadFrontmatter =
  | { readonly ok: true; readonly fields: Frontmatter; readonly body: string }
  | { readonly ok: false; readonly line: number; readonly reason: string };

/**
 * Reads a Markdown file with frontmatter. Of YAML it takes texts and one level of maps; anything else (lists, tags, anchors)
 * is refused with its line. Every scalar is read as a text: `version: 1.0` is "1.0".
 */
export async function readFrontmatter(text: string): Promise<ReadFrontmatter> {
  const lines = text.replace(/^\uFEFF/, "").split(/\r?\n/);
  if (lines[0]?.trimEnd() !== "---")
    return { ok: false, line: 1, reason: "it does not begin with a line ---" };
  const end = lines.findIndex((line, place) => place > 0 && line.trimEnd() === "---");
  if (end === -1) return { ok: false, line: 1, reason: "its frontmatter has no end: a second line ---" };
  const head = lines.slice(0, end);
  const unreadable = head.findIndex((line) => UNREADABLE.test(line));
  if (unreadable !== -1)
    return { ok: false, line: unreadable + 1, reason: "it holds a character that YAML does not allow" };
  const yaml = await optionalPackage("yaml", "skills", () => import("yaml"));
  const lineCounter = new yaml.LineCounter();
  const refused = (offset: number, reason: string): ReadFrontmatter => ({
    ok: false,
    line: lineCounter.linePos(offset).line,
    reason,
  });
  try {
    // With its opening ---, so that a line that begins with % is not taken for a directive.
    const { contents, errors } = yaml.parseDocument(head.join("\n"), {
      schema: "failsafe",
      prettyErrors: false,
      lineCounter,
    });
    const [error] = errors;
    if (error !== undefined) return refused(error.pos[0], error.message);
    if (!yaml.isMap(contents)) return refused(4, "it is not of the form key: value");
    const fields = textsIn(contents, yaml, 1);
    return {
      ok: true,
      fields,
      body: lines
        .slice(end + 1)
        .join("\n")
        .trim(),
    };
  } catch (error) {
    if (error instanceof Flaw) return refused(error.offset, error.message);
    // The parser recurses: a text made for the purpose can exhaust the stack.
    return refused(0, thrownMessage(error));
  }
}

/** Characters that YAML forbids, and those at which readers of older versions of YAML break lines. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
const UNREADABLE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]/u;

class Flaw extends Error {
  readonly offset: number;

  constructor(at: unknown, reason: string) {
    super(reason);
    this.offset = (at as { readonly range?: readonly number[] } | null)?.range?.[0] ?? 0;
  }
}

type Yaml = typeof import("yaml");

function textsIn(map: YAMLMap, yaml: Yaml, levels: 0 | 1): Frontmatter {
  requirePlain(map, map);
  const fields = map.items.map(({ key, value }): [string, Frontmatter[string]] => [
    textAt(key, key, yaml),
    yaml.isMap(value) && levels === 1
      ? (textsIn(value, yaml, 0) as { readonly [key: string]: string })
      : textAt(value, key, yaml),
  ]);
  // Makes an own field of "__proto__" too.
  return Object.fromEntries(fields);
}

function textAt(node: unknown, key: unknown, yaml: Yaml): string {
  if (node === null) return "";
  if (!yaml.isScalar(node)) throw new Flaw(key, "it is neither a text nor a map of texts");
  requirePlain(node, key);
  return String(node.value ?? "");
}

function requirePlain(node: { readonly tag?: string; readonly anchor?: string }, key: unknown): void {
  if (node.tag !== undefined || node.anchor !== undefined)
    throw new Flaw(key, "it has a tag or an anchor: quote it if it is meant as text");
}
