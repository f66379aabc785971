import { argumentsOf, isObject, type JsonObject } from "../fields.js";
import { anthropic } from "./anthropic.js";
import type { Provider } from "./api.js";
import { google } from "./google.js";
import { chatCompletions, responses } from "./openai.js";

const providers: readonly Provider[] = [chatCompletions, responses, anthropic, google];

export function providerFor(method: string, path: string): Provider | undefined {
  return method === "POST" ? providers.find((provider) => provider.path.test(path)) : undefined;
}

/** The data of the events of a stream. */
export function eventsIn(text: string): readonly JsonObject[] {
  return text.split(/\r?\n\r?\n/).flatMap((event) => {
    const data = event
      .split(/\r?\n/)
      .flatMap((line) => (line.startsWith("data:") ? [line.slice(5).trim()] : []))
      .join("\n");
    if (data === "" || data === "[DONE]") return [];
    const { input } = argumentsOf(data);
    return isObject(input) ? [input] : [];
  });
}
