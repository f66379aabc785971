import { type Content, digestOf, type FactId, type Json, Session, secretFrom } from "../../session/index.js";
import { parseJson } from "../../util/index.js";
import { refusing, requireName, requireOptions } from "../../workflow/index.js";
import { wordsOf } from "./argument.js";
import { inWords, plainText } from "./found.js";

/** The action of a step: a tool and the words between its brackets. */
export type Action = { readonly tool: string; readonly argument: string };

/** One step of an episode: what was thought, what was done, what came of it. */
export type EpisodeStep = {
  readonly thought: string;
  readonly action?: Action;
  readonly observation?: string;
};

/** A question, the way to its answer, and what is known about how good that is. */
export type Episode = {
  readonly question: string;
  readonly steps: readonly EpisodeStep[];
  readonly answer?: string;
};

/** An episode in a text, where it stands there, and what was noted at its end. */
export type RecordedEpisode = Episode & {
  readonly from: number;
  readonly to: number;
  readonly outcome?: { readonly [name: string]: Json };
  /** How many were right up to here, as the recorder counted. */
  readonly tally?: { readonly right: number; readonly of: number };
};

/** The action that ends an episode. */
export const FINISH = "Finish";

/** A reply as a step. `said` is the reply up to its action, `left` the text after it. */
export type Reading = {
  readonly said: string;
  readonly left: string;
  readonly number?: number;
  readonly thought: string;
  readonly action?: Action;
};

/** Reads one reply: `Thought 1: … Action 1: Tool[argument]`. Observations are for the tools to make, so a reply ends before one. */
export function readStep(text: string): Reading {
  const made = /^[ \t]*Observation(?:[ \t]+\d+)?[ \t]*:/m.exec(text)?.index ?? text.length;
  const own = text.slice(0, made);
  const mark = /^[ \t]*Action(?:[ \t]+(\d+))?[ \t]*:/m.exec(own);
  if (mark === null) return { ...partsAt(text, made), thought: thoughtIn(own) };
  const begin = mark.index + mark[0].length;
  const found = actionIn(own.slice(begin));
  const end = found === undefined ? made : begin + found.end;
  return {
    ...partsAt(text, end),
    thought: thoughtIn(own.slice(0, mark.index)),
    ...(mark[1] !== undefined && { number: Number(mark[1]) }),
    ...(found !== undefined && { action: found.action }),
  };
}

/**
 * Reads recorded episodes: a question, then `Thought n:`, `Action n:` and `Observation n:`, divided by lines
 * of dashes, with a Python dictionary as the outcome.
 *
 * ```ts
 * const episodes = readReact(await readFile("FEVER-output.txt", "utf8"));
 * episodes[0].steps[0].action; // { tool: "Search", argument: "Paramore" }
 * ```
 */
export function readReact(text: string): readonly RecordedEpisode[] {
  const episodes: RecordedEpisode[] = [];
  let from = 0;
  for (const divider of [...text.matchAll(/^-{5,}[ \t]*$/gm), undefined]) {
    const to = divider?.index ?? text.length;
    const episode = episodeIn(text.slice(from, to));
    if (episode !== undefined) episodes.push(Object.freeze({ ...episode, from, to }));
    from = to + (divider?.[0].length ?? 0);
  }
  return Object.freeze(episodes);
}

