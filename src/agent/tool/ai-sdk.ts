import type { Effect, Json } from "../../session/index.js";
import { isPromise } from "../../util/index.js";
import { type ContentPart, content } from "./content.js";
import { ToolDefinitionError, ToolReportedError, ToolSchemaError } from "./error.js";
import { jsonOfOutput } from "./json.js";
import { hosted, isProviderObject, providerSpec } from "./provider-tool.js";
import type { CheckResult, InputChecker } from "./schema.js";
import { customChecker, inputChecker, isStandard, issuesOf } from "./schema.js";
import { build, checkName, clientTool, type Tool, type ToolContext } from "./tool.js";

/** The result of `tool()` and `dynamicTool()` of the AI SDK 5 to 7. Functions are checked when called. */
export interface AiSdkTool {
  readonly inputSchema: unknown;
  readonly outputSchema?: unknown;
  readonly description?: unknown;
  readonly title?: unknown;
  readonly type?: unknown;
  readonly needsApproval?: unknown;
  readonly execute?: unknown;
  readonly toModelOutput?: unknown;
}

export type AiSdkOptions<Name extends string = string> = {
  /** Their effect on the world, one for all or one for each. The AI SDK does not know it. */
  readonly effect: Effect | { readonly [name in Name]: Effect };
  /** The value that `execute` gets as `context` (version 7) and `experimental_context` (before). */
  readonly context?: unknown;
  /** Say 5 when they come from version 5 and use `toModelOutput`: there it is given the output alone. */
  readonly sdk?: 5;
};

/** Tools of the AI SDK as tools of ours, in their order. They get no `messages`: those are the AI SDK's own. */
export function fromAiSdk<Name extends string>(
  tools: { readonly [name in Name]: AiSdkTool },
  options: AiSdkOptions<Name>,
): Tool[] {
  return Object.entries<AiSdkTool>(tools).map(([name, given]) => adopted(name, given, options));
}

function adopted(name: string, given: AiSdkTool, options: AiSdkOptions): Tool {
  checkName(name);
  const { execute, needsApproval = false } = given;
  const effect = typeof options.effect === "string" ? options.effect : options.effect[name];
  const provider = isProviderObject(given) ? providerSpec(name, given as never) : undefined;
  if (execute === undefined && provider !== undefined)
    return hosted(provider, name, effect as Effect, schemaOf(name, given.inputSchema));
  if (execute === undefined) {
    if (needsApproval !== false)
      throw new ToolDefinitionError(
        name,
        "it has no execute, so that a client does it, and it wants an approval before",
        "ask for the approval with a policy, and leave needsApproval out",
      );
    const description = describe(name, given, options.context);
    const input = schemaOf(name, given.inputSchema);
    return clientTool({ name, description, effect: effect as Effect }, input, outputOf(given.outputSchema));
  }
  if (!isFunction(execute))
    throw new ToolDefinitionError(
      name,
      "its execute is not a function",
      "leave it out where the user interface does it",
    );
  const made = build(
    {
      name,
      description: describe(name, given, options.context),
      effect: effect as Effect,
      approval: (input) => {
        if (!isFunction(needsApproval)) return needsApproval === true;
        const answer = needsApproval(input, callOptions("", undefined, options.context));
        if (isPromise(answer)) Promise.resolve(answer).catch(() => undefined);
        // One that takes its time cannot be asked in a replay, so it is asked of a person.
        return isPromise(answer) || answer === true;
      },
      async run(input, context) {
        const call = callOptions(context.call, context.signal, options.context);
        const output = await finalOf(execute.call(given, input, call), context);
        if (!isFunction(given.toModelOutput)) return output;
        const whole = options.sdk === 5 ? output : { toolCallId: context.call, input, output };
        return shown(name, (await given.toModelOutput.call(given, whole)) as ModelOutput);
      },
    },
    { input: schemaOf(name, given.inputSchema) },
  );
  return provider === undefined ? made : Object.freeze({ ...made, provider });
}

type Callable = (...given: unknown[]) => unknown;

function callOptions(call: string, signal: AbortSignal | undefined, context: unknown): object {
  return { toolCallId: call, messages: [], abortSignal: signal, context, experimental_context: context };
}

function describe(name: string, { description, title }: AiSdkTool, context: unknown): string {
  const words = isFunction(description) ? description({ context }) : description;
  return [words, title, name].find((text) => typeof text === "string" && text !== "") as string;
}

