/** What stands between the two lines of three dashes: texts, and maps of texts. */
export type Frontmatter = { readonly [key: string]: string | { readonly [key: string]: string } };

export type Parted =
  | { readonly ok: true; readonly fields: Frontmatter; readonly body: string }
  | { readonly ok: false; readonly line: number; readonly reason: string };

/**
 * Takes a Markdown file with frontmatter apart. Of YAML it reads what skills are written in: keys at the left margin with
 * plain, quoted or block texts, and one level of maps. Whatever else YAML has words for is refused with its line, never
 * guessed: a reader that is lenient here and another that is not would see two different skills. What it accepts, it reads
 * as YAML does where every scalar is a text.
 */
export function partedOf(text: string): Parted {
  const lines = text.replace(/^\uFEFF/, "").split(/\r?\n/);
  if (lines[0]?.trimEnd() !== "---")
    return { ok: false, line: 1, reason: "it does not begin with a line ---" };
  const end = lines.findIndex((line, place) => place > 0 && line.trimEnd() === "---");
  if (end === -1) return { ok: false, line: 1, reason: "its frontmatter has no end: a second line ---" };
  try {
    const fields = new Reader(lines.slice(1, end)).map(0);
    return {
      ok: true,
      fields,
      body: lines
        .slice(end + 1)
        .join("\n")
        .trim(),
    };
  } catch (error) {
    if (!(error instanceof Flaw)) throw error;
    // Counted in the file: its first line is the opening ---.
    return { ok: false, line: error.place + 2, reason: error.message };
  }
}

class Flaw extends Error {
  readonly place: number;

  constructor(place: number, reason: string) {
    super(reason);
    this.place = place;
  }
}

const ENTRY = /^([A-Za-z_][A-Za-z0-9_.-]*):(?:[ ]+(.*))?$/;
/** What would mean something else than text at the beginning of a plain one. */
const INDICATOR = /^[-?:,[\]{}#&*!|>'"%@`]/;
const FOLDED_ESCAPES = /^"(?:[^"\\]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"$/;

class Reader {
  readonly #lines: readonly string[];
  #at = 0;

