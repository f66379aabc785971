import type { FactId, Json } from "../../session/index.js";
import type { Store } from "../../store/index.js";
import { isObject } from "../../util/index.js";
import { whatModelSaw } from "../audit/saw.js";
import { type Shown, shown } from "./content.js";
import { type ListOptions, type ListPage, pageOf, stretchOf } from "./list.js";

/** The prompt of a model as it was sent, made again from the record. */
export type Prompt = ListPage<{ readonly role: string; readonly content: Shown }> & {
  /** The call of the model: of another fact, the last one before it. */
  readonly call: FactId | null;
  readonly digest: string | null;
  /** The messages are those whose digest the call recorded. */
  readonly rendered: boolean;
  readonly characters: number;
  readonly messages: number;
  /** The facts that prove it, and the reason where it cannot be rendered. */
  readonly claims: readonly { readonly text: string; readonly facts: readonly FactId[] }[];
  readonly gaps: readonly string[];
};

const TEXT = 100_000;
/** So much of a session is loaded for a prompt or a question. */
export const NEAR = 10_000;

export async function promptOf(
  store: Store,
  ref: string,
  fact: FactId,
  options: ListOptions,
): Promise<Prompt> {
  const { detail, claims, gaps } = await whatModelSaw(store, ref, fact, { horizon: NEAR });
  const { call, digest, messages, text } = (isObject(detail) ? detail : {}) as {
    readonly [field: string]: Json;
  };
  const all: readonly Json[] = Array.isArray(messages) ? messages : [];
  const stretch = stretchOf(options, all.length);
  const items: { role: string; content: Shown }[] = [];
  let at = stretch.from;
  for (; all[at] !== undefined && items.length < stretch.limit; at += stretch.step) {
    const { role, content } = all[at] as { readonly role: string; readonly content: Json };
    items.push({ role, content: shown(content, TEXT) });
  }
  return {
    ...pageOf(items, stretch, at - stretch.step, all.length),
    call: typeof call === "string" ? call : null,
    digest: typeof digest === "string" ? digest : null,
    rendered: typeof text === "string",
    characters: typeof text === "string" ? text.length : 0,
    messages: all.length,
    claims,
    gaps,
  };
}
