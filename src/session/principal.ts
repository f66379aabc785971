import type { Principal, PrincipalKind } from "./fact/index.js";

/** The kinds of principals, as the type names them. */
export const PRINCIPAL_KINDS: readonly PrincipalKind[] = [
  "user",
  "agent",
  "workflow",
  "tool",
  "runtime",
  "service",
];

const PRINCIPAL = new RegExp(`^(${PRINCIPAL_KINDS.join("|")})(:.+)?$`, "s");

/** Whether this names somebody who could have acted: a kind, or a kind and a name. */
export function isPrincipal(value: unknown): value is Principal {
  return typeof value === "string" && PRINCIPAL.test(value);
}

/** Whether this is a person, by name or not. */
export function isPerson(by: string): boolean {
  return by === "user" || by.startsWith("user:");
}

/** Whether this is the body of a workflow: the program that asks, and not a person. */
export function isWorkflow(by: string): boolean {
  return by === "workflow" || by.startsWith("workflow:");
}

/** The name of an agent; undefined for others, and for an agent without a name. */
export function agentIn(by: Principal): string | undefined {
  return by.startsWith("agent:") ? by.slice("agent:".length) : undefined;
}
