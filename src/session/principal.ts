import type { Principal } from "./fact.js";

const PRINCIPAL = /^(user|agent|tool|runtime|service)(:.+)?$/s;

/** Whether this names somebody who could have acted: a kind, or a kind and a name. */
export function isPrincipal(value: unknown): value is Principal {
  return typeof value === "string" && PRINCIPAL.test(value);
}

/** Whether this is a person, by name or not. */
export function isPerson(by: string): boolean {
  return by === "user" || by.startsWith("user:");
}