/** Of a tool that tells how far it is, the last word counts and the others go to the observers. */
async function finalOf(result: unknown, context: ToolContext): Promise<unknown> {
  if (!isIterable(result)) return result;
  let last: unknown;
  for await (const output of result) {
    context.signal.throwIfAborted();
    last = output;
    tell(output, context);
  }
  return last;
}

/** A value that JSON cannot hold may still become one that it can. */
function tell(output: unknown, context: ToolContext): void {
  let delta: Json;
  try {
    delta = jsonOfOutput(output);
  } catch {
    return;
  }
  context.emit(delta);
}

type ModelOutput = { readonly type: string; readonly value?: unknown; readonly reason?: unknown };
type ModelPart = { readonly type: string; readonly [field: string]: unknown };

function shown(name: string, output: ModelOutput): unknown {
  switch (output.type) {
    case "content":
      return content((output.value as readonly ModelPart[]).map(partOf));
    case "error-text":
      throw new ToolReportedError(name, String(output.value), null);
    case "error-json": {
      const report = jsonOfOutput(output.value);
      throw new ToolReportedError(name, JSON.stringify(report), report);
    }
    case "execution-denied":
      throw new ToolReportedError(name, `It was not allowed: ${output.reason ?? "no reason given"}`, null);
    default:
      return output.value;
  }
}

function partOf(part: ModelPart): ContentPart {
  const { data, url, mediaType, filename } = part;
  const more = typeof filename === "string" ? { name: filename } : {};
  const file = (shown: unknown, media = mediaType): ContentPart => {
    return { type: "file", media: String(media), data: String(shown), ...more };
  };
  switch (part.type) {
    case "text":
      return { type: "text", text: String(part.text) };
    case "media":
    case "file-data":
    case "image-data":
      return file(data);
    case "file-url":
    case "image-url":
      return file(url, mediaType ?? fallback[part.type]);
    case "file": {
      // Version 7: what it is stands in `data`.
      const { type, ...held } = data as { readonly type: string; readonly [field: string]: unknown };
      if (type === "text") return { type: "text", text: String(held.text) };
      if (type === "url") return file(held.url);
      if (type === "data") return file(base64(held.data));
    }
  }
  // Files that only one provider knows, and parts of later versions: shown as what they are.
  return { type: "text", text: JSON.stringify(jsonOfOutput(part)) };
}

const fallback: { readonly [type: string]: string } = {
  "file-url": "application/octet-stream",
  "image-url": "image/*",
};

function base64(data: unknown): string {
  if (ArrayBuffer.isView(data))
    return Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString("base64");
  return data instanceof ArrayBuffer ? Buffer.from(data).toString("base64") : String(data);
}

function schemaOf(name: string, given: unknown): InputChecker {
  const refuse = (reason: string, hint: string) => new ToolSchemaError(name, "input", reason, hint);
  if (isStandard(given)) {
    if ("jsonSchema" in given["~standard"]) return inputChecker(name, given);
    throw refuse(
      `this ${given["~standard"].vendor} schema does not say what it is as a JSON Schema`,
      'wrap it: zodSchema(schema) from "ai" for zod before 4.2, valibotSchema(schema) from "@ai-sdk/valibot"',
    );
  }
  const { jsonSchema, validate } = ((isFunction(given) ? given() : given) ?? {}) as AiSdkSchema;
  if (isPromise(jsonSchema))
    throw refuse("its JSON Schema is a promise", "await it first: jsonSchema(await schema)");
  const check = isFunction(validate) ? async (value: unknown) => resultOf(await validate(value)) : undefined;
  return customChecker(name, jsonSchema ?? { type: "object", properties: {} }, check);
}

/** The schema of an output, as it is or as the AI SDK wraps it. */
function outputOf(schema: unknown): unknown {
  if (schema === undefined || isStandard(schema)) return schema;
  return ((isFunction(schema) ? schema() : schema) as AiSdkSchema).jsonSchema;
}

type AiSdkSchema = { readonly jsonSchema?: unknown; readonly validate?: unknown };

function resultOf(result: unknown): CheckResult {
  const { success, value, error } = result as { success: boolean; value?: unknown; error?: unknown };
  if (success) return { ok: true, value };
  const { issues, message } = (error ?? {}) as { issues?: unknown; message?: unknown };
  if (Array.isArray(issues)) return { ok: false, issues: issuesOf(issues) };
  return { ok: false, issues: [{ path: "", message: String(message ?? error ?? "it does not fit") }] };
}

function isFunction(value: unknown): value is Callable {
  return typeof value === "function";
}

function isIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}
