import type { CallOptions, Generated, LanguageModel } from "../../agent/model/index.js";
import type { Json } from "../../session/index.js";
import { inputFor, signatureOf, toolCalled, type Written, wordsOf } from "./argument.js";
import { FINISH, readStep } from "./episode.js";

/**
 * Lets a model that cannot call tools use them: it sees them as text, writes `Thought / Action /
 * Observation`, and this is read as calls. The record has the same facts as for any other model.
 *
 * ```ts
 * const clerk = agent({ name: "clerk", model: withTextCalls(old), tools: [search] });
 * ```
 */
export function withTextCalls(model: LanguageModel): LanguageModel {
  // The caller refuses a value that is not a model, with a better message.
  if (typeof (model as Partial<LanguageModel> | undefined)?.doGenerate !== "function") return model;
  const { specificationVersion, provider, modelId } = model;
  return Object.freeze<LanguageModel>({
    specificationVersion,
    provider,
    modelId,
    async doGenerate(options) {
      const { tools = [], toolChoice: _, stopSequences = [], prompt, ...rest } = options as Options;
      const known = tools.map(({ inputSchema, ...tool }) => ({ ...tool, input: inputSchema }));
      const stops = [...stopSequences, "\nObservation"];
      const asked = { ...rest, prompt: told(prompt, known), stopSequences: stops };
      return read(await model.doGenerate(asked), known);
    },
    doStream: () =>
      Promise.reject(new Error(`The replies of ${modelId} are read as a whole: they cannot be streamed.`)),
  });
}

type Options = CallOptions & {
  readonly tools?: readonly {
    readonly name: string;
    readonly description?: string;
    readonly inputSchema: Json;
  }[];
  readonly toolChoice?: unknown;
  readonly stopSequences?: readonly string[];
};
type Part = { readonly type: string; readonly [field: string]: unknown };
type Told = { readonly role: string; readonly content: string | readonly Part[] };

/** A reply whose action is a call. Text after it, such as an invented observation, is dropped. */
function read(reply: Generated, tools: readonly Written[]): Generated {
  const parts = reply.content as readonly Part[];
  const { said, left, action } = readStep(spoken(parts));
  const tool = action === undefined ? undefined : toolCalled(action.tool, tools);
  return {
    ...reply,
    content: [
      ...parts.filter(({ type }) => type !== "text" && type !== "tool-call"),
      { type: "text", text: said, ...(left !== "" && { providerMetadata: { react: { left } } }) },
      ...(action === undefined || action.tool === FINISH
        ? []
        : [
            {
              type: "tool-call",
              toolCallId: "",
              toolName: tool?.name ?? action.tool,
              input: JSON.stringify(inputFor(action.argument, tool?.input ?? null)),
            },
          ]),
    ],
  };
}

/** The prompt as plain conversation: what was called and what came of it are words of the two sides. */
function told(prompt: readonly object[], tools: readonly Written[]): readonly object[] {
  const rules = rulesFor(tools);
  const messages = prompt as readonly Told[];
  const system = messages.find(({ role }) => role === "system")?.content;
  const said: Told[] = [
    { role: "system", content: typeof system === "string" ? `${system}\n\n${rules}` : rules },
  ];
  let step = 0;
  const user = (content: readonly Part[]): void => {
    const last = said.at(-1) as Told;
    const before = last.role === "user" ? ((said.pop() as Told).content as readonly Part[]) : [];
    said.push({ role: "user", content: joined([...before, ...content]) });
  };
  for (const { role, content } of messages) {
    const parts = typeof content === "string" ? [] : content;
    if (role === "assistant") {
      const words = wordsIn(parts, step + 1);
      const { number, action } = readStep(words);
      if (action !== undefined) step = number ?? step + 1;
      said.push({ role, content: [...parts.filter(({ type }) => type === "reasoning"), text(words)] });
    } else if (role === "tool")
      user(parts.map(({ output }) => text(`Observation ${step}: ${outputText(output as Output)}`)));
    else if (role === "user") user(parts);
  }
  return said;
}

/** Words that follow each other as one text: the simplest endpoints take nothing else. */
function joined(parts: readonly Part[]): readonly Part[] {
  const all: Part[] = [];
  for (const part of parts) {
    const last = all.at(-1);
    if (part.type === "text" && last?.type === "text")
      all[all.length - 1] = text(`${last.text}\n${part.text}`);
    else all.push(part);
  }
  return all;
}

function wordsIn(parts: readonly Part[], step: number): string {
  const words = spoken(parts);
  if (readStep(words).action !== undefined) return words;
  const actions = parts
    .filter(({ type }) => type === "tool-call")
    .map(({ toolName, input }) => `Action ${step}: ${toolName}[${wordsOf(input as Json)}]`);
  return [...(words === "" ? [] : [words]), ...actions].join("\n");
}

function rulesFor(tools: readonly Written[]): string {
  const lines = tools.map((tool) => {
    const { description = "" } = tool;
    return `- ${signatureOf(tool, ["[", "]"])}${description === "" ? "" : `: ${description}`}`;
  });
  return [
    "Work in steps. In each step write one thought and one action, and nothing after the action:",
    "Thought 1: what you think",
    "Action 1: Tool[what the tool takes]",
    "Then you are told Observation 1: what came of it. The actions are:",
    ...lines,
    `- ${FINISH}[answer]: ends it with the answer.`,
  ].join("\n");
}

type Output = { readonly type: string; readonly value: unknown };

function outputText({ value }: Output): string {
  if (typeof value === "string") return value;
  if (!Array.isArray(value)) return JSON.stringify(value);
  return (value as readonly Part[])
    .map((item) => (item.type === "text" ? String(item.text) : `[${item.type}]`))
    .join("\n");
}

function spoken(parts: readonly Part[]): string {
  return parts.map((part) => (part.type === "text" ? String(part.text) : "")).join("");
}

function text(words: string): Part {
  return { type: "text", text: words };
}
