import { createHash } from "node:crypto";
import type { Json } from "openrath";
import { type Module, Session } from "openrath";
import {
  type Attempt,
  approve,
  branch,
  loop,
  map,
  now,
  parallel,
  type Retry,
  race,
  random,
  retry,
  sequence,
  signal,
  sleep,
  step,
  uuid,
  workflow,
} from "openrath/workflow";
import { performAll } from "../../src/runtime/module-api.js";
import type { Outcome, Request } from "../../src/runtime/request/request.js";
import { failedAt } from "../../src/runtime/run/modules.js";
import type { Act, Acts, Asked, Doing, Part, Program } from "./program.js";
import type { Hand } from "./world.js";

/** The module that a program describes, acting on the world through this hand. */
export function moduleOf(program: Program, hand: Hand): Module {
  return made(program.root, "r", hand);
}

function made(part: Part, path: string, hand: Hand): Module {
  const each = (parts: readonly Part[]): Module[] =>
    parts.map((one, place) => made(one, `${path}.${place}`, hand));
  switch (part.is) {
    case "body": {
      const body = (session: Session): Promise<Session> => go(session, part.acts, path, hand);
      if (part.plain && part.budget === undefined && path !== "r") return { name: path, forward: body };
      return workflow(path, body, part.budget === undefined ? {} : { budget: part.budget });
    }
    case "sequence":
      return sequence(path, each(part.parts));
    case "parallel": {
      const last = part.parts.length - 1;
      const adopt = part.adopt === "theirs" ? last : part.adopt;
      return parallel(path, each(part.parts), { adopt, concurrency: part.at });
    }
    case "race":
      return race(path, each(part.parts));
    case "loop": {
      const { enough } = part;
      return loop(path, made(part.part, `${path}.l`, hand), {
        max: part.max,
        ...(enough !== null && { until: (_session: Session, turn: number) => turn >= enough }),
      });
    }
    case "retry":
      return retry(path, made(part.part, `${path}.t`, hand), { attempts: part.attempts });
    case "branch": {
      const routes = Object.fromEntries(each(part.parts).map((one) => [one.name, one]));
      const names = Object.keys(routes);
      return branch(
        path,
        (session) => {
          const place = said(session) % (names.length + (part.none ? 1 : 0));
          return names[place] ?? null;
        },
        { routes },
      );
    }
    case "map":
      return map(path, made(part.part, `${path}.m`, hand), {
        inputs: () => Array.from({ length: part.inputs }, (_, place) => place),
        concurrency: part.at,
      });
    case "step": {
      // Its approval shows the name and nothing else.
      const name = part.doing.approval === "reject" ? `${path}!reject` : path;
      const key = ({ request }: Attempt): string => keyOf(request, name);
      return step(
        name,
        (_input, context) => hand.act(part.doing, key(context), context),
        optionsOf(part.doing, hand, key),
      );
    }
    case "sleep":
      return sleep(part.milliseconds);
    case "signal":
      return signal(path, { signal: path });
    case "approve":
      return approve(path, { verdict: part.verdict, path });
  }
}

async function go(given: Session, acts: Acts, path: string, hand: Hand): Promise<Session> {
  let session = given;
  for (const [place, act] of acts.entries()) session = await once(session, act, `${path}-${place}`, hand);
  return session;
}

async function once(session: Session, act: Act, path: string, hand: Hand): Promise<Session> {
  switch (act.do) {
    case "say":
      return session.say(path, { role: "assistant" });
    case "note":
      // The first of two identical facts stays behind as a leaf.
      session.append({ type: "note", kind: "twin" });
      return session.append({ type: "note", kind: "twin" });
    case "place":
      return session.to(path.length % 2 === 0 ? "local" : "cube");
    case "throw":
      throw new Error(`thrown at ${path}`);
    case "part": {
      const module = made(act.part, path, hand);
      return module.forward(session);
    }
    case "ask": {
      const told = await { now, random, uuid }[act.what](session);
      return told.session.append({ type: "note", kind: "told", value: told.value });
    }
    case "call":
      return called(session, act.doing, path, hand);
    case "requests":
      return asked(session, act.requests, path, hand);
    case "split": {
      const arrived: Session[] = [];
      const ends = await Promise.all(
        act.sides.map(async (side, place) => {
          const end = await go(session.fork(`${path}/${place}`), side, `${path}/${place}`, hand);
          arrived.push(end);
          return end;
        }),
      );
      const [first, ...others] = (act.arrival ? arrived : ends) as [Session, ...Session[]];
      return first.merge(others, { adopt: act.adopt === "theirs" ? 1 : act.adopt });
    }
    case "first": {
      const sides = act.sides.map((side, place) =>
        go(session.fork(`${path}/${place}`), side, `${path}/${place}`, hand),
      );
      for (const side of sides) side.catch(() => {});
      const winner = await (act.any ? Promise.any(sides) : Promise.race(sides));
      if (act.left) return winner.say(`${path} has a winner`, { role: "assistant" });
      const rest = (await Promise.allSettled(sides)).flatMap((one) =>
        one.status === "fulfilled" && one.value !== winner ? [one.value] : [],
      );
      return rest.length === 0
        ? winner
        : winner.merge(rest, { adopt: act.adopt === "theirs" ? 1 : act.adopt });
    }
    case "twins": {
      const [one, other] = [session.fork("twin"), session.fork("twin")];
      const ends = await Promise.all([
        go(one, act.acts, `${path}/x`, hand),
        go(other, act.acts, `${path}/y`, hand),
      ]);
      return ends[0].merge(ends[1], { adopt: "ours" });
    }
    case "same": {
      const same = step("same", (_input, context) => hand.act(twin(act.delay), `same ${path}`, context), {
        effect: "read",
      });
      const [one, other] = await Promise.all([same.call(session, path), same.call(session, path)]);
      const note = { one: one.value as Json, other: other.value as Json };
      return one.session.merge(other.session).append({ type: "note", kind: "same", note });
    }
    case "detach": {
      // A new root has no past to tell one time from another: its keys get the trunk's.
      const trunk = session.fork(`${path}@`);
      const place = `${path}@${keyOf(trunk, path).slice(-6)}`;
      const root = await go(trunk.detach({ why: path }), act.acts, place, hand);
      return act.merge ? trunk.merge(root, { adopt: "ours" }) : trunk;
    }
    case "try":
      try {
        return await go(session, act.acts, path, hand);
      } catch (error) {
        const at = act.evidence ? evidenceOf(error) : undefined;
        const from = at?.descendsFrom(session) === true ? at : session;
        return from.say(`${path} caught ${(error as Error).name}`, { role: "assistant" });
      }
    case "finally":
      try {
        return await go(session, act.acts, path, hand);
      } finally {
        session.append({ type: "note", kind: "finally" });
      }
  }
}

