import type { Document, ParsedNode } from "yaml";
import { optionalPackage } from "../../agent/model/index.js";
import { RathError, thrownMessage } from "../../session/index.js";
import { isObject, nearestOf, showValue } from "../../util/index.js";
import { listed } from "../selector/error.js";

export type Inputs = { readonly [name: string]: string | number | boolean };

/** Fields that ask for nothing when they have this value. */
const HARMLESS: { readonly [field: string]: readonly unknown[] } = {
  verbose: [true, false],
  cache: [true, false],
  allow_delegation: [false],
  async_execution: [false],
  human_input: [false],
  markdown: [false],
};

/** Reasons why fields that CrewAI knows are refused, and another way to the same end. */
const INSTEAD: { readonly [field: string]: string } = {
  allow_delegation: 'process: "hierarchical" with a manager delegates',
  async_execution: "tasks run one after the other; use mapReduce or flow for parallel work",
  human_input: "put approve or signal into a workflow around the crew",
  tools: "give them to the agent that does the task",
  output_json: "give the task an `output` schema in crew({ tasks })",
  output_pydantic: "give the task an `output` schema in crew({ tasks })",
  output_file: "write crew.results(session) to the file",
};

const PLACEHOLDER = /\{([A-Za-z_][A-Za-z0-9_-]*)\}/g;

/** One of the two files, whose fields are taken one by one. */
export class CrewFile {
  readonly #file: string;
  readonly #document: Document.Parsed<ParsedNode> | undefined;
  readonly #lineAt: (offset: number) => number;
  readonly #entries: Entries;
  readonly #inputs: Inputs;
  readonly #taken = new Set<string>();
  readonly #ignored: ReadonlySet<string>;

  private constructor(file: string, given: Given, ignore: readonly string[], inputs: Inputs) {
    this.#file = file;
    this.#document = given.document;
    this.#lineAt = given.lineAt;
    this.#inputs = inputs;
    this.#ignored = new Set(ignore);
    const { value } = given;
    if (!isObject(value) || Array.isArray(value) || Object.keys(value).length === 0)
      throw new CrewFileError(`${file} is not a map of names`, "name:\n  field: text", file);
    this.#entries = value as Entries;
    for (const [entry, fields] of Object.entries(value))
      if (!isObject(fields) || Array.isArray(fields))
        this.refuse(entry, undefined, `it is ${showValue(fields)}`, `${entry}:\n  field: text`);
  }

  static async read(
    file: string,
    given: unknown,
    ignore: readonly string[],
    inputs: Inputs,
  ): Promise<CrewFile> {
    if (typeof given !== "string")
      return new CrewFile(file, { value: given, lineAt: () => 0 }, ignore, inputs);
    const yaml = await optionalPackage("yaml", "agents.yaml and tasks.yaml", () => import("yaml"));
    const lines = new yaml.LineCounter();
    const lineAt = (offset: number): number => lines.linePos(offset).line;
    const document = yaml.parseDocument(given, { prettyErrors: false, lineCounter: lines });
    const [error] = document.errors;
    if (error !== undefined)
      throw new CrewFileError(
        `${file}, line ${lineAt(error.pos[0])}: ${error.message}`,
        "correct the line",
        file,
      );
    const plain = { value: plainOf(document, file), document, lineAt };
    return new CrewFile(file, plain, ignore, inputs);
  }

  get names(): readonly string[] {
    return Object.keys(this.#entries);
  }

  has(entry: string, field: string): boolean {
    return this.#take(entry, field) !== undefined;
  }

  /** A text with its placeholders filled in. */
  text(entry: string, field: string): string | undefined {
    const value = this.#take(entry, field);
    if (value === undefined) return undefined;
    if (typeof value !== "string")
      return this.refuse(entry, field, `it is ${showValue(value)}`, `${field}: a text`);
    return value
      .replace(PLACEHOLDER, (_, name: string) => {
        const input = own(this.#inputs, name);
        return input === undefined
          ? this.refuse(entry, field, `nothing is given for {${name}}`, `inputs: { ${name}: "…" }`)
          : String(input);
      })
      .trim();
  }

  required(entry: string, field: string): string {
    return (
      this.text(entry, field) || this.refuse(entry, undefined, `its ${field} is missing`, `${field}: a text`)
    );
  }

  texts(entry: string, field: string): readonly string[] {
    const value = this.#take(entry, field) ?? [];
    if (Array.isArray(value) && value.every((one) => typeof one === "string")) return value;
    return this.refuse(entry, field, `it is ${showValue(value)}`, `${field}: [name]`);
  }

  count(entry: string, field: string): number | undefined {
    const value = this.#take(entry, field);
    if (value === undefined || (Number.isSafeInteger(value) && (value as number) > 0))
      return value as number | undefined;
    return this.refuse(entry, field, `it is ${showValue(value)}`, `${field}: 25`);
  }

  /** Refuses the first field that nobody took. */
  end(): void {
    for (const [entry, fields] of Object.entries(this.#entries))
      for (const [field, value] of Object.entries(fields)) {
        const isDone = this.#taken.has(JSON.stringify([entry, field])) || this.#ignored.has(field);
        if (isDone || value === null || own(HARMLESS, field)?.includes(value)) continue;
        const instead = own(INSTEAD, field);
        const leave = `leave it out, or ignore: [${JSON.stringify(field)}]`;
        this.refuse(
          entry,
          field,
          "the crew does not follow it",
          instead === undefined ? leave : `${instead}; ${leave}`,
        );
      }
  }

  refuse(entry: string, field: string | undefined, reason: string, hint: string): never {
    const path = field === undefined ? [entry] : [entry, field];
    const node = this.#document?.getIn(path, true) as { readonly range?: readonly number[] } | undefined;
    const offset = node?.range?.[0];
    const line = offset === undefined ? "" : `, line ${this.#lineAt(offset)}`;
    throw new CrewFileError(
      `${this.#file}${line}: ${path.join(".")}: ${reason}`,
      hint,
      `${this.#file}: ${path.join(".")}`,
    );
  }

  #take(entry: string, field: string): unknown {
    if (this.#ignored.has(field)) return undefined;
    this.#taken.add(JSON.stringify([entry, field]));
    return own(this.#entries[entry], field) ?? undefined;
  }
}

function plainOf(document: Document, file: string): unknown {
  try {
    // An alias may stand for millions of values.
    return document.toJS({ maxAliasCount: 100 });
  } catch (error) {
    throw new CrewFileError(`${file}: ${thrownMessage(error)}`, "write the values out", file);
  }
}

type Entries = { readonly [entry: string]: { readonly [field: string]: unknown } };
type Given = {
  readonly value: unknown;
  readonly document?: Document.Parsed<ParsedNode>;
  readonly lineAt: (offset: number) => number;
};

/** The files of a crew cannot be followed. */
export class CrewFileError extends RathError {
  constructor(reason: string, hint: string, where: string) {
    super("crew-file", `Cannot make a crew of its files: ${reason}.`, { hint, data: { reason, where } });
  }
}

export function own<Value>(
  map: { readonly [name: string]: Value } | undefined,
  name: string,
): Value | undefined {
  return map !== undefined && Object.hasOwn(map, name) ? map[name] : undefined;
}

/** The name that was meant, or the names that there are. */
export function hintFor(name: string, known: readonly string[]): string {
  const near = nearestOf(name, known);
  if (near !== undefined) return `did you mean ${JSON.stringify(near)}?`;
  return known.length === 0 ? "leave it out" : `there are ${listed(known)}`;
}
