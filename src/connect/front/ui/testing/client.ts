import { DefaultChatTransport as Transport6 } from "ai";
import { DefaultChatTransport as Transport5 } from "ai5";
import { DefaultChatTransport as Transport7 } from "ai7";
import { onTestFinished } from "vitest";
import type { Json } from "../../../../session/index.js";
import type { UiVersion } from "../index.js";
import { type Handler, serve } from "../index.js";

type Part = { readonly type: string; readonly state?: string; readonly [field: string]: unknown };
type Message = { readonly id: string; readonly role: string; readonly parts: readonly Part[] };

/** The `Chat` of a version, as far as all of them agree. */
export type Client = {
  messages: Message[];
  readonly status: string;
  readonly error: Error | undefined;
  sendMessage(
    message?: { text?: string; files?: unknown; id?: string; role?: string; parts?: readonly object[] },
    options?: { body?: object },
  ): Promise<void>;
  regenerate(): Promise<void>;
  resumeStream(): Promise<void>;
  stop(): Promise<void>;
  addToolApprovalResponse(answer: { id: string; approved: boolean; reason?: string }): Promise<void>;
  addToolResult(result: { tool: string; toolCallId: string; output: unknown }): Promise<void>;
};
type ChatOf = new (options: { id: string; transport: object; messages?: readonly object[] }) => Client;
type TransportOf = new (options: { api: string; headers: { [name: string]: string } }) => object;

const transports = { 5: Transport5, 6: Transport6, 7: Transport7 } as unknown as {
  [Version in UiVersion]: TransportOf;
};

/** Loaded when they are needed: each brings a copy of `ai` along. */
const chats = { 5: () => import("use-chat5"), 6: () => import("use-chat6"), 7: () => import("use-chat7") };

export const versions: readonly UiVersion[] = [5, 6, 7];

/** The chat that `useChat` of a version has inside. */
export async function clientOf(
  version: UiVersion,
  api: string,
  { id = "c1", who = "ada", messages = [] }: { id?: string; who?: string; messages?: readonly object[] } = {},
): Promise<Client> {
  const { Chat } = (await chats[version]()) as unknown as { readonly Chat: ChatOf };
  const client = new Chat({
    id,
    messages,
    transport: new transports[version]({ api, headers: { "x-who": who } }),
  });
  onTestFinished(() => client.stop());
  return client;
}

/** Serves a handler on the loopback interface until the test is over. */
export async function apiOf(handler: Handler): Promise<string> {
  const { url, close } = await serve(handler);
  onTestFinished(close);
  return `${url}/api/chat`;
}

export function textIn({ messages }: Pick<Client, "messages">): readonly string[] {
  return messages.map(({ role, parts }) => {
    const text = parts.map((part) => (part.type === "text" ? String(part.text) : "")).join("");
    return `${role}: ${text}`;
  });
}

/** Parts without what differs from one version of the client to the next. */
export function shapeOf(parts: readonly Part[]): readonly Json[] {
  return parts
    .filter(({ type }) => type !== "step-start")
    .map(({ type, state, text, input, output, errorText }) =>
      JSON.parse(JSON.stringify({ type, state, text, input, output, errorText })),
    );
}