function episodeIn(block: string): Omit<RecordedEpisode, "from" | "to"> | undefined {
  const noted = /^\{'.*\}[ \t]*$/m.exec(block);
  const tally = /^(\d+) (\d+) [\d.]+ [\d.]+[ \t]*$/m.exec(noted === null ? "" : block.slice(noted.index));
  // Where a reply could not be read, the program that recorded this says so, prints it, and asks again.
  const told = block.slice(0, noted?.index).replace(/^ohh\.\.\.[\s\S]*?(?=^Thought \d+:)/gm, "");
  const marks = [...told.matchAll(/^(Thought|Action|Observation) \d+:/gm)];
  if (marks.length === 0) return undefined;
  const steps: { thought: string; action?: Action; observation?: string }[] = [];
  for (const [place, mark] of marks.entries()) {
    const words = told.slice(mark.index + mark[0].length, marks[place + 1]?.index).trim();
    const last = steps.at(-1);
    if (mark[1] === "Thought" || last === undefined) steps.push({ thought: words });
    else if (mark[1] === "Observation") last.observation = words;
    else if (words !== "") last.action = actionIn(words)?.action ?? { tool: words, argument: "" };
  }
  const end = steps.at(-1);
  const outcome = noted === null ? undefined : dictionaryOf(noted[0]);
  return {
    question: told.slice(0, marks[0]?.index).trim().replace(/^\d+ /, ""),
    steps: Object.freeze(steps.map((step) => Object.freeze(step))),
    ...(end?.action?.tool === FINISH && !isInvalid(end.observation) && { answer: end.action.argument }),
    ...(outcome !== undefined && { outcome }),
    ...(tally !== null && { tally: { right: Number(tally[1]), of: Number(tally[2]) } }),
  };
}

/** Whether the world of a recorded episode refused an action. */
export function isInvalid(observation: string | undefined): boolean {
  return observation?.startsWith("Invalid action") === true;
}

function actionIn(words: string): { readonly action: Action; readonly end: number } | undefined {
  const call = /^\s*([A-Za-z_][\w-]*)[ \t]*\[/.exec(words);
  if (call === null) return undefined;
  const begin = call[0].length;
  const close = closing(words, begin);
  if (close === -1) return undefined;
  return {
    action: Object.freeze({ tool: call[1] as string, argument: words.slice(begin, close).trim() }),
    end: close + 1,
  };
}

/** Brackets that may stand inside of JSON before it is given up: a model may write any number of them. */
const TRIES = 200;

/** Where the bracket closes that was opened before: the one that makes it JSON, the one that matches, or the last of its line. */
function closing(words: string, begin: number): number {
  if (words[begin] === "{") {
    let at = words.indexOf("]", begin);
    for (let tries = 0; at !== -1 && tries < TRIES; tries++, at = words.indexOf("]", at + 1))
      if (parseJson(words.slice(begin, at)) !== undefined) return at;
  }
  let depth = 1;
  for (let at = begin; at < words.length; at++) {
    if (words[at] === "[") depth += 1;
    else if (words[at] === "]" && --depth === 0) return at;
  }
  const end = words.indexOf("\n", begin);
  const last = words.slice(0, end === -1 ? undefined : end).lastIndexOf("]");
  return last < begin ? -1 : last;
}

function partsAt(text: string, end: number): { readonly said: string; readonly left: string } {
  return { said: text.slice(0, end).trimEnd(), left: text.slice(end).trim() };
}

function thoughtIn(words: string): string {
  return words.replace(/^\s*Thought(?:[ \t]+\d+)?[ \t]*:/, "").trim();
}

/** Python's print of a dictionary of texts and numbers, as JSON. */
function dictionaryOf(words: string): { readonly [name: string]: Json } | undefined {
  const names: { readonly [word: string]: string } = { True: "true", False: "false", None: "null" };
  const json = words.replace(
    /'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|\b(?:True|False|None)\b/g,
    (word, single?: string, double?: string) =>
      names[word] ?? JSON.stringify((single ?? double ?? "").replace(/\\(.)/g, "$1")),
  );
  return parseJson(json) as { readonly [name: string]: Json } | undefined;
}

/** The episode that a session holds, however its calls were made; of one agent if named. */
export function episodeOf(session: Session, agent?: string): Episode {
  const steps: { thought: string; action?: Action; observation?: string }[] = [];
  const calls = new Map<FactId, { observation?: string }>();
  const askers = new Map<FactId, string | undefined>();
  let question: string | undefined;
  let last: string | undefined;
  let isWritten = false;
  const isOwn = (name: string | undefined) => agent === undefined || name === agent;
  for (const { id, fact } of session.history()) {
    if (fact.type === "session-start" && fact.text !== undefined) question = plainText(fact.text);
    else if (fact.type === "model-call") askers.set(id, fact.agent);
    else if (fact.type === "model-reply" && isOwn(askers.get(fact.of))) said(fact.content);
    else if (fact.type === "message-say" && fact.role === "assistant" && isOwn(nameOf(fact.by)))
      said(fact.content);
    else if (fact.type === "message-say" && fact.role === "user") question ??= plainText(fact.content);
    else if (fact.type === "tool-call" && isOwn(nameOf(fact.by))) {
      const newest = steps.at(-1);
      // Each call of a reply is a step; the thought stands with the first.
      const step: (typeof steps)[number] =
        newest === undefined || newest.action !== undefined ? { thought: "" } : newest;
      if (step !== newest) steps.push(step);
      step.action = { tool: fact.name, argument: wordsOf(fact.input) };
      calls.set(id, step);
    } else if (fact.type === "tool-result") observed(fact.of, inWords(fact.output));
    else if (fact.type === "tool-failure") observed(fact.of, fact.error.message);
  }
  const end = steps.at(-1);
  // A model that calls tools by itself answers by calling none.
  if (end !== undefined && last !== undefined && !isWritten)
    steps[steps.length - 1] = { thought: "", action: { tool: FINISH, argument: last } };
  const { action, observation } = steps.at(-1) ?? {};
  const answer = action?.tool === FINISH && !isInvalid(observation) ? action.argument : undefined;
  return {
    question: question ?? "",
    steps: Object.freeze(steps.map((step) => Object.freeze({ ...step }))),
    ...(answer !== undefined && { answer }),
  };

  function said(content: Content): void {
    const words = plainText(content);
    const { thought, action } = readStep(words);
    const isCalling = typeof content !== "string" && content.some((part) => part.type === "tool-call");
    isWritten ||= action !== undefined;
    last = isCalling ? undefined : words;
    // A written action that became a call is told by that call.
    steps.push({ thought, ...(!isCalling && action !== undefined && { action }) });
  }

  function observed(of: FactId, words: string): void {
    const step = calls.get(of);
    if (step !== undefined) step.observation = words;
  }
}

function nameOf(by: string): string | undefined {
  return by.startsWith("agent:") ? by.slice("agent:".length) : undefined;
}

export type ImportReactOptions = {
  /** The name of the text in the record: a file, an address. */
  readonly source: string;
  /** When it happened, as far as that is known; with it, the same text gives the same ids. Default: now. */
  readonly at?: string;
  /** The name of the agent. Default "react". */
  readonly agent?: string;
};

/**
 * Recorded episodes as sessions: thoughts, tool calls, outcomes, and a `validation-report` at the end.
 *
 * ```ts
 * for (const session of importReact(text, { source: "FEVER-output.txt" })) await store.save(session, { name: … });
 * ```
 */
export function importReact(text: string, options: ImportReactOptions): readonly Session[] {
  requireOptions(options, refusing("an import"), EXAMPLE, { source: true, at: true, agent: true });
  requireName(options.source, "import", EXAMPLE);
  const { source, at = new Date().toISOString(), agent = "react" } = options;
  const digest = digestOf(text);
  return readReact(text).map((episode, place) => {
    const secret = secretFrom(text, `${place + 1}`);
    const begun = Session.start(episode.question, { nonce: `${digest}:${place + 1}`, at, secret }).append({
      type: "record-import",
      format: "react",
      source,
      digest,
      detail: { episode: place + 1, from: episode.from, to: episode.to },
      by: "runtime",
      at,
    });
    return judged(stepped(begun, episode, agent, at), episode, at);
  });
}

const EXAMPLE = 'importReact(text, { source: "FEVER-output.txt" })';

function stepped(begun: Session, { steps }: Episode, agent: string, at: string): Session {
  let session = begun;
  const by = `agent:${agent}` as const;
  for (const [place, { thought, action, observation }] of steps.entries()) {
    const words = `Thought ${place + 1}: ${thought}`;
    if (action === undefined) {
      session = session.say(words, { role: "assistant", by, at });
      continue;
    }
    const { tool: name, argument } = action;
    const call = `step-${place + 1}`;
    const input = { argument };
    session = session
      .say(
        [
          { type: "text", text: `${words}\nAction ${place + 1}: ${name}[${argument}]` },
          { type: "tool-call", call, name, input },
        ],
        { role: "assistant", by, at },
      )
      .append({ type: "tool-call", name, input, call, by, at });
    if (observation === undefined) continue;
    const outcome = { of: session.id, by: `tool:${name}`, at } as const;
    session = session.append(
      isInvalid(observation)
        ? { type: "tool-failure", error: { name: "InvalidActionError", message: observation }, ...outcome }
        : { type: "tool-result", output: observation, ...outcome },
    );
  }
  return session;
}

/** The outcome as noted. An exact match counts where there is one, else a full reward. */
function judged(session: Session, { outcome }: RecordedEpisode, at: string): Session {
  if (outcome === undefined) return session;
  const { em, reward } = outcome as { readonly em?: Json; readonly reward?: Json };
  return session.append({
    type: "validation-report",
    name: "outcome",
    passed: Number(em ?? reward) === 1,
    ...(typeof reward === "number" && { score: reward }),
    detail: outcome,
    of: session.id,
    by: "service",
    at,
  });
}
