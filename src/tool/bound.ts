import type { Json } from "../session/index.js";
import { type ContentPart, content } from "./content.js";

/** Less room than this would hold little more than the note about what was left out. */
export const MIN_OUTPUT = 200;
/** Characters (of base64) in all files of one output. They do not count as text, and no model takes more. */
const MAX_FILES = 20_000_000;
/** How much of what is kept of a long text is its beginning; the rest is its end, where errors stand. */
const HEAD = 3 / 4;

/**
 * The text, or its beginning and its end around a note that says how much was left out: never longer than `most`
 * (at least `MIN_OUTPUT`), and never cut inside a character.
 */
export function cutText(text: string, most: number): string {
  if (text.length <= most) return text;
  const room = most - noteOf(text.length, text.length).length;
  let head = Math.ceil(room * HEAD);
  let tail = text.length - (room - head);
  if (splits(text, head)) head -= 1;
  if (splits(text, tail)) tail += 1;
  return text.slice(0, head) + noteOf(tail - head, text.length) + text.slice(tail);
}

/**
 * The value with long texts cut, so that its JSON without its files is not longer than `most`; where that does not
 * help, its JSON as a text that was cut, and the files. Files stay whole: half a picture is none, and providers
 * refuse the prompt.
 */
export function bounded(value: Json, most: number): Json {
  if (typeof value === "string") return cutText(value, most);
  const { kept, files } = withFiles(value);
  const json = textOf(kept);
  if (json.length <= most) return kept;
  for (let cap = most / 2; cap >= MIN_OUTPUT; cap /= 2) {
    const less = withTexts(kept, Math.floor(cap));
    if (textOf(less).length <= most) return less;
  }
  const text = cutText(json, most);
  return files.length === 0 ? text : content([{ type: "text", text }, ...files]);
}

/** What models look at; they read all other files as text, if at all: also a drawing that is one. */
const SEEN = /^(image\/(?!svg)|audio\/|video\/)|^application\/pdf$/i;
/** A file in a list of contents: ours, MCP's, or the AI SDK's. */
const FILE = /^(file|image|audio|media)(-data)?$/;

type File = { readonly media: string; readonly data: string; readonly name?: string };

function fileOf(value: Json): File | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  const { type, data, media, mediaType, mimeType, name, filename } = value as {
    readonly [key: string]: Json;
  };
  const kind = media ?? mediaType ?? mimeType;
  if (typeof type !== "string" || !FILE.test(type)) return undefined;
  if (typeof kind !== "string" || typeof data !== "string") return undefined;
  const called = name ?? filename;
  return { media: kind, data, ...(typeof called === "string" && { name: called }) };
}

/** The value with notes in the place of the files for which there is no room, and those that there is room for. */
function withFiles(value: Json): { readonly kept: Json; readonly files: readonly ContentPart[] } {
  const files: ContentPart[] = [];
  let room = MAX_FILES;
  const kept = mapped(value, (inner) => {
    const file = fileOf(inner);
    if (file === undefined || !SEEN.test(file.media)) return undefined;
    if (file.data.length > room) return noteOfFile(file);
    room -= file.data.length;
    files.push({ type: "file", ...file });
    return inner;
  });
  return { kept, files };
}

function withTexts(value: Json, cap: number): Json {
  return mapped(value, (inner) => {
    if (typeof inner === "string") return cutText(inner, cap);
    const file = fileOf(inner);
    if (file === undefined) return undefined;
    return SEEN.test(file.media) || file.data.length <= cap ? inner : noteOfFile(file);
  });
}

/** The value with parts of it replaced, from the outside in; undefined goes on inside. */
function mapped(value: Json, replace: (inner: Json) => Json | undefined): Json {
  const replaced = replace(value);
  if (replaced !== undefined) return replaced;
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => mapped(item, replace));
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, mapped(inner, replace)]));
}

/** The JSON of a value without the data of the files that models look at. */
function textOf(value: Json): string {
  return JSON.stringify(value, (_key, inner: Json) => {
    const file = fileOf(inner);
    return file !== undefined && SEEN.test(file.media) ? { ...(inner as object), data: "" } : inner;
  });
}

function noteOf(left: number, whole: number): string {
  return `\n[… ${left} of ${whole} characters left out …]\n`;
}

function noteOfFile({ media, data }: File): Json {
  const kind = cutText(media, MIN_OUTPUT);
  return {
    type: "text",
    text: `[a file of type ${kind} was left out: ${data.length} characters are too many]`,
  };
}

function splits(text: string, place: number): boolean {
  return isHigh(text.charCodeAt(place - 1)) && isLow(text.charCodeAt(place));
}

function isHigh(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

function isLow(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}
