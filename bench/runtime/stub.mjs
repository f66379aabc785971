// @ts-check
// The same stub for everybody: calls one tool with 200 bytes of arguments at every turn but the last.

export const echoSchema = /** @type {const} */ ({
  type: "object",
  properties: { text: { type: "string" } },
  required: ["text"],
  additionalProperties: false,
});
const args = JSON.stringify({ text: "x".repeat(200) });

/** A reply as an AI SDK model of specification V3 gives it. @param {number} turn @param {number} steps @returns {any} */
export function reply(turn, steps) {
  const last = turn >= steps;
  return {
    content: last
      ? [{ type: "text", text: "done" }]
      : [{ type: "tool-call", toolCallId: `call-${turn}`, toolName: "echo", input: args }],
    finishReason: { unified: last ? "stop" : "tool-calls", raw: undefined },
    usage: {
      inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: 5, text: 5, reasoning: 0 },
    },
    warnings: [],
  };
}
