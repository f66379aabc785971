import { type Body, type Item, isFilled, isObject, listOf, loneHalves } from "./body.js";

/**
 * Anthropic messages, from its reference and its error messages: roles alternate and the first and last are the
 * user's; the message after tool_use begins with the tool_result blocks, one for each id; ids are ^[a-zA-Z0-9_-]+$ and
 * used once; text is not blank; thinking is not the end of a message; what the server ran has its result beside it.
 */
export function anthropicFaults(body: Body): readonly string[] {
  const faults = loneHalves(body);
  const messages = listOf(body.messages);
  for (const block of listOf(body.system)) if (!isFilled(block.text)) faults.push("an empty system text");
  if (messages[0]?.role !== "user") faults.push("the first message is not the user's");
  if (messages.at(-1)?.role !== "user") faults.push("the last message is not the user's");
  const ids = new Set<string>();
  let open: string[] = [];
  messages.forEach((message, place) => {
    const at = `messages[${place}] (${message.role})`;
    if (message.role === messages[place - 1]?.role) faults.push(`${at} follows one of the same role`);
    const content = listOf(message.content);
    if (content.length === 0) faults.push(`${at} is empty`);
    for (const block of content)
      if (block.type === "text" && !isFilled(block.text)) faults.push(`${at} has a blank text`);
    if (message.role === "user") {
      const results = content.filter((block) => block.type === "tool_result");
      if (content.slice(0, results.length).some((block) => block.type !== "tool_result"))
        faults.push(`${at} has something before its results`);
      const answered = results.map((block) => String(block.tool_use_id));
      if (answered.toSorted().join() !== open.toSorted().join())
        faults.push(`${at} answers [${answered}] where [${open}] are open`);
      for (const block of results) faults.push(...resultFaults(block).map((fault) => `${at} ${fault}`));
      open = [];
      return;
    }
    if (/thinking/.test(String(content.at(-1)?.type))) faults.push(`${at} ends with thinking`);
    open = [];
    const served = new Set<string>();
    for (const block of content) {
      if (block.type === "tool_use") {
        if (!/^[a-zA-Z0-9_-]+$/.test(String(block.id))) faults.push(`${at} has the id ${block.id}`);
        if (ids.has(String(block.id))) faults.push(`${at} uses the id ${block.id} again`);
        ids.add(String(block.id));
        open.push(String(block.id));
        if (!/^[a-zA-Z0-9_-]{1,128}$/.test(String(block.name))) faults.push(`${at} calls ${block.name}`);
        if (!isObject(block.input)) faults.push(`${at} has an input that is no object`);
      } else if (block.type === "server_tool_use") served.add(String(block.id));
      else if (/_tool_result$/.test(String(block.type))) served.delete(String(block.tool_use_id));
      else if (block.type === "tool_result") faults.push(`${at} has a result of its own`);
    }
    if (served.size > 0) faults.push(`${at} lacks the server's results of ${[...served]}`);
  });
  return faults;
}

function resultFaults(block: Item): readonly string[] {
  if (typeof block.content === "string") return isFilled(block.content) ? [] : ["has an empty result"];
  const parts = listOf(block.content);
  if (parts.length === 0) return ["has an empty result"];
  return parts.flatMap((part) =>
    part.type === "text" && !isFilled(part.text) ? ["has a blank result"] : [],
  );
}
