import type { YAMLMap } from "yaml";
import { type Digest, digestOf, thrownMessage } from "../../session/index.js";
import { nearestOf } from "../../util/index.js";
import { optionalPackage } from "../model/index.js";

/** A skill before it is activated: the texts that a model chooses by, and the place of the rest. */
export type Skill = {
  /** 1 to 64 of a-z, 0-9 and "-"; the name of its directory. */
  readonly name: string;
  /** Its purpose, and when to use it. */
  readonly description: string;
  readonly license?: string;
  readonly compatibility?: string;
  readonly metadata?: { readonly [key: string]: string };
  /** The tools it makes do with, as they are written there. Left out, it does not say. */
  readonly allowedTools?: readonly string[];
  /** The folder its directory is in, as it was given. */
  readonly folder: string;
  /** SHA-256 of its SKILL.md. */
  readonly digest: Digest;
};

/** The reason why a directory cannot be loaded as a skill. */
export type SkillProblem = {
  readonly folder: string;
  readonly name?: string;
  readonly code:
    | "folder-missing"
    | "folder-full"
    | "skill-file-missing"
    | "link"
    | "too-large"
    | "not-text"
    | "frontmatter"
    | "field"
    | "name-taken";
  readonly message: string;
};

/** Longer instructions would not reach a model whole: they belong into references. */
export const MAX_SKILL_BYTES = 100_000;
const MAX_DESCRIPTION = 1024;
const MAX_COMPATIBILITY = 500;
const TEXTS = ["name", "description", "license", "compatibility", "metadata"] as const;
const FIELDS: readonly string[] = [...TEXTS, "allowed-tools"];

export type ReadSkill =
  | { readonly skill: Skill; readonly instructions: string }
  | { readonly problem: SkillProblem };

/** Reads a SKILL.md: a skill, or the reason why it cannot be one. */
export async function skillOf(folder: string, directory: string, bytes: Uint8Array): Promise<ReadSkill> {
  const no = (code: SkillProblem["code"], message: string): ReadSkill => ({
    problem: { folder, name: directory, code, message },
  });
  if (bytes.length > MAX_SKILL_BYTES)
    return no("too-large", `its SKILL.md has ${bytes.length} bytes, more than ${MAX_SKILL_BYTES}`);
  const text = textOf(bytes);
  if (text === undefined) return no("not-text", "its SKILL.md is not UTF-8");
  const read = await readFrontmatter(text);
  if (!read.ok) return no("frontmatter", `line ${read.line}: ${read.reason}`);
  const flaw = flawOf(read.fields, directory);
  if (flaw !== undefined) return no("field", flaw);
  if (read.body === "") return no("field", "it says nothing below its frontmatter");
  // Checked above: texts, and metadata a map of texts.
  const { "allowed-tools": allowed, ...fields } = read.fields as Pick<Skill, (typeof TEXTS)[number]> & {
    readonly "allowed-tools"?: string;
  };
  return {
    skill: {
      ...fields,
      // Separated by spaces or commas, except inside brackets: `Read Bash(git add:*)`.
      ...(allowed !== undefined && { allowedTools: allowed.match(/[^\s,(]+(?:\([^)]*\))?/g) ?? [] }),
      folder,
      digest: digestOf(bytes),
    },
    instructions: read.body,
  };
}

export function textOf(bytes: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return text.includes("\0") ? undefined : text;
  } catch {
    return undefined;
  }
}

function flawOf(fields: Frontmatter, directory: string): string | undefined {
  const unknown = Object.keys(fields).find((field) => !FIELDS.includes(field));
  if (unknown !== undefined) {
    const meant = nearestOf(unknown, FIELDS);
    return `there is no field ${JSON.stringify(unknown)}${meant === undefined ? `: further ones belong under metadata` : `: did you mean ${JSON.stringify(meant)}?`}`;
  }
  const { name, description, compatibility, metadata } = fields;
  for (const field of FIELDS)
    if (field !== "metadata" && typeof fields[field] === "object") return `its ${field} is a map, not a text`;
  if (name === undefined) return "it has no name";
  if (!isSkillName(name as string))
    return `its name is ${JSON.stringify(name)}: 1 to 64 of a-z, 0-9 and single "-" inside`;
  if (name !== directory)
    return `its name is ${JSON.stringify(name)}, and its directory ${JSON.stringify(directory)}`;
  if (description === undefined || (description as string).trim() === "") return "it has no description";
  if ([...(description as string)].length > MAX_DESCRIPTION)
    return `its description has more than ${MAX_DESCRIPTION} characters`;
  if (compatibility === "") return "its compatibility is empty";
  if (compatibility !== undefined && [...(compatibility as string)].length > MAX_COMPATIBILITY)
    return `its compatibility has more than ${MAX_COMPATIBILITY} characters`;
  if (metadata !== undefined && typeof metadata !== "object")
    return "its metadata is a text, not a map of texts";
  return undefined;
}

export function isSkillName(name: string): boolean {
  return name.length <= 64 && /^[a-z0-9]+(-[a-z0-9]+)*$/.test(name);
}

/** The fields of a SKILL.md above its instructions: texts, and maps of texts. */
export type Frontmatter = { readonly [key: string]: string | { readonly [key: string]: string } };

export type ReadFrontmatter =
  | { readonly ok: true; readonly fields: Frontmatter; readonly body: string }
  | { readonly ok: false; readonly line: number; readonly reason: string };

/**
 * Reads Markdown with frontmatter: texts and one level of maps. Anything else in the YAML is refused with its
 * line. Scalars are texts: `version: 1.0` is "1.0".
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
    return {
      ok: true,
      fields: textsIn(contents, yaml, 1),
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
