import type { Module } from "../../runtime/index.js";
import type { Session } from "../../session/index.js";
import { defined } from "../../util/index.js";
import {
  called,
  defineModule,
  enter,
  functionLike,
  optional,
  type Rebuilds,
  requireName,
  workBeside,
  wrong,
} from "../../workflow/index.js";
import { elsewhere } from "../options.js";
import { lastSaid } from "./said.js";

export type NestedChatOptions = {
  /** The speaker in the outer conversation: the record has it as `agent:<name>`. Also the name of the inner branch. */
  readonly name: string;
  /** The purpose of the chat, for the selection of speakers. */
  readonly description?: string;
  /** The inner chat, or any module. It works on a fork: it sees the conversation so far, which never sees it. */
  readonly chat: Module;
  /** Makes the first message of the inner chat from the outer conversation. Default: no message. */
  readonly task?: (session: Session) => string;
  /** Summarises the inner chat, on its fork. Default: the last message is the summary. */
  readonly summary?: Module;
};

/**
 * A chat inside a chat, on its own branch. The outer conversation gets the summary, which names its session.
 *
 * ```ts
 * const research = nestedChat({ name: "research", chat: chat("inner", [searcher, skeptic], { maxTurns: 6 }), summary: editor });
 * const review = chat("outer", [writer, research], { maxTurns: 4 });
 * ```
 */
export function nestedChat(options: NestedChatOptions): Module & Rebuilds {
  const { name, description, chat, task, summary } = options ?? {};
  const by = `agent:${name}` as const;
  return defineModule(
    {
      kind: "nested-chat",
      name,
      example: EXAMPLE,
      parts: { chat, ...defined({ summary }) },
      options,
      checks: {
        ...elsewhere("name", "chat", "summary"),
        description: optional((text) => requireName(text, "description of a nested chat", EXAMPLE)),
        task: optional(functionLike("task: (session) => what the inner chat is told")),
      },
      more: () => defined({ description }),
    },
    async (entered, { parts }) => {
      const told = task?.(entered);
      if (told !== undefined && typeof told !== "string")
        throw wrong(told, "task", called("nested chat", name), "a text");
      const { session, value, end } = await workBeside(entered, {
        name,
        by,
        async work(fork) {
          const begun = told === undefined ? fork : fork.say(told, { by: "runtime" });
          const ended = await enter(parts.chat as Module, begun);
          const last = parts.summary;
          return last === undefined ? ended : enter(last, ended.say(SUM_UP, { by: "runtime" }));
        },
        value: (end, fork) => lastSaid(end, fork)?.text ?? `${chat.name} ended without a word.`,
      });
      return session.say(
        [
          { type: "text", text: value as string },
          { type: "source", source: { branch: name, session: end.id } },
        ],
        { role: "assistant", by },
      );
    },
  );
}

const EXAMPLE = 'nestedChat({ name: "research", chat: chat("inner", [searcher, skeptic]), summary: editor })';
const SUM_UP = "[The talk above is over. Sum up what came of it, for those who did not take part.]";
