import { failedAt, forward, type Module } from "../../runtime/index.js";
import type { Session } from "../../session/index.js";
import {
  called,
  type Known,
  type Parts,
  partsOf,
  type Rebuilds,
  type Refuse,
  rebuild,
  refusing,
  requireCount,
  requireFunction,
  requireName,
  requireOptions,
  texts,
  wrong,
  yesOrNo,
} from "../../workflow/index.js";
import {
  ChoiceFailedError,
  type Chooser,
  type Decider,
  type Rule,
  routeOf,
  selector,
} from "../selector/index.js";
import { type ChatOptions, converse, type Members, membersOf, type Talk, talkOf } from "./chat.js";

export type GroupChatOptions = ChatOptions & {
  /** Who chooses the next speaker: a rule, `byModel(model)`, `vote([…])`. None fits ends the chat. Default: each in turn. */
  readonly speaker?: Rule | Chooser;
  /** Whether one may speak twice in a row. Default false. */
  readonly allowRepeats?: boolean;
  /** Who may speak next, of all members. Default: everybody. */
  readonly candidates?: (session: Session, members: readonly string[]) => readonly string[];
  /** How often somebody who fails to choose is asked; then who is next in turn speaks. Default 3. */
  readonly attempts?: number;
};

/**
 * Several agents in one conversation, and somebody who says who speaks next. Each choice is a `route-choose` whose candidates
 * are exactly those who might have spoken.
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
  requireName(name, "group chat", EXAMPLE);
  const where = called("group chat", name);
  const refuse = refusing(where);
  requireOptions(options, refuse, EXAMPLE, OPTIONS);
  const { speaker, candidates, attempts = 3, allowRepeats = false } = options;
  yesOrNo(allowRepeats, "allowRepeats", where);
  requireCount(attempts, "attempts", refuse);
  if (candidates !== undefined)
    requireFunction(
      candidates,
      "candidates",
      refuse,
      "candidates: (session, members) => some of the members",
    );
  const group = membersOf(members, where, refuse, EXAMPLE);
  // Whether it can choose is for a selector to say, and now rather than at the first turn.
  if (speaker !== undefined) selector(name, group.parts, speaker);
  return made(name, group, talkOf(options, refuse), { speaker, candidates, attempts, allowRepeats });
}

const EXAMPLE = 'groupChat("team", [planner, coder], { speaker: byModel(model), until: mentions("DONE") })';
const OPTIONS: Known<GroupChatOptions> = {
  until: true,
  maxTurns: true,
  speaker: true,
  allowRepeats: true,
  candidates: true,
  attempts: true,
};

type Chair = {
  readonly speaker: Rule | Chooser | undefined;
  readonly candidates: GroupChatOptions["candidates"];
  readonly attempts: number;
  readonly allowRepeats: boolean;
};

function made(name: string, members: Members, talk: Talk, chair: Chair): Module & Rebuilds {
  const { parts, order } = members;
  const { speaker, attempts, allowRepeats } = chair;
  const take = async (session: Session) => {
    const taken = await speak(name, session, members, chair);
    return { session: taken, over: routeOf(taken, name) === null };
  };
  const module: Module & Rebuilds = {
    name,
    kind: "group-chat",
    parts,
    state: Object.freeze({ maxTurns: talk.maxTurns, allowRepeats, attempts, speaker: nameOf(speaker) }),
    forward: (given) => forward(module, given, (entered) => converse(name, entered, order, talk, take)),
    [rebuild]: (state, newParts) => {
      const where = called("group chat", name);
      const refuse: Refuse = refusing(where);
      if (state.speaker !== nameOf(speaker))
        throw refuse("who chooses the speaker is code, not a value", "make another group chat");
      requireCount(state.attempts, "attempts", refuse);
      return made(
        name,
        { parts: partsOf(newParts, where), order },
        talkOf({ until: talk.until, maxTurns: state.maxTurns as number }, refuse),
        {
          ...chair,
          attempts: state.attempts as number,
          allowRepeats: yesOrNo(state.allowRepeats, "allowRepeats", where),
        },
      );
    },
  };
  return Object.freeze(module);
}

/** Chooses one of those who may speak, and lets them. */
async function speak(
  name: string,
  given: Session,
  { parts, order }: Members,
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

/** Who may speak next: of the candidates those who have not just spoken, unless there is nobody else. */
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

/** Whoever comes next in the order after the one who spoke last. */
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
