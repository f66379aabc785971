import { type BlobSource, digestsOf, type FactId, parentsOf, type Realm, Session } from "../session/index.js";
import { ConflictError, type Store } from "../store/index.js";
import { answerName } from "./keeper.js";

/** An answer that somebody gave, as the store has it. */
export type Answer = { readonly id: FactId; readonly line: string; readonly blobs?: BlobSource };

/** Where people's answers to a run's requests lie until the run takes them in. */
export class Mailbox {
  readonly #store: Store | undefined;
  readonly #run: string;
  readonly #taken = new Set<FactId>();

  constructor(store: Store | undefined, run: string) {
    this.#store = store;
    this.#run = run;
  }

  /** An answer was taken in: it answers nothing else. */
  took(answer: FactId): void {
    this.#taken.add(answer);
  }

  /** The answer to a request, if there is one. */
  async answerTo(request: FactId): Promise<Answer | undefined> {
    const store = this.#store;
    const id = await store?.head(answerName(this.#run, request));
    const line = id === undefined ? undefined : await store?.line(id);
    // An answer hangs from what it answers, and from nothing else.
    if (id === undefined || line === undefined || parentsOf(line).join() !== request) return undefined;
    if (this.#taken.has(id)) return undefined;
    // What was said may be in blobs, which only the store has.
    const { blobs } = digestsOf(line).length > 0 ? Session.realmOf(await (store as Store).load(id)) : {};
    return { id, line, ...(blobs && { blobs }) };
  }

  /** The requests that answers lie for. */
  async answered(): Promise<readonly FactId[]> {
    const under = answerName(this.#run, "");
    const names = (await this.#store?.names({ under })) ?? [];
    return names.map(({ name }) => name.slice(under.length));
  }

  /** The same, and takes the place of an answer where there is none, so that none can come from now on. */
  async lastAnswerTo(request: FactId, instead: FactId): Promise<Answer | undefined> {
    const answer = await this.answerTo(request);
    if (answer !== undefined) return answer;
    try {
      await this.#store?.point(answerName(this.#run, request), instead, { expect: null });
      return undefined;
    } catch (error) {
      if (!(error instanceof ConflictError)) throw error;
      return this.answerTo(request);
    }
  }
}

/** An answer as a session: it hangs from the request it answers. */
export function sessionOf({ id, line, blobs }: Answer, asked: Session, realm: Realm): Session {
  return Session.restore(line, [asked], blobs === undefined ? realm : Object.freeze({ ...realm, blobs }), {
    id,
  });
}
