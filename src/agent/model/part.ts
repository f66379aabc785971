import { createHash } from "node:crypto";
import type { Content, Edited, Failure, Json, Part } from "../../session/index.js";
import { isRecord } from "./content.js";
import type { FilePart, Options, Output, ReasoningPart, TextPart } from "./prompt.js";

export const NO_RESULT = "no result yet: it is under way, was interrupted, or is on another branch";
const NO_OUTPUT = "(no output)";

/** Words and files, as a user or an assistant may send them; nothing that is empty. */
export function shown(part: Part): TextPart | FilePart | undefined {
  switch (part.type) {
    case "text":
      return isBlank(part.text) ? undefined : text(part.text, part.meta);
    case "file":
      return fileOf(part.media, part.data, part.name, part.meta);
    case "withheld":
      return text(`[content ${part.reason}]`);
    default:
      return undefined;
  }
}

/** Reasoning that the provider wants back: it refuses any without its signature or id. */
export function thought(part: Part & { type: "reasoning" }): ReasoningPart | undefined {
  const options = optionsOf(part.meta);
  if (options.providerOptions === undefined) return undefined;
  return { type: "reasoning", text: isBlank(part.text) ? "" : part.text, ...options };
}

export function partsOf(content: Content): readonly Part[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : content;
}

export function text(words: string, meta?: Json): TextPart {
  return { type: "text", text: words, ...optionsOf(meta) };
}

/** The output of a tool in a form that every provider takes. An output that is not recorded is named as missing. */
export function outputOf(output: Json | undefined, error?: Failure): Output {
  if (error !== undefined)
    return { type: "error-text", value: withheldIn(error.data) ?? said(`${error.name}: ${error.message}`) };
  if (output === undefined) return { type: "error-text", value: NO_RESULT };
  const withheld = withheldIn(output);
  if (withheld !== undefined) return { type: "text", value: withheld };
  if (typeof output === "string") return { type: "text", value: said(output) };
  const list = listOf(output);
  if (list === undefined) return { type: "json", value: output };
  // One text first, whatever the list holds: some providers count the texts as results.
  const files = list.filter((item) => item.type === "file");
  const words = list.flatMap((item) => (item.type === "text" ? [item.text] : [])).join("\n");
  if (files.length === 0) return { type: "text", value: said(words) };
  const named = isBlank(words) ? files.map((file) => `[file ${file.mediaType}]`).join(" ") : words;
  return { type: "content", value: [text(named), ...files] };
}

/** The result, and before it that somebody else chose the arguments: who asked must not take it for what it asked for. */
export function edit(output: Output, edited: Edited | undefined): Output {
  if (edited === undefined) return output;
  const told = `[${edited.by} changed the input of this call to ${JSON.stringify(edited.input)}. This came of it:]`;
  if (output.type === "content") {
    const [words, ...files] = output.value;
    return { type: "content", value: [text(`${told}\n${words.text}`), ...files] };
  }
  const type = output.type === "text" || output.type === "json" ? "text" : "error-text";
  return { type, value: `${told}\n${outputText(output)}` };
}

export function outputText(output: Output): string {
  switch (output.type) {
    case "text":
    case "error-text":
      return output.value;
    case "json":
    case "error-json":
      return JSON.stringify(output.value);
    case "content":
      return output.value.map((item) => (item.type === "text" ? item.text : note(item))).join("\n");
  }
}

/** Every provider takes inputs that are objects; any other value is wrapped in one. */
export function inputOf(input: Json): { readonly [key: string]: Json } {
  return isRecord(input) ? input : { input };
}

/** Names that every provider takes: models invent others, and a late result may not know its tool's. */
export function nameOf(name: string): string {
  const clean = name.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, 64);
  return /^[A-Za-z_]/.test(clean) ? clean : `tool_${clean}`.slice(0, 64);
}

/** Ids that every provider takes. One that does not fit is replaced by the same one each time. */
export function idOf(call: string): string {
  if (/^[A-Za-z0-9_-]{1,40}$/.test(call)) return call;
  return `call_${createHash("sha256").update(call).digest("hex").slice(0, 24)}`;
}

