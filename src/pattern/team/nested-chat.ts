import { forward, type Module } from "../../runtime/index.js";
import type { Content, Session } from "../../session/index.js";
import {
  called,
  enter,
  type Known,
  type Parts,
  type Rebuilds,
  rebuild,
  refusing,
  requireFunction,
  requireModule,
  requireName,
  requireOptions,
  workBeside,
  wrong,
} from "../../workflow/index.js";
import { lastSaid } from "./said.js";

export type NestedChatOptions = {
  /** Who speaks in the outer conversation: on the record as `agent:<name>`. Also the name of the inner branch. */
  readonly name: string;
  /** What it is good for: read by who chooses whom to let speak. */
  readonly description?: string;
  /** The inner chat, or any module. It works on a fork: it sees the conversation so far, which never sees it. */
  readonly chat: Module;
  /** What the inner chat is told first, from the outer conversation. Default: nothing. */
  readonly task?: (session: Session) => string;
  /** Who sums it up, still on the fork. Default: what was said last is the summary. */
  readonly summary?: Module;
};

/**
 * A chat inside a chat. Its words stay on a branch of its own; the outer conversation gets one message, the summary, which
 * names the branch and the session it comes from.
 *
 * ```ts
 * const research = nestedChat({ name: "research", chat: chat("inner", [searcher, skeptic], { maxTurns: 6 }), summary: editor });
 * const review = chat("outer", [writer, research], { maxTurns: 4 });
 * ```
 */
export function nestedChat(options: NestedChatOptions): Module & Rebuilds {
  const { name } = (options ?? {}) as Partial<NestedChatOptions>;
  requireName(name, "nested chat", EXAMPLE);
  const where = called("nested chat", name);
  const refuse = refusing(where);
  requireOptions(options, refuse, EXAMPLE, OPTIONS);
  const { description, chat, task, summary } = options;
  requireModule(chat, where, "chat");
  if (summary !== undefined) requireModule(summary, where, "summary");
  if (task !== undefined)
    requireFunction(task, "task", refuse, "task: (session) => what the inner chat is told");
  if (description !== undefined) requireName(description, "description of a nested chat", EXAMPLE);
  return made(options);
}

const EXAMPLE = 'nestedChat({ name: "research", chat: chat("inner", [searcher, skeptic]), summary: editor })';
const OPTIONS: Known<NestedChatOptions> = {
  name: true,
  description: true,
  chat: true,
  task: true,
  summary: true,
};
const SUM_UP = "[The talk above is over. Sum up what came of it, for those who did not take part.]";

function made(options: NestedChatOptions): Module & Rebuilds {
  const { name, description, chat, task, summary } = options;
  const by = `agent:${name}` as const;
  const parts: Parts = Object.freeze({ chat, ...(summary !== undefined && { summary }) });
  const module: Module & Rebuilds = {
    name,
    kind: "nested-chat",
    ...(description !== undefined && { description }),
    parts,
    forward: (given) =>
      forward(module, given, async (entered) => {
        const told = task === undefined ? undefined : task(entered);
        if (told !== undefined && typeof told !== "string")
          throw wrong(told, "task", called("nested chat", name), "a text");
        const { session, value, end } = await workBeside(entered, {
          name,
          by,
          async work(fork) {
            const ended = await enter(chat, told === undefined ? fork : fork.say(told, { by: "runtime" }));
            return summary === undefined ? ended : enter(summary, ended.say(SUM_UP, { by: "runtime" }));
          },
          value: (end, fork) => lastSaid(end, fork)?.text ?? `${chat.name} ended without a word.`,
        });
        return session.say(referring(value as string, name, end), { role: "assistant", by });
      }),
    [rebuild]: (_state, { chat: inner, summary: other }) =>
      made({ ...options, chat: inner as Module, ...(other !== undefined && { summary: other }) }),
  };
  return Object.freeze(module);
}

/** The summary, and where it comes from. */
function referring(text: string, branch: string, end: Session): Content {
  return [
    { type: "text", text },
    { type: "source", source: { branch, session: end.id } },
  ];
}
