import { type Body, type Item, isFilled, isObject, listOf, loneHalves } from "./body.js";

/**
 * OpenAI chat completions, from its reference: an assistant message with tool calls must be followed by tool messages
 * that answer each id; a tool message must answer a call of the message before; ids have at most 40 characters; names
 * are ^[a-zA-Z0-9_-]{1,64}$; content is not empty.
 */
export function openaiChatFaults(body: Body): readonly string[] {
  const faults = loneHalves(body);
  const messages = listOf(body.messages);
  if (messages.length === 0) faults.push("no messages");
  const ids = new Set<string>();
  let open: string[] = [];
  messages.forEach((message, place) => {
    const at = `messages[${place}] (${message.role})`;
    if (message.role === "tool") {
      const id = String(message.tool_call_id);
      if (!open.includes(id)) faults.push(`${at} answers ${id}, which is not open`);
      open = open.filter((other) => other !== id);
      if (!isFilled(message.content)) faults.push(`${at} is empty`);
      return;
    }
    if (open.length > 0) faults.push(`${at} comes before results of ${open.join(", ")}`);
    open = [];
    if (message.role === "assistant") {
      const calls = listOf(message.tool_calls);
      if (!isFilled(message.content) && !(message.content === null && calls.length > 0))
        faults.push(`${at} is empty`);
      if (message.tool_calls !== undefined && calls.length === 0)
        faults.push(`${at} has an empty list of calls`);
      for (const call of calls) {
        faults.push(...callFaults(call, ids).map((fault) => `${at} ${fault}`));
        open.push(String(call.id));
      }
    } else if (message.role === "user" || message.role === "system" || message.role === "developer") {
      faults.push(...contentFaults(message.content).map((fault) => `${at} ${fault}`));
    } else faults.push(`${at} has an unknown role`);
  });
  if (open.length > 0) faults.push(`no results of ${open.join(", ")}`);
  return faults;
}

function callFaults(call: Item, ids: Set<string>): readonly string[] {
  const faults: string[] = [];
  const { id } = call;
  const { name, arguments: input } = call.function as Item;
  if (!isFilled(id) || id.length > 40) faults.push(`has a call with the id ${JSON.stringify(id)}`);
  if (ids.has(String(id))) faults.push(`uses the id ${id} again`);
  ids.add(String(id));
  if (!/^[a-zA-Z0-9_-]{1,64}$/.test(String(name))) faults.push(`calls ${JSON.stringify(name)}`);
  try {
    if (!isObject(JSON.parse(String(input)))) faults.push("has arguments that are no object");
  } catch {
    faults.push("has arguments that are no JSON");
  }
  return faults;
}

function contentFaults(content: unknown): readonly string[] {
  if (typeof content === "string") return isFilled(content) ? [] : ["is empty"];
  const parts = listOf(content);
  if (parts.length === 0) return ["is empty"];
  return parts.flatMap((part) => {
    if (part.type === "text") return isFilled(part.text) ? [] : ["has an empty text"];
    if (part.type === "image_url") {
      const url = (part.image_url as Item | undefined)?.url;
      return isFilled(url) && !/;base64,$/.test(url) ? [] : ["has an image without data"];
    }
    return part.type === "file" || part.type === "input_audio" ? [] : [`has a part of type ${part.type}`];
  });
}
