/**
 * Names from open-telemetry/semantic-conventions-genai at this commit. They are in development; a test holds
 * the export against this list.
 */
export const CONVENTIONS_COMMIT = "002c8a6ea1c8a42b14a4527db83b3cabcded610a";

export const OPERATION = {
  chat: "chat",
  tool: "execute_tool",
  agent: "invoke_agent",
  workflow: "invoke_workflow",
  createStore: "create_memory_store",
  create: "create_memory",
  search: "search_memory",
  update: "update_memory",
  delete: "delete_memory",
} as const;

/** Other operations that a model answers: they are read like `chat`. */
export const INFERENCE: ReadonlySet<string> = new Set(["chat", "generate_content", "text_completion"]);
export const MEMORY: ReadonlySet<string> = new Set([
  ..."create_memory_store delete_memory_store create_memory search_memory".split(" "),
  ..."update_memory upsert_memory delete_memory".split(" "),
]);

export const GEN_AI = {
  operation: "gen_ai.operation.name",
  provider: "gen_ai.provider.name",
  conversation: "gen_ai.conversation.id",
  agent: "gen_ai.agent.name",
  workflow: "gen_ai.workflow.name",
  requestModel: "gen_ai.request.model",
  temperature: "gen_ai.request.temperature",
  topP: "gen_ai.request.top_p",
  topK: "gen_ai.request.top_k",
  maxTokens: "gen_ai.request.max_tokens",
  seed: "gen_ai.request.seed",
  stop: "gen_ai.request.stop_sequences",
  presencePenalty: "gen_ai.request.presence_penalty",
  frequencyPenalty: "gen_ai.request.frequency_penalty",
  outputType: "gen_ai.output.type",
  responseId: "gen_ai.response.id",
  responseModel: "gen_ai.response.model",
  finish: "gen_ai.response.finish_reasons",
  inputTokens: "gen_ai.usage.input_tokens",
  outputTokens: "gen_ai.usage.output_tokens",
  cachedTokens: "gen_ai.usage.cache_read.input_tokens",
  reasoningTokens: "gen_ai.usage.reasoning.output_tokens",
  instructions: "gen_ai.system_instructions",
  inputMessages: "gen_ai.input.messages",
  outputMessages: "gen_ai.output.messages",
  toolDefinitions: "gen_ai.tool.definitions",
  toolName: "gen_ai.tool.name",
  toolType: "gen_ai.tool.type",
  toolCall: "gen_ai.tool.call.id",
  toolArguments: "gen_ai.tool.call.arguments",
  toolResult: "gen_ai.tool.call.result",
  memoryStore: "gen_ai.memory.store.id",
  memoryRecord: "gen_ai.memory.record.id",
  memoryCount: "gen_ai.memory.record.count",
  memoryQuery: "gen_ai.memory.query.text",
  memoryRecords: "gen_ai.memory.records",
  evaluation: "gen_ai.evaluation.name",
  score: "gen_ai.evaluation.score.value",
  label: "gen_ai.evaluation.score.label",
  explanation: "gen_ai.evaluation.explanation",
} as const;

/** Parameters of a call of a model: their names in the record and in the conventions. */
export const PARAMETERS: readonly (readonly [recorded: string, attribute: string])[] = [
  ["temperature", GEN_AI.temperature],
  ["topP", GEN_AI.topP],
  ["topK", GEN_AI.topK],
  ["maxOutputTokens", GEN_AI.maxTokens],
  ["seed", GEN_AI.seed],
  ["presencePenalty", GEN_AI.presencePenalty],
  ["frequencyPenalty", GEN_AI.frequencyPenalty],
];

/** Attributes that are always doubles, also when they are whole numbers. */
export const DOUBLES: ReadonlySet<string> = new Set([
  GEN_AI.temperature,
  GEN_AI.topP,
  GEN_AI.topK,
  GEN_AI.presencePenalty,
  GEN_AI.frequencyPenalty,
  GEN_AI.score,
  "openrath.cost",
]);

export const EVALUATION_EVENT = "gen_ai.evaluation.result";
/** General conventions. Langfuse and OpenInference group by the session. */
export const ERROR_TYPE = "error.type";
export const SESSION = "session.id";
export const SERVICE = "service.name";

/** Our own names: where a span comes from in the record. */
export const OURS = {
  operation: "openrath.operation",
  fact: "openrath.fact",
  parents: "openrath.parents",
  branch: "openrath.branch",
  endBranch: "openrath.branch.end",
  by: "openrath.by",
  run: "openrath.run",
  seq: "openrath.seq",
  sandbox: "openrath.sandbox",
  cost: "openrath.cost",
  pending: "openrath.pending",
  step: "openrath.step.name",
  adopt: "openrath.adopt",
  why: "openrath.why",
  link: "openrath.link",
  omitted: "openrath.messages.omitted",
  head: "openrath.session.head",
  passed: "openrath.passed",
  input: "openrath.step.input",
  value: "openrath.step.value",
} as const;

/** Providers by the names of their models, as far as those tell. */
const PROVIDERS: readonly (readonly [RegExp, string])[] = [
  [/^(gpt-|o\d|chatgpt-|text-embedding-)/, "openai"],
  [/^claude-/, "anthropic"],
  [/^gemini-/, "gcp.gen_ai"],
  [/^(mistral|codestral|ministral|magistral)-/, "mistral_ai"],
  [/^deepseek-/, "deepseek"],
  [/^grok-/, "x_ai"],
  [/^command-/, "cohere"],
];

/** The conventions want a provider for every call of a model; the record has none. */
export function providerOf(model: string): string {
  return PROVIDERS.find(([pattern]) => pattern.test(model))?.[1] ?? "unknown";
}
