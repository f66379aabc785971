import { type Body, type Item, isFilled, listOf, loneHalves } from "./body.js";

/**
 * OpenAI responses, from its reference: each function_call has one function_call_output after it with its call_id and
 * no output stands alone; call ids have at most 64 characters; no item is named twice; a reasoning item is followed by
 * what came of it; content is not empty.
 */
export function openaiResponsesFaults(body: Body): readonly string[] {
  const faults = loneHalves(body);
  const input = listOf(body.input);
  if (input.length === 0) faults.push("no input");
  const open = new Set<string>();
  const calls = new Set<string>();
  const items = new Set<string>();
  input.forEach((item, place) => {
    const at = `input[${place}] (${item.type ?? item.role})`;
    if (typeof item.id === "string") {
      if (items.has(item.id)) faults.push(`${at} names the item ${item.id} again`);
      items.add(item.id);
    }
    switch (item.type ?? "message") {
      case "message":
        faults.push(...messageFaults(item).map((fault) => `${at} ${fault}`));
        return;
      case "function_call": {
        const id = item.call_id;
        if (!isFilled(id) || id.length > 64) faults.push(`${at} has the call_id ${JSON.stringify(id)}`);
        if (calls.has(String(id))) faults.push(`${at} uses the call_id ${id} again`);
        calls.add(String(id));
        open.add(String(id));
        if (!/^[a-zA-Z0-9_-]{1,64}$/.test(String(item.name))) faults.push(`${at} calls ${item.name}`);
        if (!isJsonObject(item.arguments)) faults.push(`${at} has arguments that are no object`);
        return;
      }
      case "function_call_output":
        if (!open.delete(String(item.call_id)))
          faults.push(`${at} answers ${item.call_id}, which is not open`);
        if (!isFilled(item.output) && listOf(item.output).length === 0) faults.push(`${at} is empty`);
        return;
      case "reasoning": {
        const next = input[place + 1];
        if (next === undefined || next.role === "user" || next.type === "function_call_output")
          faults.push(`${at} is not followed by what came of it`);
        return;
      }
      case "item_reference":
      case "web_search_call":
        return;
      default:
        faults.push(`${at} has an unknown type`);
    }
  });
  if (open.size > 0) faults.push(`no output of ${[...open].join(", ")}`);
  return faults;
}

function messageFaults(item: Item): readonly string[] {
  if (!["user", "assistant", "system", "developer"].includes(String(item.role)))
    return ["has an unknown role"];
  if (typeof item.content === "string") return isFilled(item.content) ? [] : ["is empty"];
  const parts = listOf(item.content);
  if (parts.length === 0) return ["is empty"];
  return parts.flatMap((part) => {
    if (part.type === "input_text" || part.type === "output_text")
      return isFilled(part.text) ? [] : ["has an empty text"];
    return part.type === "input_image" || part.type === "input_file"
      ? []
      : [`has a part of type ${part.type}`];
  });
}

function isJsonObject(text: unknown): boolean {
  try {
    const value: unknown = JSON.parse(String(text));
    return typeof value === "object" && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}
