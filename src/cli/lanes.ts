import type { Session } from "../session/index.js";

/**
 * The history as text, newest first, one row per session and a lane per branch, as `git log --graph` draws it.
 */
export function lanes(head: Session, describe: (session: Session) => string): string {
  const rows: string[] = [];
  // Each lane waits for the session that comes next on it.
  let waiting: string[] = [head.id];
  for (const session of [...head.history()].reverse()) {
    const lane = waiting.indexOf(session.id);
    const doubles = waiting.reduce((count, id) => count + (id === session.id ? 1 : 0), 0) - 1;
    if (doubles > 0)
      rows.push(waiting.map((id, index) => (id === session.id && index !== lane ? "/" : "|")).join(" "));
    waiting = waiting.filter((id, index) => id !== session.id || index === lane);
    rows.push(`${waiting.map((_, index) => (index === lane ? "*" : "|")).join(" ")}  ${describe(session)}`);
    const [first, ...others] = session.parentIds;
    if (others.length > 0) rows.push(`${waiting.map(() => "|").join(" ")}${" \\".repeat(others.length)}`);
    waiting = [
      ...waiting.slice(0, lane),
      ...(first === undefined ? [] : [first]),
      ...waiting.slice(lane + 1),
      ...others,
    ];
  }
  return rows.join("\n");
}
