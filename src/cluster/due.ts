import { classOf, DUE, type Needs, type Submission, submissionAt } from "../runtime/submit/index.js";
import type { Name, Store } from "../store/index.js";

/** No character of an entry comes after it. */
const LAST = "\u{10ffff}";
/** How many entries of one kind workers choose among, so that they do not all want the first. */
const CHOICE = 16;

/** The abilities of a worker. */
export type Abilities = {
  /** As `name@version`. */
  readonly modules: ReadonlySet<string>;
  readonly queues: ReadonlySet<string> | undefined;
  readonly offers: Needs;
};

type Class = Pick<Submission, "queue" | "needs"> & { readonly id: string; readonly fits: boolean };

/**
 * Finds what a worker takes next: queue after queue, and in each of them one tenant after the other, so that a thousand sessions
 * of one of them delay nobody else. It reads a few entries of an index, however many there are.
 */
export class Due {
  readonly #store: Store;
  readonly #abilities: Abilities;
  readonly #classes = new Map<string, Class>();
  /** The tenant that was served last, by class, and the class of each queue, and the queue. */
  readonly #tenants = new Map<string, string>();
  readonly #lastClass = new Map<string, string>();
  #lastQueue = "";

  constructor(store: Store, abilities: Abilities) {
    this.#store = store;
    this.#abilities = abilities;
  }

  /**
   * The next entry that there is room for.
   *
   * @param memory the mebibytes that are left
   * @param rank orders entries that are as good as each other: workers prefer different ones
   */
  async next(
    memory: number,
    rank: ((entry: Name) => number) | undefined,
    without: ReadonlySet<string>,
  ): Promise<Name | undefined> {
    const classes = (await this.#open()).filter(({ needs }) => (needs.memory ?? 0) <= memory);
    const queues = rotated([...new Set(classes.map(({ queue }) => queue))].sort(), this.#lastQueue);
    for (const queue of queues) {
      const ids = classes.filter((one) => one.queue === queue).map(({ id }) => id);
      for (const id of rotated(ids, this.#lastClass.get(queue) ?? "")) {
        const entry = await this.#ofClass(id, rank, without);
        if (entry === undefined) continue;
        this.#lastQueue = queue;
        this.#lastClass.set(queue, id);
        return entry;
      }
    }
    return undefined;
  }

  /** Whether this worker can run a submission at all. */
  fits(submission: Submission): boolean {
    return (
      this.#abilities.modules.has(`${submission.module}@${submission.version}`) &&
      offersTo(this.#abilities, submission)
    );
  }

  /** The classes of which something is due and that this worker can take. */
  async #open(): Promise<readonly Class[]> {
    const open: Class[] = [];
    for (let after = DUE; ; ) {
      const [first] = await this.#store.names({ under: DUE, after, limit: 1 });
      if (first === undefined) return open;
      const id = first.name.slice(DUE.length).split("/", 1)[0] as string;
      const known = this.#classes.get(id) ?? (await this.#learn(id, first));
      if (known?.fits === true) open.push(known);
      after = `${DUE}${id}/${LAST}`;
    }
  }

  async #learn(id: string, entry: Name): Promise<Class | undefined> {
    const submission = await submissionAt(this.#store, entry.id);
    if (submission === undefined || classOf(submission) !== id) return undefined;
    const { queue, needs } = submission;
    const known = { id, queue, needs, fits: this.fits(submission) };
    this.#classes.set(id, known);
    return known;
  }

  async #ofClass(
    id: string,
    rank: ((entry: Name) => number) | undefined,
    without: ReadonlySet<string>,
  ): Promise<Name | undefined> {
    const under = `${DUE}${id}/`;
    const last = this.#tenants.get(id);
    const tried = new Set<string>();
    for (let after = last === undefined ? under : `${under}${last}/${LAST}`; ; ) {
      const [first] = await this.#store.names({ under, after, limit: 1 });
      if (first === undefined) {
        if (after === under) return undefined;
        // Round again, from the first tenant.
        after = under;
        continue;
      }
      const tenant = first.name.slice(under.length).split("/", 1)[0] as string;
      if (tried.has(tenant)) return undefined;
      tried.add(tenant);
      const entry = await this.#ofTenant(`${under}${tenant}/`, rank, without);
      if (entry !== undefined) {
        this.#tenants.set(id, tenant);
        return entry;
      }
      after = `${under}${tenant}/${LAST}`;
    }
  }

  async #ofTenant(
    under: string,
    rank: ((entry: Name) => number) | undefined,
    without: ReadonlySet<string>,
  ): Promise<Name | undefined> {
    const page = await this.#store.names({
      under,
      limit: rank === undefined ? without.size + 1 : CHOICE + without.size,
    });
    const left = page.filter(({ name }) => !without.has(name));
    const [first] = left;
    if (first === undefined || rank === undefined) return first;
    const priority = (name: string): string => name.slice(under.length, under.length + 4);
    const equals = left.filter(({ name }) => priority(name) === priority(first.name));
    return equals
      .map((entry) => ({ entry, place: rank(entry) }))
      .sort((one, other) => one.place - other.place)[0]?.entry;
  }
}

/** Whether a worker serves the queue of a submission, and has the properties that it needs. */
export function offersTo(
  { queues, offers }: Pick<Abilities, "queues" | "offers">,
  { queue, needs }: Submission,
): boolean {
  return (
    queues?.has(queue) !== false &&
    (needs.sandboxes ?? []).every((one) => offers.sandboxes?.includes(one)) &&
    (needs.labels ?? []).every((one) => offers.labels?.includes(one)) &&
    (needs.memory ?? 0) <= (offers.memory ?? Number.POSITIVE_INFINITY)
  );
}

/** A list from after its last served element on, and round to it. */
function rotated<Item extends string>(items: readonly Item[], last: string): readonly Item[] {
  const place = items.findIndex((item) => item > last);
  return place <= 0 ? items : [...items.slice(place), ...items.slice(0, place)];
}
