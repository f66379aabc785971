import type { Json } from "../session/index.js";

/** Whether a person can answer it. */
export function asked({ kind }: { readonly kind: string }): boolean {
  return kind === "approval" || kind === "signal";
}

/** What a person reads. */
export function messageOf(kind: string, shown: Json): string {
  const { message } = (shown ?? {}) as { readonly message?: unknown };
  if (typeof message === "string") return message;
  return kind === "approval"
    ? `Do you agree to this? ${JSON.stringify(shown)}`
    : `It waits for: ${JSON.stringify(shown)}`;
}

/** The form that a person fills in. */
export function formOf(kind: string, shown: Json): object {
  const { schema } = (shown ?? {}) as { readonly schema?: object };
  if (kind !== "approval")
    return schema ?? { type: "object", properties: { value: { type: "string" } }, required: ["value"] };
  return {
    type: "object",
    properties: { approve: { type: "boolean", title: "Approve" }, why: { type: "string", title: "Why" } },
    required: ["approve"],
  };
}
