import { failedAt, type Module } from "../../runtime/index.js";
import type { Session } from "../../session/index.js";
import { defined } from "../../util/index.js";
import type { Parts, Rebuilds } from "../../workflow/index.js";
import {
  called,
  defineModule,
  functionLike,
  optional,
  requireCount,
  texts,
  wrong,
  yesOrNo,
} from "../../workflow/index.js";
import { withDefaults } from "../options.js";
import type { Chooser, Decider, Rule } from "../selector/index.js";
import { ChoiceFailedError, routeOf, selector } from "../selector/index.js";
import { type ChatOptions, converse, requireMembers, TALK, TALKS, type Talk } from "./chat.js";

export type GroupChatOptions = ChatOptions & {
  /** The selector of the next speaker: a rule, `byModel(model)`, `vote([…])`. None ends the chat. Default: in turn. */
  readonly speaker?: Rule | Chooser;
  /** Whether one may speak twice in a row. Default false. */
  readonly allowRepeats?: boolean;
  /** The members that may speak next. Default: all. */
  readonly candidates?: (session: Session, members: readonly string[]) => readonly string[];
  /** How often somebody who fails to choose is asked; then who is next in turn speaks. Default 3. */
  readonly attempts?: number;
};

/**
 * Several agents in one conversation, and a selector of the next speaker, recorded as `route-choose`.
 *
 * ```ts
 * const team = groupChat("team", [planner, coder, tester], { speaker: byModel(model), until: mentions("DONE") });
 * ```
 */
export function groupChat(
  name: string,
  members: readonly Module[] | Parts,
  options: GroupChatOptions = {},
): Module & Rebuilds {
  const { speaker } = options ?? {};
  const chooser = nameOf(speaker);
  return defineModule<Chair, Pick<Module, "state">>(
    {
      kind: "group-chat",
      name,
      example: EXAMPLE,
      parts: members,
      options: withDefaults(options, { ...TALK, attempts: 3, allowRepeats: false }),
      checks: {
        ...TALKS,
        // In the state of the module it is a name.
        speaker: (value, _, refuse) => {
          if (typeof value === "string" && value !== chooser)
            throw refuse("who chooses the speaker is code, not a value", "make another group chat");
        },
        allowRepeats: (value, option) => yesOrNo(value, option, called("group chat", name)),
        candidates: optional(functionLike("candidates: (session, members) => some of the members")),
        attempts: requireCount,
      },
      learnable: ["maxTurns", "allowRepeats", "attempts"],
      check(given) {
        requireMembers(given, EXAMPLE);
        // Whether it can choose is for a selector to say, and now rather than at the first turn.
        if (speaker !== undefined) selector(name, given.parts, speaker);
      },
      more: ({ options: { maxTurns, allowRepeats, attempts } }) => ({
        state: Object.freeze({ maxTurns, allowRepeats, attempts, speaker: chooser }),
      }),
    },
    (entered, { parts, order, options: chair }) =>
      converse(name, entered, order, chair, async (session) => {
        const taken = await speak(name, session, parts, order, { ...chair, ...defined({ speaker }) });
        return { session: taken, over: routeOf(taken, name) === null };
      }),
  );
}

const EXAMPLE = 'groupChat("team", [planner, coder], { speaker: byModel(model), until: mentions("DONE") })';

type Chair = GroupChatOptions & Talk & Required<Pick<GroupChatOptions, "attempts" | "allowRepeats">>;

async function speak(
  name: string,
  given: Session,
  parts: Parts,
  order: readonly string[],
  chair: Chair,
): Promise<Session> {
  const { speaker, attempts } = chair;
  const allowed = allowedIn(name, given, order, chair);
  const routes = Object.fromEntries(allowed.map((member) => [member, parts[member] as Module]));
  let session = given;
  for (let attempt = 1; speaker !== undefined && attempt <= attempts; attempt++)
    try {
      return await selector(name, routes, speaker).forward(session);
    } catch (error) {
      // A member may choose too, and fail at it; that is its own affair.
      if (!(error instanceof ChoiceFailedError) || error.data.selector !== name) throw error;
      session = failedAt(error) ?? error.session;
    }
  const why = speaker === undefined ? undefined : `${nameOf(speaker)} failed to choose, ${attempts} times`;
  return selector(name, routes, inTurn(order, why)).forward(session);
}

/** The candidates without the last speaker, unless nobody else is there. */
function allowedIn(
  name: string,
  session: Session,
  order: readonly string[],
  { candidates, allowRepeats }: Chair,
): readonly string[] {
  const where = called("group chat", name);
  const named = candidates === undefined ? order : texts(candidates(session, order), "candidates", where);
  const stranger = named.find((member) => !order.includes(member));
  if (stranger !== undefined || named.length === 0)
    throw wrong(stranger ?? named, "candidates", where, `one or more of ${order.join(", ")}`);
  const last = routeOf(session, name);
  const others = order.filter((member) => named.includes(member) && (allowRepeats || member !== last));
  return others.length > 0 ? others : named;
}

/** The member after the one who spoke last. */
function inTurn(order: readonly string[], why: string | undefined): Decider {
  return {
    name: "round robin",
    by: "runtime",
    decide(session, routes, { selector: name }) {
      const after = order.indexOf(routeOf(session, name) ?? "") + 1;
      const next = [...order.slice(after), ...order.slice(0, after)].find((member) =>
        routes.some((route) => route.name === member),
      );
      return { chosen: next ?? null, ...(why !== undefined && { why }) };
    },
  };
}

function nameOf(speaker: Rule | Chooser | undefined): string {
  if (speaker === undefined) return "round robin";
  return typeof speaker === "function" ? "rule" : speaker.name;
}
