import type { Json } from "../../../session/index.js";
import { type Fields, isFields } from "../fields.js";

/** Whether a state is one of the Python SDK, whose names have underscores. */
export function isPython(state: Fields): boolean {
  return Object.hasOwn(state, "current_agent") && !Object.hasOwn(state, "currentAgent");
}

/** A state of the Python SDK with the names of the JavaScript SDK, where these are read. Values stay. */
export function renamed(state: Fields): Fields {
  const named = withNames(state, STATE);
  return {
    ...named,
    ...mapped(named, "originalInput", rawItem),
    ...mapped(named, "modelResponses", response),
    ...mapped(named, "generatedItems", runItem),
    ...(isFields(named.lastModelResponse) && { lastModelResponse: response(named.lastModelResponse) }),
    ...(isFields(named.currentStep) && { currentStep: step(named.currentStep) }),
  };
}

type Names = { readonly [from: string]: string };

const STATE: Names = {
  current_agent: "currentAgent",
  original_input: "originalInput",
  model_responses: "modelResponses",
  generated_items: "generatedItems",
  last_model_response: "lastModelResponse",
  last_processed_response: "lastProcessedResponse",
  current_step: "currentStep",
};

function withNames(value: Fields, names: Names): Fields {
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => {
      const name = Object.hasOwn(names, key) ? (names[key] as string) : key;
      return [Object.hasOwn(value, name) ? key : name, inner];
    }),
  );
}

function mapped(holder: Fields, key: string, map: (item: Json) => Json): Fields {
  const list = holder[key];
  return Array.isArray(list) ? { [key]: (list as readonly Json[]).map(map) } : {};
}

function response(value: Json): Json {
  if (!isFields(value)) return value;
  const named = withNames(value, { response_id: "responseId" });
  const usage = isFields(named.usage)
    ? { usage: withNames(named.usage, { input_tokens: "inputTokens", output_tokens: "outputTokens" }) }
    : {};
  return { ...named, ...usage, ...mapped(named, "output", rawItem) };
}

function runItem(value: Json): Json {
  if (!isFields(value)) return value;
  const named = withNames(value, { raw_item: "rawItem", tool_name: "toolName" });
  return named.rawItem === undefined ? named : { ...named, rawItem: rawItem(named.rawItem) };
}

function rawItem(value: Json): Json {
  return isFields(value) ? withNames(value, { call_id: "callId" }) : value;
}

function step(value: Fields): Fields {
  return isFields(value.data)
    ? { ...value, data: { ...value.data, ...mapped(value.data, "interruptions", runItem) } }
    : value;
}
