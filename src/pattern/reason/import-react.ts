import { digestOf, type Json, Session, secretFrom } from "../../session/index.js";
import { refusing, requireName, requireOptions } from "../../workflow/index.js";
import { type Episode, isInvalid, type RecordedEpisode, readReact } from "./episode.js";

export type ImportReactOptions = {
  /** What the record calls the text: a file, an address. */
  readonly source: string;
  /** When it happened, as far as that is known; with it, the same text gives the same ids. Default: now. */
  readonly at?: string;
  /** Who it was. Default "react". */
  readonly agent?: string;
};

/**
 * Recorded episodes as sessions: where they are from, each thought, each action as a tool call, each observation as its
 * outcome, and how it ended as a `validation-report`.
 *
 * ```ts
 * for (const session of importReact(text, { source: "FEVER-output.txt" })) await store.save(session, { name: … });
 * ```
 */
export function importReact(text: string, options: ImportReactOptions): readonly Session[] {
  const refuse = refusing("an import");
  requireOptions(options, refuse, EXAMPLE, { source: true, at: true, agent: true });
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

/** What was noted about the end. An exact match counts where one was looked for, else a whole reward. */
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
