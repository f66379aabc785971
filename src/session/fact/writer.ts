import { Withheld } from "../blob.js";
import { visibleText } from "../visible.js";
import type { FactId } from "./value.js";

/** How a fact is put into words. Only this differs between a terminal, a page, an audit and a list of deeds. */
export type Style = {
  /** The maximum number of characters of the whole sentence. */
  readonly most?: number;
  /** The maximum number of characters of each piece of content in it. */
  readonly each?: number;
  /** Puts other people's words in quotes. */
  readonly quotes?: boolean;
  /** The text in place of content that is not here. */
  readonly gone?: (content: Gone) => string;
  /** How another fact is called; by the beginning of its id unless this says otherwise. */
  readonly nameOf?: (id: FactId) => string | undefined;
};

/** Content that the record names but that is not here. */
export type Gone = Pick<Withheld, "reason" | "digest">;

/** The functions that write the sentences of facts. Every text of a record goes through it. */
export type Writer = {
  /** A name, data or a reason, on one line and not too long. */
  readonly words: (value: unknown) => string;
  /** The same for what somebody said or made, in quotes where the style wants them. */
  readonly quote: (value: unknown) => string;
  /** Another fact. */
  readonly named: (id: unknown) => string;
  /** The reason after a colon, or nothing. */
  readonly why: (reason: unknown) => string;
  /** The failure. */
  readonly problem: (error: unknown) => string;
};

export function writerOf({ each = 120, quotes = false, gone = goneText, nameOf }: Style): Writer {
  const words = (value: unknown): string => lineOf(textOf(value, gone), each);
  return {
    words,
    quote: (value) => (quotes && !(value instanceof Withheld) ? `"${words(value)}"` : words(value)),
    named: (id) => (typeof id === "string" ? (nameOf?.(id) ?? shortId(id)) : words(id)),
    why: (reason) => (reason === undefined ? "" : `: ${words(reason)}`),
    problem: (error) => words(problemOf(error)),
  };
}

/**
 * A text on one line and cut to a length, with an escape for each character that a reader would not see: texts of a
 * record may hold sequences that a terminal obeys.
 */
export function lineOf(text: string, most: number): string {
  // Cut first: a text may be of many megabytes.
  const start = text.slice(0, 4 * most);
  const line = visibleText(start.replace(/\s{2,}|[^\S ]/g, " ").trim()).toWellFormed();
  return line.length <= most && start.length === text.length
    ? line
    : `${line.slice(0, most - 1).toWellFormed()}…`;
}

/** Any value of a fact as text: the words of content, else JSON. */
export function textOf(value: unknown, gone: (content: Gone) => string = goneText): string {
  if (value === undefined) return "";
  if (typeof value === "string") return value;
  if (value instanceof Withheld) return gone(value);
  if (Array.isArray(value) && value.length > 0 && value.every(isPart))
    return value.map((part) => partText(part, gone)).join(" ");
  return JSON.stringify(value) ?? "";
}

/** As much of an id as people need. */
export function shortId(id: string): string {
  return id.slice(0, 12);
}

function goneText({ reason }: Gone): string {
  return `[${reason}]`;
}

type LoosePart = Partial<Gone> & {
  readonly type: string;
  readonly text?: unknown;
  readonly name?: unknown;
  readonly input?: unknown;
  readonly provider?: unknown;
};

function isPart(value: unknown): value is LoosePart {
  return typeof (value as { readonly type?: unknown } | null)?.type === "string";
}

function partText(part: LoosePart, gone: (content: Gone) => string): string {
  if (typeof part.text === "string") return part.text;
  if (part.type === "tool-call") {
    const verb = part.provider === true ? "the provider ran" : "calls";
    return `[${verb} ${textOf(part.name)} with ${textOf(part.input)}]`;
  }
  if (part.type === "withheld") return gone(part as Gone);
  return `[${part.type}${part.name === undefined ? "" : ` ${textOf(part.name)}`}]`;
}

/** The message of an error, or its name where it has none. */
function problemOf(error: unknown): unknown {
  if (error instanceof Withheld || typeof error !== "object" || error === null) return error;
  const { name, message } = error as { readonly name?: unknown; readonly message?: unknown };
  return message === undefined || message === "" ? name : message;
}