/** A step of one's own, and what it said. */
async function called(session: Session, doing: Doing, path: string, hand: Hand): Promise<Session> {
  const key = keyOf(session, path);
  const own = step(
    path,
    (_input: Json, context) => hand.act(doing, key, context),
    optionsOf(doing, hand, () => key),
  );
  const told = await own.call(session, { key, verdict: doing.approval });
  return told.session.say(`${path} gave ${JSON.stringify(told.value).slice(0, 60)}`, { role: "assistant" });
}

/** Several requests side by side; what became of them is said in their order. */
async function asked(
  session: Session,
  requests: readonly Asked[],
  path: string,
  hand: Hand,
): Promise<Session> {
  const ended = await performAll(
    session,
    requests.map((one, place) => requestOf(session, one, `${path}+${place}`, hand)),
  );
  return requests.length === 0 ? ended : ended.say(`${path} done`, { role: "assistant" });
}

function requestOf(session: Session, { doing, inside }: Asked, path: string, hand: Hand): Request {
  const key = keyOf(session, path);
  const { tool, effect } = doing;
  const input = { key, verdict: doing.approval };
  const result = (value: unknown): Outcome =>
    tool
      ? { type: "tool-result", output: value ?? null, by: "tool" }
      : { type: "step-result", value: value ?? null, by: "tool" };
  const { retry: again, timeout, reconcile } = optionsOf(doing, hand, () => key);
  return {
    fact: tool
      ? { type: "tool-call", name: path, input, call: path, effect }
      : { type: "step-call", name: path, input, effect },
    effect,
    act: async (attempt) => result(await hand.act(doing, key, attempt)),
    failed: (error) => ({ type: tool ? "tool-failure" : "step-failure", error, by: "tool" }),
    ...(inside !== undefined && {
      inside: {
        branch: path,
        body: (fork: Session) => go(fork, inside, `${path}>`, hand),
        outcome: (end: Session) => result({ key, said: said(end) }),
      },
    }),
    ...(doing.approval !== null && { approval: { what: input } }),
    ...(doing.steps > 0 && { spend: { steps: doing.steps } }),
    ...(again !== undefined && { retry: again }),
    ...(timeout !== undefined && { timeout }),
    ...(doing.conflict !== null && { conflicts: [doing.conflict] }),
    ...(reconcile !== undefined && {
      reconcile: async (attempt: Attempt) => {
        const found = await reconcile(undefined, attempt);
        return typeof found === "string" ? found : result(found.value);
      },
    }),
  };
}

type Options = {
  readonly effect: Doing["effect"];
  readonly retry?: Retry;
  readonly timeout?: number;
  readonly approval?: boolean;
  readonly reconcile?: (
    input: unknown,
    context: Attempt,
  ) => Promise<{ readonly value: unknown } | "again" | "unknown">;
};

function optionsOf(doing: Doing, hand: Hand, key: (context: Attempt) => string): Options {
  const { effect, attempts, timeout, approval, reconcile } = doing;
  return {
    effect,
    ...(attempts > 1 && { retry: { attempts, wait: 1, most: 2, when: () => true } }),
    ...(timeout !== null && { timeout }),
    ...(approval !== null && { approval: true }),
    ...(effect === "write" &&
      reconcile !== null && {
        reconcile: async (_input: unknown, context: Attempt) => {
          if (reconcile === "throws") throw new Error("nobody can be asked");
          const fate = hand.fateOf(key(context));
          if (fate === undefined) return "again" as const;
          return reconcile === "unsure" || "error" in fate ? ("unknown" as const) : fate;
        },
      }),
  };
}

function twin(delay: number): Doing {
  return {
    effect: "read",
    delay,
    lag: 0,
    refused: 0,
    attempts: 1,
    deaf: true,
    gives: "little",
    approval: null,
    reconcile: null,
    conflict: null,
    timeout: null,
    steps: 0,
    tool: false,
  };
}

/**
 * What tells one doing of an effect from every other, also in another process: where in the program, on which branch
 * of forks, and which time there. A function of the session alone, so the same whenever the record is.
 */
function keyOf(session: Session, path: string): string {
  let text = "";
  for (const { fact } of session.history()) {
    if (fact.type === "branch-fork") text += `/${fact.name}`;
    else if ((fact.type === "step-call" || fact.type === "tool-call") && fact.name === path) text += "+";
  }
  return `${path} ${createHash("sha256").update(text).digest("hex").slice(0, 12)}`;
}

function said(session: Session): number {
  return session.transcript.filter((message) => message.role === "assistant").length;
}

function evidenceOf(error: unknown): Session | undefined {
  const { session } = (error ?? {}) as { readonly session?: unknown };
  return session instanceof Session ? session : failedAt(error);
}
