import { expect } from "vitest";
import { digestOf, type Json, type Session } from "../../../session/index.js";
import type { Source } from "../exchange.js";

export function sourceOf(name: string, content: string | Uint8Array | Json): Source {
  const bytes =
    content instanceof Uint8Array
      ? content
      : Buffer.from(typeof content === "string" ? content : JSON.stringify(content));
  return { name, bytes, digest: digestOf(bytes) };
}

/** Every value at the ends of the branches of a value: with `path` in words, for messages. */
export function* leavesOf(
  value: Json,
  path = "$",
): Generator<{ readonly path: string; readonly leaf: Json }> {
  if (typeof value !== "object" || value === null) yield { path, leaf: value };
  else
    for (const [key, inner] of Object.entries(value as { readonly [key: string]: Json }))
      yield* leavesOf(inner, `${path}.${key}`);
}

/** Every value that the facts of sessions hold. */
export function heldIn(sessions: readonly Session[]): ReadonlySet<Json> {
  const held = new Set<Json>();
  for (const session of sessions)
    for (const node of session.history())
      for (const { leaf } of leavesOf(node.fact as unknown as Json)) held.add(leaf);
  return held;
}

/** Every name that the objects in facts use. */
export function keysIn(sessions: readonly Session[]): ReadonlySet<string> {
  const keys = new Set<string>();
  const walk = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    for (const [key, inner] of Object.entries(value)) {
      keys.add(key);
      walk(inner);
    }
  };
  for (const session of sessions) for (const node of session.history()) walk(node.fact);
  return keys;
}

/** Fails unless every value of a file is in some fact: as it is, or as the parts of the JSON that a text holds. */
export function expectAllHeld(
  value: Json,
  sessions: readonly Session[],
  exempt: (path: string, leaf: Json) => boolean = () => false,
): void {
  const held = heldIn(sessions);
  const lost: string[] = [];
  for (const { path, leaf } of leavesOf(value))
    if (!isHeld(leaf, held) && !exempt(path, leaf))
      lost.push(`${path} = ${JSON.stringify(leaf).slice(0, 80)}`);
  expect(lost.slice(0, 10)).toEqual([]);
}

function isHeld(leaf: Json, held: ReadonlySet<Json>): boolean {
  if (held.has(leaf)) return true;
  if (typeof leaf !== "string") return false;
  try {
    const inner = JSON.parse(leaf) as Json;
    // The same text can be written from what is held, so it is held.
    return (
      typeof inner === "object" &&
      JSON.stringify(inner) === leaf &&
      [...leavesOf(inner)].every((one) => isHeld(one.leaf, held))
    );
  } catch {
    return false;
  }
}
