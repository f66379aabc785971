import { amount } from "../../util/index.js";
import { fact } from "./family.js";
import { typed } from "./field.js";
import type { Writer } from "./writer.js";

/** The memories, and their reasons. */
export const memory = {
  /** A memory space and the rules of what may be written to it. */
  "memory-space": fact({
    by: "must say",
    fields: { space: "text", scope: "json", rules: "json?" },
    say: ({ space }, { words }) => `set up the memory ${words(space)}`,
  }),
  /** Somebody looks for memories. */
  "memory-read": fact({
    by: "agent",
    fields: {
      space: "text",
      head: "id?",
      query: "personal json",
      hits: "personal hits",
      /** How it was looked for: how many, from which score on, what counts for how much, at what time. */
      settings: "json?",
      /** The text in the prompt, and the message of the conversation that follows it. */
      shown: "personal text?",
      before: "text?",
      of: "id?",
      /** The modules in which it was read, the outermost first. A run of version 0.1 does not say. */
      module: "texts?",
    },
    say: ({ space, query, hits }, { words, quote }) =>
      `looked in the memory ${words(space)} for ${quote(query)} and found ${Array.isArray(hits) ? amount(hits.length, "memory", "memories") : words(hits)}`,
  }),
  /** Something is remembered. */
  "memory-write": fact({
    by: "must say",
    fields: {
      space: "text",
      text: "personal text",
      scope: "json",
      source: "text",
      because: "evidence",
      /** The subject: two memories about one subject contradict each other. */
      subject: "personal text?",
      /** Where its evidence comes from, and so whether it can be trusted. */
      origins: typed<readonly string[]>()("json?"),
      importance: "number?",
      expires: "text?",
      /** The condition for recall: a "validation" or an "approval". */
      needs: "text?",
      contradicts: "ids?",
      /** The memories that it takes the place of. */
      merges: "ids?",
      meta: "personal json?",
      /** The session that wrote it. */
      of: "id?",
    },
    say: ({ space, text }, { words, quote }) => `wrote to the memory ${words(space)}: ${quote(text)}`,
  }),
  /** A memory gets another text. */
  "memory-revise": fact({
    by: "must say",
    fields: {
      of: "id",
      text: "personal text",
      because: "evidence",
      source: "text?",
      origins: typed<readonly string[]>()("json?"),
      importance: "number?",
      expires: "text?",
      needs: "text?",
      meta: "personal json?",
      why: "personal text?",
      /** The session that did it; the same in the types below. */
      from: "id?",
    },
    say: ({ of, text }, { named, quote }) => `revised the memory ${named(of)} to ${quote(text)}`,
  }),
  /** A memory was wrong. */
  "memory-revoke": fact({
    by: "must say",
    fields: {
      of: "id",
      because: "ids?",
      why: "personal text",
      /** Only this version, which nobody has approved. */
      version: "id?",
      from: "id?",
    },
    say: changed("revoked"),
  }),
  /** A memory is confirmed, or holds for more. */
  "memory-promote": fact({
    by: "must say",
    fields: {
      of: "id",
      because: "evidence",
      version: "id?",
      to: "json?",
      why: "personal text?",
      from: "id?",
    },
    say: changed("promoted"),
  }),
  /** A memory holds no longer. */
  "memory-expire": fact({
    by: "must say",
    fields: { of: "id", because: "ids?", why: "personal text", from: "id?" },
    say: changed("expired"),
  }),
  /** Two memories have to do with each other. */
  "memory-link": fact({
    by: "must say",
    fields: { of: "id", to: "id", relation: "text", why: "personal text?", from: "id?" },
    say: ({ of, to, relation }, { named, words }) =>
      `linked the memory ${named(of)} to ${named(to)}: ${words(relation)}`,
  }),
  /** A memory space goes back to what it was. */
  "memory-rollback": fact({
    by: "must say",
    fields: { to: "id", undoes: "ids", why: "personal text" },
    say: ({ to, why: reason }, { named, why }) => `rolled the memory back to ${named(to)}${why(reason)}`,
  }),
};

function changed(verb: string) {
  return (
    { of, why: reason }: { readonly of: string; readonly why?: string },
    { named, why }: Writer,
  ): string => `${verb} the memory ${named(of)}${why(reason)}`;
}
