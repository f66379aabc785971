import { type FactId, type FactInput, type Principal, Session } from "../../session/index.js";
import type { Store } from "../../store/index.js";
import { type LinkRow, linking, type Origin } from "./links.js";

/** Links in one fact. */
const BATCH = 200;
/** Characters of texts in one fact. */
const ROOM = 1_000_000;
/** Facts that are held before they are saved. */
const UNSAVED = 25;

/** Where links are kept, what they are of, and who links. */
export type LinkPlace = {
  readonly store: Store;
  readonly name: string;
  readonly origin: Origin;
  readonly by: Principal;
};

/** The session that links are appended to, saved every now and then and taken up anew, so that little of it is held. */
export class Chain {
  readonly #at: LinkPlace;
  #session: Session;
  #saved: FactId | null;
  #unsaved = 0;
  #rows: LinkRow[] = [];
  #room = ROOM;

  private constructor(at: LinkPlace, session: Session, saved: FactId | null) {
    this.#at = at;
    this.#session = session;
    this.#saved = saved;
  }

  static async open(at: LinkPlace): Promise<Chain> {
    const { store, name, by } = at;
    const head = await store.head(name);
    return head === undefined
      ? new Chain(at, Session.start(undefined, { by }), null)
      : new Chain(at, await store.load(head), head);
  }

  add(row: LinkRow): Promise<void> {
    return this.link(row);
  }

  async link(row: LinkRow): Promise<void> {
    this.#rows.push(row);
    this.#room -= row.text?.length ?? 0;
    if (this.#rows.length >= BATCH || this.#room <= 0) await this.#flush();
  }

  /** Says something of all that was linked. */
  async append(fact: FactInput): Promise<void> {
    await this.#flush();
    this.#session = this.#session.append(fact);
    this.#unsaved += 1;
    if (this.#unsaved >= UNSAVED) await this.#save();
  }

  async close(): Promise<FactId> {
    await this.#flush();
    if (this.#unsaved > 0 || this.#saved === null) await this.#save();
    return this.#session.id;
  }

  async #flush(): Promise<void> {
    const rows = this.#rows;
    this.#rows = [];
    this.#room = ROOM;
    if (rows.length > 0) await this.append(linking(this.#at.origin, rows, this.#at.by));
  }

  async #save(): Promise<void> {
    const { store, name } = this.#at;
    const { id } = await store.save(this.#session, { name, expect: this.#saved });
    this.#saved = id;
    this.#unsaved = 0;
    this.#session = await store.load(id);
  }
}
