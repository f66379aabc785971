import {
  digestOf,
  type FactId,
  type KeepingSetting,
  keepingView,
  parentsOf,
  type Realm,
  Session,
} from "../../session/index.js";
import { DamageError } from "../error.js";

/** Where the id of a line's first parent begins and ends. */
const PARENT = 22;
const PARENT_END = PARENT + 64;

/** Builds sessions from lines that come parents first, and checks each against the ids that name it. */
export class Loader {
  readonly sessions: Session[] = [];
  readonly #realm: Realm;
  readonly #depth: number | undefined;
  /** Made when a line comes from another line than the one before it. */
  #byId: Map<FactId, Session> | undefined;

  /** With a depth, the first line is one whose past is not loaded. */
  constructor(realm: Realm, depth: number | undefined) {
    this.#realm = realm;
    this.#depth = depth;
  }

  add(lines: readonly string[]): void {
    // Ten thousand lines are a few milliseconds; one object is used for all of them.
    const known: { id: FactId; depth: number } = { id: "", depth: this.#depth ?? 0 };
    for (const line of lines) {
      known.id = digestOf(line);
      const cut = this.#depth !== undefined && this.sessions.length === 0;
      const session = Session.restore(
        line,
        cut ? undefined : this.#parents(line, known.id),
        this.#realm,
        known,
      );
      this.sessions.push(session);
      this.#byId?.set(known.id, session);
    }
  }

  finish(id: FactId): Session {
    const last = this.sessions.at(-1);
    if (last === undefined || last.id !== id)
      throw new DamageError(`the session ${id}`, "its line is not the one that was written");
    return last;
  }

  /** How a history with one root keeps its content is said there: no need to read all of it. */
  keeping(): KeepingSetting | undefined {
    const roots = this.sessions.filter((session) => session.depth === 0);
    return roots.length === 1 && this.#depth === undefined ? roots[0]?.view(keepingView) : undefined;
  }

  readonly #lastAlone: Session[] = [];

  #parents(line: string, id: FactId): readonly Session[] {
    const last = this.sessions[this.sessions.length - 1];
    if (last !== undefined && line.startsWith(last.id, PARENT) && line.startsWith('"]', PARENT_END)) {
      this.#lastAlone[0] = last;
      return this.#lastAlone;
    }
    this.#byId ??= new Map(this.sessions.map((session) => [session.id, session]));
    return parentsOf(line).map((parent) => {
      const session = this.#byId?.get(parent);
      if (session === undefined)
        throw new DamageError(`the fact ${parent}`, `it is missing or altered, and ${id} comes from it`);
      return session;
    });
  }
}
