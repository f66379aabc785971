import { fact } from "./family.js";
import { typed } from "./field.js";

/** The conversation: its start, its messages, its forks and its merges. */
export const conversation = {
  /** A session starts. A `key` names the secret that personal content is salted with. */
  "session-start": fact({
    by: "user",
    fields: { nonce: "text", text: "personal words?", inline: "size?", key: "text?" },
    say: ({ text }, { quote }) =>
      text === undefined ? "started a session" : `started a session with ${quote(text)}`,
  }),
  /** A session starts from another one without having it as its past. */
  "session-detach": fact({
    by: "user",
    fields: {
      nonce: "text",
      from: "id",
      why: "content text?",
      messages: "personal messages",
      placement: "place?",
      tree: "digest?",
      inline: "size?",
      key: "text?",
    },
    say: ({ from, why: reason }, { named, why }) =>
      `started a session apart from ${named(from)}${why(reason)}`,
  }),
  /** Somebody says something. */
  "message-say": fact({
    by: "by role",
    fields: {
      role: "role",
      content: "content words",
      /** The untrusted origins of content that the body has read outside of this session. */
      labels: typed<readonly string[]>()("json?"),
    },
    say: ({ role, content, by }, { quote, words }) =>
      by.startsWith(SPEAKERS[role] ?? "?")
        ? `said ${quote(content)}`
        : `said as ${words(role)} ${quote(content)}`,
  }),
  /** A summary takes the place of a part of the conversation. */
  "context-compress": fact({
    by: "agent",
    fields: {
      from: "id",
      to: "id",
      summary: "personal text",
      /** The call of the model that wrote the summary. */
      of: "id?",
      policy: "text?",
      /** The claims of the summary, each with the facts that it comes from. */
      claims: "personal json?",
      tokens: "json?",
    },
    say: ({ from, to, summary }, { named, quote }) =>
      `summed up ${named(from)} to ${named(to)}: ${quote(summary)}`,
    trace: ["policy"],
  }),
  /** A branch starts. */
  "branch-fork": fact({
    by: "user",
    fields: { name: "text", why: "content text?" },
    say: ({ name, why: reason }, { words, why }) => `forked the branch ${words(name)}${why(reason)}`,
  }),
  /** Branches come together. */
  "branch-merge": fact({
    by: "user",
    fields: { adopt: "side", why: "content text?" },
    say: ({ adopt, why: reason }, { words, why }) => {
      if (adopt === "none") return `gathered branches and preferred none${why(reason)}`;
      const which = typeof adopt === "number" ? `side ${adopt + 1}` : words(adopt);
      return `merged branches and adopted ${which}${why(reason)}`;
    },
  }),
};

/** The speaker of each role: any other speaker is named with it. */
const SPEAKERS: { readonly [role: string]: string } = { user: "user", assistant: "agent", system: "runtime" };
