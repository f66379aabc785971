import { createHash } from "node:crypto";
import { OWN, ownMeta } from "./content.js";
import type { LanguageModel } from "./model.js";
import { isUrl, NO_RESULT, note, outputText, text } from "./part.js";
import type {
  AssistantPart,
  CallPart,
  FilePart,
  Options,
  Output,
  Prompt,
  PromptMessage,
  ResultPart,
} from "./prompt.js";

type Spoken = { readonly message: object; readonly files: readonly object[] };

const known = new WeakMap<PromptMessage, Map<string, Spoken>>();

/**
 * Messages in the words of a model's AI SDK version: files, tool results, and, as text, calls of tools that
 * other providers ran and files that this one does not take.
 */
export function inDialect(model: LanguageModel, { messages, plain }: Prompt): object[] {
  const { specificationVersion: version, provider } = model;
  const finish = MISTRAL.test(provider) ? forMistral : (all: readonly object[]) => [...all];
  if (plain) return finish(messages);
  const key = `${version} ${provider}`;
  const said: object[] = [];
  let brought: readonly object[] = [];
  for (const message of messages) {
    const spoken =
      message.role === "system" || isPlain(message) ? { message, files: [] } : translate(message);
    // After all results of the turn, and one message with what the user says next.
    if (brought.length > 0 && message.role === "user") {
      const { content } = spoken.message as { readonly content: readonly object[] };
      said.push({ role: "user", content: [...brought, ...content] });
    } else if (brought.length > 0) said.push({ role: "user", content: brought }, spoken.message);
    else said.push(spoken.message);
    brought = spoken.files;
  }
  if (brought.length > 0) said.push({ role: "user", content: brought });
  return finish(said);

  function translate(message: Exclude<PromptMessage, { role: "system" }>): Spoken {
    const before = known.get(message) ?? new Map<string, Spoken>();
    const spoken = before.get(key) ?? {
      message: translated(message, version, provider),
      files: message.role === "tool" ? filesAfter(message.content, version, provider) : [],
    };
    known.set(message, before.set(key, spoken));
    return spoken;
  }
}

/** Whether all versions and providers are told it the same way. */
export function isPlain(message: PromptMessage): boolean {
  if (message.role === "system") return true;
  return (message.content as readonly AssistantPart[]).every(
    (part) =>
      part.type !== "file" &&
      part.providerOptions?.[OWN] === undefined &&
      !(part.type === "tool-call" && part.providerExecuted === true) &&
      !(part.type === "tool-result" && (message.role === "assistant" || part.output.type === "content")),
  );
}

type Version = LanguageModel["specificationVersion"];

function translated(
  { role, content }: Exclude<PromptMessage, { role: "system" }>,
  version: Version,
  provider: string,
): object {
  const parts: readonly AssistantPart[] = content;
  const spoken = parts.flatMap((part): object[] => {
    const providerOptions = foreign(part.providerOptions);
    const rest = { ...part, ...(providerOptions && { providerOptions }) };
    if (providerOptions === undefined) delete (rest as { providerOptions?: Options }).providerOptions;
    switch (part.type) {
      case "file":
        if (role === "user" && !takesFile(provider, part)) return [text(note(part))];
        return [{ ...rest, data: dataFor(part.data, version) }];
      case "tool-call": {
        if (part.providerExecuted !== true) return [rest];
        const result = parts.find(
          (other): other is ResultPart =>
            other.type === "tool-result" && other.toolCallId === part.toolCallId,
        );
        return isOwn(part, result, provider) ? [rest] : [text(report(part, result))];
      }
      case "tool-result": {
        if (role === "tool") return [{ ...rest, output: outputFor(part.output, version, provider) }];
        const call = parts.find(
          (other): other is CallPart => other.type === "tool-call" && other.toolCallId === part.toolCallId,
        );
        return call !== undefined && isOwn(call, part, provider) ? [rest] : [];
      }
      default:
        return [rest];
    }
  });
  return { role, content: spoken };
}

function foreign(options: Options | undefined): Options | undefined {
  if (options?.[OWN] === undefined) return options;
  const { [OWN]: _, ...rest } = options;
  return Object.keys(rest).length === 0 ? undefined : rest;
}

/** Whether a tool was run by this provider, so that it knows call and result again. */
function isOwn(call: CallPart, result: ResultPart | undefined, provider: string): boolean {
  const ran = [call, result].map((part) => ownMeta(part?.providerOptions).provider);
  if (ran.some((by) => by !== provider)) return false;
  // Google takes back only what has its server's id, and reads anything else as a call to us.
  if (provider.startsWith("google"))
    return Object.values(call.providerOptions ?? {}).some((options) => "serverToolCallId" in options);
  // OpenAI's chat API runs no tools, so its clients take every call for one to us.
  return !speaksChat(provider);
}

function report(call: CallPart, result: ResultPart | undefined): string {
  const given = result === undefined ? NO_RESULT : outputText(result.output);
  return `[The provider ran ${call.toolName} with ${JSON.stringify(call.input)} and got:]\n${given}`;
}

