import type { Json } from "../../../session/index.js";
import { defined } from "../../../util/index.js";
import { type Fields, fieldsOf, isFields, objectsOf, stringOf, wordsFor } from "../fields.js";
import { callPart, otherPart, type Provider, resultPart, textPart, tokens } from "./api.js";

/** The contents of Google. */
export const google: Provider = {
  path: /:(stream)?generateContent$/i,
  asked(body, path) {
    const counts = new Map<string, number>();
    const system = fieldsOf(body.systemInstruction ?? body.system_instruction);
    const words = objectsOf(system.parts)
      .map(({ text }) => wordsFor(text ?? ""))
      .join("\n");
    const messages = objectsOf(body.contents).map((content) => {
      const parts = objectsOf(content.parts).map((part) => partOf(part, counts));
      const isResult = parts.some(({ type }) => type === "tool_call_response");
      return { role: isResult ? "tool" : content.role === "model" ? "assistant" : "user", parts };
    });
    const [, model = "unknown"] = /models\/([^/:]+):/.exec(path) ?? [];
    return { model, ...(words !== "" && { instructions: words }), messages };
  },
  answered(body, { messages }) {
    const [candidate] = objectsOf(body.candidates);
    if (candidate === undefined) return undefined;
    // Calls without an id are told apart by how many there were before.
    const counts = new Map<string, number>();
    for (const { parts } of messages)
      for (const { type, name } of objectsOf(parts))
        if (type === "tool_call") counts.set(wordsFor(name), (counts.get(wordsFor(name)) ?? 0) + 1);
    const usage = fieldsOf(body.usageMetadata);
    return {
      parts: objectsOf(fieldsOf(candidate.content).parts).map((part) => partOf(part, counts)),
      finish: wordsFor(candidate.finishReason ?? "unknown"),
      usage: {
        input: tokens(usage.promptTokenCount),
        output: tokens(usage.candidatesTokenCount) + tokens(usage.thoughtsTokenCount),
        cached: tokens(usage.cachedContentTokenCount),
        reasoning: tokens(usage.thoughtsTokenCount),
      },
      ...defined({ id: stringOf(body.responseId), model: stringOf(body.modelVersion) }),
    };
  },
  joined(events) {
    const last = events.at(-1);
    if (last === undefined) return undefined;
    const candidates = events.flatMap((event) => objectsOf(event.candidates).slice(0, 1));
    const parts: { [field: string]: Json }[] = [];
    for (const part of candidates.flatMap(({ content }) => objectsOf(fieldsOf(content).parts))) {
      const before = parts.at(-1);
      const isMore =
        isPlainText(part) && before !== undefined && isPlainText(before) && part.thought === before.thought;
      if (isMore) before.text = `${before.text}${part.text}`;
      else parts.push({ ...part });
    }
    const finishReason = candidates.map((one) => one.finishReason).findLast((reason) => reason !== undefined);
    return {
      ...last,
      candidates: [{ content: { parts }, ...(finishReason !== undefined && { finishReason }) }],
    };
  },
};

function isPlainText(part: Fields): boolean {
  return (
    typeof part.text === "string" && Object.keys(part).every((key) => key === "text" || key === "thought")
  );
}

function partOf(part: Fields, counts: Map<string, number>): Fields {
  const { text, functionCall, functionResponse } = part;
  if (isFields(functionCall)) {
    const name = wordsFor(functionCall.name ?? "");
    const count = (counts.get(name) ?? 0) + 1;
    counts.set(name, count);
    return callPart(functionCall.id ?? `${name}-${count}`, name, functionCall.args ?? {});
  }
  if (isFields(functionResponse)) {
    const name = wordsFor(functionResponse.name ?? "");
    const id = functionResponse.id ?? `${name}-${counts.get(name) ?? 1}`;
    return resultPart(id, functionResponse.response);
  }
  if (typeof text === "string")
    return part.thought === true ? { type: "reasoning", content: text } : textPart(text);
  return otherPart(part);
}
