import { readdirSync, readFileSync } from "node:fs";

/**
 * The processes that belong to a command: its group, its descendants, and whatever is in a group or a session of
 * theirs (those of a shell with job control, of `timeout`, of a terminal). All numbers are those of the sandbox: they
 * are read from its own /proc, which nothing inside can replace. Looked at again, it also finds what was started between a
 * look and a signal, whose parents are gone by then.
 */
export class Family {
  readonly #first: number;
  readonly #members: Set<number>;
  readonly #groups: Set<number>;
  readonly #sessions = new Set<number>();

  /**
   * @param first process 1 of the sandbox, as the host sees it
   * @param command the first process of the command, as the sandbox sees it
   */
  constructor(first: number, command: number) {
    this.#first = first;
    this.#members = new Set([command]);
    this.#groups = new Set([command]);
  }

  /**
   * Those that are there now.
   *
   * @param but a group whose processes are left out
   */
  look(but?: number): readonly number[] {
    const all = processesOf(this.#first);
    const found = new Set<Process>();
    for (let size = -1; size !== found.size; ) {
      size = found.size;
      for (const one of all) if (this.#owns(one)) found.add(this.#adopt(one));
    }
    return [...found].filter(({ group }) => group !== but).map(({ number }) => number);
  }

  #owns({ number, parent, group, session }: Process): boolean {
    return (
      this.#members.has(number) ||
      this.#members.has(parent) ||
      this.#groups.has(group) ||
      this.#sessions.has(session)
    );
  }

  #adopt(one: Process): Process {
    this.#members.add(one.number);
    // The first of each is ours: process 1 and those that report are in it.
    if (one.group !== 1) this.#groups.add(one.group);
    if (one.session !== 1) this.#sessions.add(one.session);
    return one;
  }
}

/** Whether all processes of a sandbox stand still, but for its first. */
export function areStopped(first: number): boolean {
  return processesOf(first).every(({ number, state }) => number === 1 || /^[Tt]$/.test(state));
}

type Process = {
  readonly state: string;
  readonly number: number;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
};

/** All processes of a sandbox. None when it cannot be looked into. */
function processesOf(first: number): readonly Process[] {
  const root = `/proc/${first}/root/proc`;
  try {
    return readdirSync(root)
      .filter((name) => /^\d+$/.test(name))
      .flatMap((name) => processAt(`${root}/${name}`, Number(name)));
  } catch {
    return [];
  }
}

function processAt(path: string, number: number): readonly Process[] {
  try {
    const text = readFileSync(`${path}/stat`, "latin1");
    // Its name, which it can choose, is in parentheses; what follows the last one is ours to read.
    const [state = "", parent, group, session] = text.slice(text.lastIndexOf(")") + 2).split(" ");
    if (state === "Z" || state === "X") return [];
    return [{ number, state, parent: Number(parent), group: Number(group), session: Number(session) }];
  } catch {
    return [];
  }
}
