import type { Query } from "./client";
import type { Compare, FactRow, GraphPage, MemoryRow, Page, SessionRow } from "./types";

/** A page that `rath studio --bundle` wrote: whole answers by address, in scripts, because a file may not fetch. */
export type Copy = {
  readonly name: string;
  readonly answers: { readonly [address: string]: unknown };
  /** The record itself, so that its ids can be computed here. */
  readonly lines: readonly string[];
};

/** A copy holds whole lists: how much of one is asked for, and from where, is left out of its address. */
const LEFT_OUT = new Set(["limit", "after", "reverse", "buckets", "kind", "differences", "q"]);

function heldAt(path: string, query: Query): string {
  const given = Object.entries(query)
    .filter(([name, value]) => !LEFT_OUT.has(name) && value !== undefined && value !== null && value !== "")
    .map(([name, value]) => `${name}=${value}`);
  return given.length === 0 ? path : `${path}?${given.sort().join("&")}`;
}

export function answerFor({ answers }: Copy, path: string, query: Query): unknown {
  const { of, q, kind, differences, ...rest } = query;
  if (of !== undefined && path.endsWith("/graph")) return pageWith(answers, path, rest, String(of));
  if (path === "/api/search") return found(answers, String(q ?? ""));
  const answer = answers[heldAt(path, rest)];
  if (path === "/api/sessions" && answer !== undefined) return filtered(answer as Page<SessionRow>, query);
  if (path.startsWith("/api/memory/") && q !== undefined)
    return withWords(answer as Page<MemoryRow>, String(q));
  if (path !== "/api/compare" || answer === undefined) return answer;
  const all = answer as Compare;
  const rows = all.rows.filter(
    (row) => (differences !== true || !row.same) && (kind === undefined || row.kind === kind),
  );
  return { ...all, rows, next: null };
}

function pageWith(answers: Copy["answers"], path: string, query: Query, of: string): unknown {
  for (let page = 0; ; page++) {
    const answer = answers[heldAt(path, { ...query, page })] as GraphPage | undefined;
    if (answer === undefined) return answers[heldAt(path, { ...query, page: 0 })];
    if (answer.rows.some(({ id, last }) => id === of || last === of)) return answer;
  }
}

function filtered({ items }: Page<SessionRow>, { q, state }: Query): Page<SessionRow> {
  const words = String(q ?? "").toLowerCase();
  return {
    items: items.filter(
      (row) => (state === undefined || row.state === state) && row.title.toLowerCase().includes(words),
    ),
    next: null,
  };
}

function withWords(page: Page<MemoryRow> | undefined, words: string): Page<MemoryRow> | undefined {
  return (
    page && {
      ...page,
      items: page.items.filter(({ text }) => text.toLowerCase().includes(words.toLowerCase())),
    }
  );
}

function found(answers: Copy["answers"], words: string): Page<FactRow> {
  const items = Object.entries(answers)
    .filter(([address]) => address.startsWith("/api/facts/"))
    .map(([, answer]) => (answer as { readonly row: FactRow }).row)
    .filter(({ label, text = "" }) => `${label} ${text}`.toLowerCase().includes(words.toLowerCase()));
  return { items: items.slice(0, 12), next: null };
}

export type Checked = { readonly checked: number; readonly total: number; readonly ok?: boolean };

/** Computes the id of every line and follows the parents that the lines name: what the page shows must hang together. */
export async function* verifyCopy({ lines }: Copy, head: string): AsyncGenerator<Checked> {
  const ids = new Set<string>();
  let isWhole = true;
  for (const [at, line] of lines.entries()) {
    const bytes = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(line));
    const id = [...new Uint8Array(bytes)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    const { parents } = JSON.parse(line) as { readonly parents: readonly string[] };
    isWhole &&= parents.every((parent) => ids.has(parent));
    ids.add(id);
    if (at % 200 === 0) yield { checked: at + 1, total: lines.length };
  }
  yield { checked: lines.length, total: lines.length, ok: isWhole && ids.has(head) };
}