function dataFor(data: string, version: Version): unknown {
  if (version !== "v4") return isUrl(data) ? new URL(data) : data;
  return isUrl(data) ? { type: "url", url: new URL(data) } : { type: "data", data };
}

function outputFor(output: Output, version: Version, provider: string): object {
  if (output.type !== "content") return output;
  const [words, ...files] = output.value;
  const asText = speaksChat(provider);
  // The oldest version has no word for a file that a tool found somewhere.
  const isTaken = (file: FilePart) =>
    asText
      ? takesAfterResults(provider, file)
      : takesFile(provider, file) && (version !== "v2" || !isUrl(file.data));
  // With the text that is there already: some providers count the texts as results.
  const named = [words.text, ...files.filter((file) => !isTaken(file)).map(note)].join("\n");
  if (asText) return { type: "text", value: named };
  const items = files.filter(isTaken).map((file) => itemFor(file, version));
  return { type: "content", value: [{ ...words, text: named }, ...items] };
}

/** The files of results that are only text, each tool's behind a word on where they come from. */
function filesAfter(results: readonly ResultPart[], version: Version, provider: string): readonly object[] {
  if (!speaksChat(provider)) return [];
  return results.flatMap(({ toolName, toolCallId, output }) => {
    const [, ...files] = output.type === "content" ? output.value : [];
    const taken = files.filter((file) => takesAfterResults(provider, file));
    if (taken.length === 0) return [];
    const parts = taken.map((file) => ({ ...file, data: dataFor(file.data, version) }));
    return [text(`[From the tool ${toolName}, call ${toolCallId}:]`), ...parts];
  });
}

function itemFor({ mediaType, data, filename }: FilePart, version: Version): object {
  const name = filename === undefined ? {} : { filename };
  if (version === "v4") return { type: "file", mediaType, data: dataFor(data, version), ...name };
  if (version === "v2") return { type: "media", mediaType, data };
  const image = mediaType.startsWith("image/");
  if (isUrl(data))
    return image ? { type: "image-url", url: data } : { type: "file-url", url: data, mediaType };
  return image ? { type: "image-data", mediaType, data } : { type: "file-data", mediaType, data, ...name };
}

const OPENAI = /^(openai|azure(-openai)?)\./;
const MISTRAL = /^mistral\./;

/** Whether a provider takes a file from the user. Of those that are not known here it is believed. */
export function takesFile(provider: string, { mediaType, data }: FilePart): boolean {
  const isPicture = mediaType.startsWith("image/");
  const isDocument = mediaType === "application/pdf";
  // Google's own addresses mean nothing to others.
  const isHere = !/^gs:/i.test(data);
  if (/(^|\.)anthropic\./.test(provider)) return isHere && (isPicture || isDocument);
  if (OPENAI.test(provider) && provider.endsWith(".responses")) return isHere && (isPicture || isDocument);
  if (!speaksChat(provider) || MISTRAL.test(provider)) return true;
  if (isPicture) return isHere;
  return !isUrl(data) && (isDocument || /^audio\/(wav|mp3|mpeg)$/.test(mediaType));
}

/** Whether a provider speaks OpenAI's chat API, where a tool's result is text only. Google's does not. */
export function speaksChat(provider: string): boolean {
  return provider.endsWith(".chat") && !provider.startsWith("google");
}

/** Whether a file may follow a tool's result as the user's. OpenAI takes all, others images, Mistral none. */
export function takesAfterResults(provider: string, file: FilePart): boolean {
  if (!takesFile(provider, file) || MISTRAL.test(provider)) return false;
  return OPENAI.test(provider) || file.mediaType.startsWith("image/");
}

type MistralMessage = {
  readonly role: string;
  readonly content: readonly { readonly toolCallId?: string }[] | string;
};

/** Words between results and what the user says next: Mistral refuses a user who speaks directly after a tool. */
const BETWEEN = { role: "assistant", content: [{ type: "text", text: "[The results are there.]" }] };

/** Messages as Mistral takes them: ids of calls are nine letters and digits, and no user speaks directly after a tool. */
function forMistral(messages: readonly object[]): object[] {
  let before: string | undefined;
  return (messages as readonly MistralMessage[]).flatMap((message) => {
    const { role, content } = message;
    const between = role === "user" && before === "tool" ? [BETWEEN] : [];
    before = role;
    if (typeof content === "string") return [...between, message];
    const parts = content.map((part) =>
      part.toolCallId === undefined ? part : { ...part, toolCallId: shortId(part.toolCallId) },
    );
    return [...between, { ...message, content: parts }];
  });
}

function shortId(id: string): string {
  if (/^[a-zA-Z0-9]{9}$/.test(id)) return id;
  const number = BigInt(`0x${createHash("sha256").update(id).digest("hex").slice(0, 16)}`);
  return number.toString(36).padStart(9, "0").slice(-9);
}
