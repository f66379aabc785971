import { type Body, type Item, isFilled, isObject, listOf, loneHalves } from "./body.js";

/**
 * Gemini generateContent, from its reference and its error messages: the first content is the user's, none is empty; a
 * function call comes after the user's turn and is followed by a turn with as many function responses, of the same
 * names in order; a function response stands nowhere else.
 */
export function geminiFaults(body: Body): readonly string[] {
  const faults = loneHalves(body);
  const contents = listOf(body.contents);
  for (const part of listOf((body.systemInstruction as Item | undefined)?.parts))
    if (!isFilled(part.text)) faults.push("an empty system instruction");
  if (contents[0]?.role !== "user") faults.push("the first content is not the user's");
  if (contents.at(-1)?.role !== "user") faults.push("the last content is not the user's");
  let open: string[] = [];
  contents.forEach((content, place) => {
    const at = `contents[${place}] (${content.role})`;
    const parts = listOf(content.parts);
    if (parts.length === 0) faults.push(`${at} is empty`);
    for (const part of parts) {
      if ("text" in part && !isFilled(part.text)) faults.push(`${at} has an empty text`);
      if (Object.keys(part).every((key) => part[key] === undefined)) faults.push(`${at} has an empty part`);
    }
    const answered = parts.flatMap((part) => (part.functionResponse ? [nameOf(part.functionResponse)] : []));
    const asked = parts.flatMap((part) => (part.functionCall ? [nameOf(part.functionCall)] : []));
    if (answered.join() !== open.join())
      faults.push(`${at} has responses of [${answered}] where [${open}] were called`);
    if (content.role === "model") {
      if (contents[place - 1]?.role === "model") faults.push(`${at} follows one of the same role`);
      if (answered.length > 0) faults.push(`${at} has a function response`);
      for (const part of parts) {
        const call = part.functionCall as Item | undefined;
        if (call === undefined) continue;
        if (!/^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$/.test(String(call.name)))
          faults.push(`${at} calls ${call.name}`);
        if (!isObject(call.args)) faults.push(`${at} has args that are no object`);
      }
    } else if (content.role !== "user") faults.push(`${at} has an unknown role`);
    else if (asked.length > 0) faults.push(`${at} has a function call`);
    open = asked;
  });
  if (open.length > 0) faults.push(`no responses of ${open.join(", ")}`);
  return faults;
}

function nameOf(value: unknown): string {
  return String((value as Item).name);
}
