import type { Digest, Json } from "../../session/index.js";

/** A prompt in the AI SDK's form as plain JSON: file `data` is base64 or a URL. dialect.ts adapts it. */
export interface Prompt {
  readonly messages: readonly PromptMessage[];
  /** JSON lines: what is asked besides the messages (tools, output, parameters), then one message a line. */
  readonly text: string;
  readonly digest: Digest;
  /** About how many tokens it is: an estimate. */
  readonly tokens: number;
  /** How many messages of models are in view. */
  readonly replies: number;
  /** Whether every version of the AI SDK is told it the same way, as it is: no files, nothing that a provider ran. */
  readonly plain: boolean;
}

export type PromptMessage =
  | { readonly role: "system"; readonly content: string }
  | { readonly role: "user"; readonly content: readonly (TextPart | FilePart)[] }
  | { readonly role: "assistant"; readonly content: readonly AssistantPart[] }
  | { readonly role: "tool"; readonly content: readonly ResultPart[] };
export type AssistantPart = TextPart | FilePart | ReasoningPart | CallPart | ResultPart;

/** Options that go back to the provider with a part, by provider. */
export type Options = { readonly [provider: string]: { readonly [option: string]: Json } };
export type TextPart = { readonly type: "text"; readonly text: string; readonly providerOptions?: Options };
export type ReasoningPart = {
  readonly type: "reasoning";
  readonly text: string;
  readonly providerOptions?: Options;
};
export type FilePart = {
  readonly type: "file";
  readonly mediaType: string;
  readonly data: string;
  readonly filename?: string;
  readonly providerOptions?: Options;
};
export type CallPart = {
  readonly type: "tool-call";
  readonly toolCallId: string;
  readonly toolName: string;
  readonly input: { readonly [key: string]: Json };
  readonly providerExecuted?: true;
  readonly providerOptions?: Options;
};
export type ResultPart = {
  readonly type: "tool-result";
  readonly toolCallId: string;
  readonly toolName: string;
  readonly output: Output;
  readonly providerOptions?: Options;
};
export type Output =
  | { readonly type: "text" | "error-text"; readonly value: string }
  | { readonly type: "json" | "error-json"; readonly value: Json }
  | { readonly type: "content"; readonly value: readonly [TextPart, ...FilePart[]] };

/** About how many tokens a text has: per token four latin letters, two of other alphabets, one ideograph. */
export function estimateTokens(text: string): number {
  // Latin text is told by one look, which is many times as quick as its characters one by one.
  if (!/[\u0250-\uffff]/.test(text)) return Math.ceil(text.length / 4);
  let quarters = 0;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    quarters += code < 0x250 ? 1 : code < 0x2e80 ? 2 : code >= 0xd800 && code < 0xe000 ? 3 : 4;
  }
  return Math.ceil(quarters / 4);
}