export function optionsOf(meta: Json | undefined): { providerOptions?: Options } {
  if (!isRecord(meta)) return {};
  const entries = Object.entries(meta).filter(([, options]) => isRecord(options));
  return entries.length === 0 ? {} : { providerOptions: Object.fromEntries(entries) as Options };
}

export function isBlank(words: string): boolean {
  return words.trim() === "";
}

export function isUrl(data: string): boolean {
  return /^(https?|gs):\/\//i.test(data.slice(0, 8)) && URL.canParse(data);
}

export function note({ mediaType, filename, data }: FilePart): string {
  const name = filename === undefined ? "" : ` ${filename}`;
  return `[file${name} (${mediaType})${isUrl(data) ? ` at ${data}` : ""}]`;
}

const SHOWN = /^(image\/(?!svg)|audio\/|video\/).|^application\/pdf$/;
const TEXTUAL =
  /^text\/|^image\/svg|^application\/(.*\+)?(json|xml|yaml|toml|javascript|typescript|sql|x-sh)$/;

/** Pictures, sound and documents go as they are; text goes as text, which every model reads; the rest is named. */
function fileOf(media: string, data: string, name: string | undefined, meta?: Json): TextPart | FilePart {
  const inline = /^data:([^;,]*)(?:;[^,]*)?;base64,/i.exec(data.slice(0, 200));
  const file: FilePart = {
    type: "file",
    mediaType: (inline?.[1] || media).toLowerCase().split(";", 1)[0]?.trim() || "application/octet-stream",
    data: inline === null ? data : data.slice(inline[0].length),
    ...(name !== undefined && { filename: name }),
    ...optionsOf(meta),
  };
  const isReadable = isUrl(file.data) || /^[A-Za-z0-9+/]{2}[A-Za-z0-9+/=\s]*$/.test(file.data.slice(0, 64));
  if (isReadable && SHOWN.test(file.mediaType)) return file;
  if (!isReadable || isUrl(file.data) || !TEXTUAL.test(file.mediaType)) return text(note(file));
  return text(`${note(file)}\n${Buffer.from(file.data, "base64").toString("utf8")}`);
}

type Item = { readonly [key: string]: Json };

/** The parts of an output that is a list of texts and files: the AI SDK's, MCP's, or parts of ours. */
function listOf(output: Json): readonly (TextPart | FilePart)[] | undefined {
  const list = isRecord(output) ? (output.type === "content" ? output.value : output.content) : output;
  if (!Array.isArray(list) || list.length === 0) return undefined;
  const parts: (TextPart | FilePart)[] = [];
  for (const item of list as readonly Json[]) {
    const part = isRecord(item) ? itemOf(item) : undefined;
    if (part === undefined) return undefined;
    parts.push(part);
  }
  return parts;
}

function itemOf(item: Item): TextPart | FilePart | undefined {
  if (typeof item.type !== "string") return undefined;
  if (item.type === "text") return typeof item.text === "string" ? text(item.text) : undefined;
  if (!/^(file|image|audio|media)(-data|-url)?$/.test(item.type)) return undefined;
  const { data, url, mediaType, media, mimeType, filename, name } = item;
  const held = isRecord(data) ? (data.data ?? data.url) : (data ?? url);
  if (typeof held !== "string") return undefined;
  const type = [mediaType, media, mimeType].find((value) => typeof value === "string");
  const guess = item.type.startsWith("image") ? "image/*" : "application/octet-stream";
  const called = [filename, name].find((value) => typeof value === "string") as string | undefined;
  return fileOf((type as string | undefined) ?? guess, held, called);
}

/** Content that was taken away shows in a transcript as `{ withheld, digest, size }`. */
function withheldIn(output: Json | undefined): string | undefined {
  if (!isRecord(output) || typeof output.withheld !== "string") return undefined;
  const { withheld, digest, size, ...rest } = output;
  if (typeof digest !== "string" || typeof size !== "number" || Object.keys(rest).length > 0)
    return undefined;
  return `[content ${withheld}]`;
}

function said(words: string): string {
  return isBlank(words) ? NO_OUTPUT : words;
}
