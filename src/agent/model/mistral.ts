import { createHash } from "node:crypto";

type Said = { readonly role: string; readonly content: readonly { readonly toolCallId?: string }[] | string };

/** Words between results and what the user says next: Mistral refuses a user who speaks directly after a tool. */
const BETWEEN = { role: "assistant", content: [{ type: "text", text: "[The results are there.]" }] };

/** Messages as Mistral takes them: ids of calls are nine letters and digits, and no user speaks directly after a tool. */
export function forMistral(messages: readonly object[]): object[] {
  let before: string | undefined;
  return (messages as readonly Said[]).flatMap((message) => {
    const { role, content } = message;
    const between = role === "user" && before === "tool" ? [BETWEEN] : [];
    before = role;
    if (typeof content === "string") return [...between, message];
    const parts = content.map((part) =>
      part.toolCallId === undefined ? part : { ...part, toolCallId: shortId(part.toolCallId) },
    );
    return [...between, { ...message, content: parts }];
  });
}

function shortId(id: string): string {
  if (/^[a-zA-Z0-9]{9}$/.test(id)) return id;
  const number = BigInt(`0x${createHash("sha256").update(id).digest("hex").slice(0, 16)}`);
  return number.toString(36).padStart(9, "0").slice(-9);
}
