import type { Json } from "../../session/index.js";
import { isSameList } from "../../util/index.js";
import { type ContentPart, content } from "./content.js";

/** Less room than this would hold little more than the note about what was left out. */
export const MIN_OUTPUT = 200;
/** Characters (of base64) in all files of one output. They do not count as text, and no model takes more. */
const MAX_FILES = 20_000_000;
/** How much of what is kept of a long text is its beginning; the rest is its end, where errors stand. */
const HEAD = 3 / 4;

/** The text, or its beginning and end around a note: at most `most` long, never cut inside a character. */
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
 * The value with long texts cut until its JSON without files fits, else that JSON as a cut text. Files stay
 * whole: providers refuse a part of one.
 */
export function bounded(value: Json, most: number): Json {
  if (typeof value === "string") return cutText(value, most);
  const { kept, files } = withFiles(value);
  if (roomAfter(kept, most) >= 0) return kept;
  for (let cap = most / 2; cap >= MIN_OUTPUT; cap /= 2) {
    const whole = Math.floor(cap);
    if (roomAfter(kept, most, whole) >= 0)
      return mapped(kept, (inner) =>
        typeof inner === "string" ? cutText(inner, whole) : lessOf(inner, whole),
      );
  }
  const text = cutText(JSON.stringify(files.length === 0 ? kept : withoutData(kept)), most);
  return files.length === 0 ? text : content([{ type: "text", text }, ...files]);
}

/** The room left by the JSON of a value with its texts cut, without files. It stops when none is left. */
function roomAfter(value: Json, room: number, cap?: number): number {
  if (typeof value === "string") return afterText(cap === undefined ? value : cutText(value, cap), room);
  if (typeof value !== "object" || value === null) return room - String(value).length;
  const replaced = cap === undefined ? undefined : lessOf(value, cap);
  const shown = replaced ?? value;
  const inside = replaced === undefined ? cap : undefined;
  const file = fileOf(shown);
  const hidden = file !== undefined && SEEN.test(file.media);
  // Its brackets, and a comma before all but the first.
  let left = room - 2;
  if (Array.isArray(shown)) {
    for (let place = 0; place < shown.length && left >= 0; place++)
      left = roomAfter(shown[place] as Json, left - (place === 0 ? 0 : 1), inside);
    return left;
  }
  let first = true;
  for (const key of Object.keys(shown)) {
    if (left < 0) return left;
    const inner = hidden && key === "data" ? "" : ((shown as { readonly [key: string]: Json })[key] as Json);
    left = roomAfter(inner, afterText(key, left - (first ? 1 : 2)), inside);
    first = false;
  }
  return left;
}

function afterText(text: string, room: number): number {
  // Escaped it is longer still, which only matters where it might fit.
  return text.length + 2 > room ? -1 : room - JSON.stringify(text).length;
}

/** Files that models look at. They read others as text, including drawings that are text. */
const SEEN = /^(image\/(?!svg)|audio\/|video\/)|^application\/pdf$/i;
/** A file in a list of contents: ours, MCP's, or the AI SDK's. */
const FILE = /^(file|image|audio|media)(-data)?$/;

type File = { readonly media: string; readonly data: string; readonly name?: string };

function fileOf(value: Json): File | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  const { type } = value as { readonly [key: string]: Json };
  if (typeof type !== "string" || !FILE.test(type)) return undefined;
  const { data, media, mediaType, mimeType, name, filename } = value as { readonly [key: string]: Json };
  const kind = media ?? mediaType ?? mimeType;
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

/** The replacement of a file when texts are cut: a visible file stays, another becomes text. */
function lessOf(value: Json, cap: number): Json | undefined {
  const file = fileOf(value);
  if (file === undefined) return undefined;
  return SEEN.test(file.media) || file.data.length <= cap ? value : noteOfFile(file);
}

function withoutData(value: Json): Json {
  return mapped(value, (inner) => {
    const file = fileOf(inner);
    return file !== undefined && SEEN.test(file.media) ? { ...(inner as object), data: "" } : undefined;
  });
}

/** The value with parts replaced, outermost first; undefined descends. Unchanged parts are not copied. */
function mapped(value: Json, replace: (inner: Json) => Json | undefined): Json {
  const replaced = replace(value);
  if (replaced !== undefined) return replaced;
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    const list = value.map((inner: Json) => mapped(inner, replace));
    return isSameList(list, value) ? value : list;
  }
  const fields = value as { readonly [key: string]: Json };
  const entries = Object.keys(fields).map((key) => [key, mapped(fields[key] as Json, replace)] as const);
  // Makes an own field of "__proto__" too.
  return entries.every(([key, inner]) => inner === fields[key]) ? value : Object.fromEntries(entries);
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

/** Whether a place is inside of a character. */
export function splits(text: string, place: number): boolean {
  return (text.codePointAt(place - 1) ?? 0) > 0xffff;
}
