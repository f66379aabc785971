import type { Json } from "../../session/index.js";
import { type Signal, signal } from "../../workflow/index.js";

/** A question that the client of an MCP server can answer without a person. */
export type ClientQuestion = {
  readonly mcp: "sampling/createMessage" | "roots/list";
  readonly params?: Json;
};

/** What the client's model is asked: messages as the protocol writes them. */
export type ClientPrompt = {
  readonly messages: readonly {
    readonly role: "user" | "assistant";
    readonly content: { readonly type: "text"; readonly text: string };
  }[];
  readonly maxTokens: number;
  readonly systemPrompt?: string;
};

/**
 * Waits until the person at the client that called has filled in a form. The value is `{ action, content }`.
 *
 * ```ts
 * const who = clientForm("who", "What is your name?", { type: "object", properties: { name: { type: "string" } } });
 * ```
 */
export function clientForm(name: string, message: string, schema: Json): Signal {
  return signal(name, { message, schema });
}

/** Waits until the client's model has said something: `{ role, content, model }`. */
export function clientModel(name: string, prompt: ClientPrompt): Signal {
  return signal(name, { mcp: "sampling/createMessage", params: prompt });
}

/** Waits until the client has said which places it shares: `{ roots: [{ uri, name }] }`. */
export function clientRoots(name: string): Signal {
  return signal(name, { mcp: "roots/list" });
}

/** The question, if what somebody waits for is one of these. */
export function clientQuestion(shown: Json): ClientQuestion | undefined {
  const { mcp } = (typeof shown === "object" && shown !== null ? shown : {}) as { readonly mcp?: unknown };
  return mcp === "sampling/createMessage" || mcp === "roots/list" ? (shown as ClientQuestion) : undefined;
}
