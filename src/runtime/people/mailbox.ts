import {
  type BlobSource,
  digestsOf,
  type FactId,
  parentsOf,
  type Realm,
  readFact,
  Session,
} from "../../session/index.js";
import { ConflictError, type Store } from "../../store/index.js";
import { answerName } from "../run/writer.js";

/** An answer that somebody gave, as the store has it. */
export type Answer = {
  readonly id: FactId;
  readonly line: string;
  readonly blobs?: BlobSource;
  /** The approval that it takes back: it hangs from that. */
  readonly revoked?: { readonly id: FactId; readonly line: string };
};

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
    if (id === undefined || line === undefined || this.#taken.has(id)) return undefined;
    // An answer hangs from what it answers, or from the approval that it takes back, and from nothing else.
    const parent = parentsOf(line).join();
    const before = parent === request ? undefined : await store?.line(parent);
    if (parent !== request && !isRevocation(line, before, request)) return undefined;
    const revoked = before === undefined ? {} : { revoked: { id: parent, line: before } };
    // The content may be in blobs, which only the store has.
    const { blobs } = digestsOf(line).length > 0 ? Session.realmOf(await (store as Store).load(id)) : {};
    return { id, line, ...(blobs && { blobs }), ...revoked };
  }

  /** The requests that answers lie for. */
  async answered(): Promise<readonly FactId[]> {
    const under = answerName(this.#run, "");
    const names = (await this.#store?.names({ under })) ?? [];
    return names.map(({ name }) => name.slice(under.length));
  }

  /** The same; if there is no answer, it takes the place of one, so that none can come from now on. */
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

/** Whether it takes back an approval of a request. */
function isRevocation(line: string, before: string | undefined, request: FactId): boolean {
  if (before === undefined || parentsOf(before).join() !== request) return false;
  const [given, taken] = [readFact(line, undefined), readFact(before, undefined)];
  return given.type === "approval-give" && given.decision === "reject" && taken.type === "approval-give";
}

/** An answer as a session: it hangs from the request it answers, or from the approval that it takes back. */
export function sessionOf({ id, line, blobs, revoked }: Answer, asked: Session, given: Realm): Session {
  const realm = blobs === undefined ? given : Object.freeze({ ...given, blobs });
  const from =
    revoked === undefined ? asked : Session.restore(revoked.line, [asked], realm, { id: revoked.id });
  return Session.restore(line, [from], realm, { id });
}
