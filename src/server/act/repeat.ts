import { createHash } from "node:crypto";
import { RequestError } from "../../connect/front/index.js";
import { canonical, type Json } from "../../session/index.js";
import { isObject, parseJson } from "../../util/index.js";
import type { Identity } from "../identity/identity.js";
import type { Ran } from "./under-way.js";

/** A request that its sender may send again without its being done again. */
export type Key = {
  /** The SHA-256 of the sender and their key: what the record holds of it. */
  readonly key: string;
  /** The SHA-256 of what is asked for. */
  readonly body: string;
};

type Kept = Pick<Key, "body"> & {
  readonly answer: Promise<Answer>;
  readonly person: string;
  /** The bytes that it takes; 0 before there is an answer. */
  bytes: number;
};
/** An answer without the words of a run, and the fields that they were in. */
type Answer = { readonly status: number; readonly text: string; readonly words: readonly (keyof Ran)[] };

/** Answers that are remembered, and the bytes of one, of those of one person and of all. */
const MOST = { answers: 10_000, one: 64 * 1024, person: 2 * 1024 ** 2, bytes: 16 * 1024 ** 2 };
/** Bytes of an answer beside its text. */
const OVERHEAD = 512;

/** The idempotency key of a request, if it has one. */
export function keyOf(request: Request, principal: string, body: unknown): Key | undefined {
  const given = request.headers.get("idempotency-key");
  if (given === null) return undefined;
  if (!/^[\x21-\x7e]{1,255}$/.test(given))
    throw new RequestError(400, "idempotency-key-broken", "The idempotency key is not valid.", {
      hint: "send 1 to 255 printable characters, such as a UUID",
    });
  const { pathname } = new URL(request.url);
  return {
    key: digest(`${principal}\n${given}`),
    // With the key, which nothing keeps: what was asked for cannot be guessed from it.
    body: digest(`${given}\n${pathname}\n${canonical(body as Json)}`),
  };
}

/**
 * Gives the first answer again to a request that is repeated with its idempotency key and the same roles. Refused requests did
 * nothing, and may be sent again.
 */
export class Repeats {
  readonly #kept = new Map<string, Kept>();
  readonly #bytes = new Map<string, number>();
  #sum = 0;

  /** @param outcome how a run stood at a fact: its words are read again, so that none of them outlives its erasure. */
  async once(
    key: Key | undefined,
    identity: Identity,
    act: () => Promise<Response>,
    outcome: (ran: Ran) => Promise<Ran>,
  ): Promise<Response> {
    if (key === undefined) return act();
    const { principal: person, grants } = identity;
    // With other roles the request is looked at anew.
    const place = digest(`${key.key}\n${JSON.stringify(grants)}`);
    const kept = this.#kept.get(place);
    if (kept !== undefined) {
      requireSame(key, kept.body);
      return responseOf(await kept.answer, outcome);
    }
    const acted = act();
    const answer = acted.then(async (response) =>
      withoutWords(response.status, await response.clone().text()),
    );
    const one: Kept = { body: key.body, answer, person, bytes: 0 };
    this.#kept.set(place, one);
    try {
      const { status, text } = await answer;
      const bytes = Buffer.byteLength(text);
      if (status >= 400 || bytes > MOST.one) this.#kept.delete(place);
      else this.#count(one, bytes + OVERHEAD);
    } catch (error) {
      this.#kept.delete(place);
      throw error;
    }
    return acted;
  }

  /** Counts an answer, and forgets the oldest of its person or of all. */
  #count(one: Kept, bytes: number): void {
    one.bytes = bytes;
    this.#add(one.person, bytes);
    for (const [place, { person, bytes }] of this.#kept) {
      const isOver = this.#sum > MOST.bytes || this.#kept.size > MOST.answers;
      const isTheirs = person === one.person && (this.#bytes.get(person) ?? 0) > MOST.person;
      if (!isOver && (this.#bytes.get(one.person) ?? 0) <= MOST.person) return;
      if (bytes === 0 || !(isOver || isTheirs)) continue;
      this.#kept.delete(place);
      this.#add(person, -bytes);
    }
  }

  #add(person: string, bytes: number): void {
    const theirs = (this.#bytes.get(person) ?? 0) + bytes;
    if (theirs === 0) this.#bytes.delete(person);
    else this.#bytes.set(person, theirs);
    this.#sum += bytes;
  }
}

/** Refuses a key that was sent with something else before. */
export function requireSame({ body }: Key, before: string): void {
  if (body === before) return;
  throw new RequestError(
    409,
    "idempotency-key-reused",
    "This idempotency key was already used for a different request.",
    {
      hint: "use a new key for a new request",
    },
  );
}

function withoutWords(status: number, text: string): Answer {
  const answer = parseJson(text);
  if (status >= 400 || !isObject(answer) || typeof answer.state !== "string")
    return { status, text, words: [] };
  const words = (["text", "error"] as const).filter((field) => field in answer);
  const rest = Object.fromEntries(
    Object.entries(answer).filter(([field]) => !words.includes(field as "text")),
  );
  return { status, text: JSON.stringify(rest), words };
}

async function responseOf(
  { status, text, words }: Answer,
  outcome: (ran: Ran) => Promise<Ran>,
): Promise<Response> {
  if (words.length === 0)
    return new Response(text, { status, headers: { "content-type": "application/json" } });
  const ran = JSON.parse(text) as Ran;
  const now = ran.id === "" ? ran : await outcome(ran);
  const said = words.flatMap((field) => (now[field] === undefined ? [] : [[field, now[field]]]));
  return Response.json({ ...ran, ...Object.fromEntries(said) }, { status });
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