  constructor(lines: readonly string[]) {
    this.#lines = lines;
    for (const [place, line] of lines.entries()) {
      if (line.includes("\t")) throw new Flaw(place, "it holds a tab, which YAML takes in some places only");
      // Characters that YAML itself refuses, and those that it breaks lines at.
      // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
      if (/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]/u.test(line))
        throw new Flaw(place, "it holds a character that YAML does not take");
    }
  }

  map<Depth extends 0 | 1>(depth: Depth): Depth extends 0 ? Frontmatter : { readonly [key: string]: string } {
    const fields = new Map<string, Frontmatter[string]>();
    let indent = depth === 0 ? 0 : -1;
    for (; this.#at < this.#lines.length; ) {
      const line = this.#line;
      if (isBlank(line)) {
        this.#at += 1;
        continue;
      }
      const here = indentOf(line);
      if (indent === -1) indent = here;
      if (here < indent) break;
      if (here > indent) throw new Flaw(this.#at, "it is indented and belongs to nothing");
      const [found, key = "", rest = ""] = ENTRY.exec(line.slice(indent).trimEnd()) ?? [];
      if (found === undefined) throw new Flaw(this.#at, "it is not of the form key: value");
      if (fields.has(key)) throw new Flaw(this.#at, `the key ${JSON.stringify(key)} comes twice`);
      fields.set(key, this.#value(rest, indent, depth));
    }
    // Makes an own field of "__proto__" too.
    return Object.fromEntries(fields) as ReturnType<typeof this.map<Depth>>;
  }

  #value(rest: string, indent: number, depth: 0 | 1): Frontmatter[string] {
    const place = this.#at;
    this.#at += 1;
    if (/^[|>]/.test(rest)) return this.#block(rest, indent, place);
    if (rest.startsWith('"') || rest.startsWith("'")) return this.#alone(quoted(rest, place), indent);
    if (rest !== "" && !rest.startsWith("#")) return this.#plain(rest, indent, place);
    const next = this.#lines.slice(this.#at).find((line) => !isBlank(line));
    if (next === undefined || indentOf(next) <= indent) return "";
    if (depth === 1) throw new Flaw(place, "it is nested too deep");
    return this.map(1);
  }

  /** A text on one line; whatever is indented under it would belong to it. */
  #alone(text: string, indent: number): string {
    const next = this.#lines[this.#at];
    if (next !== undefined && !isBlank(next) && indentOf(next) > indent)
      throw new Flaw(this.#at, "a quoted text goes on here: write it on one line, or as a block (>-)");
    return text;
  }

  #plain(rest: string, indent: number, place: number): string {
    const pieces = [plainLine(rest, place)];
    let closed = rest !== uncommented(rest);
    while (this.#at < this.#lines.length) {
      const line = this.#line;
      if (line.trim() === "") {
        // An empty line inside is a line break in YAML; at the end it is nothing.
        const next = this.#lines.slice(this.#at).find((one) => one.trim() !== "");
        if (next !== undefined && indentOf(next) > indent)
          throw new Flaw(this.#at, "an empty line is inside a plain text: write it as a block (|)");
        break;
      }
      if (indentOf(line) <= indent) break;
      if (closed || line.trimStart().startsWith("#"))
        throw new Flaw(this.#at, "a comment is inside a text that goes on");
      closed = line.trim() !== uncommented(line.trim());
      pieces.push(plainLine(line.trim(), this.#at, true));
      this.#at += 1;
    }
    return pieces.join(" ");
  }

  #block(head: string, indent: number, place: number): string {
    const [found, style, chomp = ""] = /^([|>])([-+]?)(?: +#.*)?$/.exec(head) ?? [];
    if (found === undefined) throw new Flaw(place, "a block begins with | or >, and - or + at most");
    const lines: string[] = [];
    let inner = -1;
    for (; this.#at < this.#lines.length; this.#at++) {
      const line = this.#line;
      if (/^ *$/.test(line)) {
        if (inner === -1 ? line.length > indent : line.length > inner)
          throw new Flaw(this.#at, "a line of a block is made of spaces alone");
        lines.push("");
        continue;
      }
      const here = indentOf(line);
      if (inner === -1 && here > indent) inner = here;
      if (here < inner || inner === -1) {
        if (here > indent) throw new Flaw(this.#at, "it is indented less than the block it is in");
        break;
      }
      lines.push(line.slice(inner));
    }
    if (inner === -1) throw new Flaw(place, "its block is empty");
    const last = lines.findLastIndex((line) => line !== "");
    const text = lines.slice(0, last + 1);
    const after = chomp === "+" ? "\n".repeat(lines.length - last) : chomp === "-" ? "" : "\n";
    return (style === "|" ? text.join("\n") : folded(text, place)) + after;
  }

  get #line(): string {
    return this.#lines[this.#at] as string;
  }
}

function plainLine(text: string, place: number, further = false): string {
  const value = uncommented(text);
  if (!further && INDICATOR.test(value))
    throw new Flaw(place, "it begins with a sign that YAML reads otherwise: quote it");
  if (/:(\s|$)/.test(value)) throw new Flaw(place, "it holds a colon that YAML reads as a key: quote it");
  if (further && /^(---|\.\.\.)/.test(value)) throw new Flaw(place, "it begins like the end of a document");
  return value;
}

function uncommented(text: string): string {
  return text.replace(/\s+#.*$/, "").trimEnd();
}

function quoted(rest: string, place: number): string {
  const single = /^'((?:[^']|'')*)'(?:\s+#.*)?$/.exec(rest);
  if (single !== null) return (single[1] as string).replaceAll("''", "'");
  const text = rest.replace(/^("(?:[^"\\]|\\.)*")\s+#.*$/, "$1");
  if (!FOLDED_ESCAPES.test(text))
    throw new Flaw(place, "its quotes are not closed, or it escapes what JSON does not");
  const value = JSON.parse(text) as string;
  if (!value.isWellFormed()) throw new Flaw(place, "it escapes half of a character");
  return value;
}

/** One line where lines follow each other, a break for each empty one between them. */
function folded(lines: readonly string[], place: number): string {
  let text = "";
  let empty = 0;
  for (const [index, line] of lines.entries()) {
    if (line === "") {
      empty += 1;
      continue;
    }
    if (/^\s/.test(line)) throw new Flaw(place, "a line of its folded block is indented further: use |");
    if (empty > 0) text += "\n".repeat(empty);
    else if (index > 0) text += " ";
    text += line;
    empty = 0;
  }
  return text;
}

function isBlank(line: string): boolean {
  return /^\s*(#.*)?$/.test(line);
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length;
}
