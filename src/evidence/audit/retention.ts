import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { isPrincipal, type Principal } from "../../session/index.js";
import type { Store } from "../../store/index.js";
import { defined } from "../../util/index.js";
import { replaceFile } from "../proof/file.js";
import { AuditError } from "./error.js";

/** How long content must stay before it may be erased, on which basis, and who said so. */
export type Retention = {
  readonly days: number;
  /** The law, contract or rule that wants it. */
  readonly basis: string;
  readonly profile?: string;
  readonly at: string;
  readonly by: Principal;
  /** Earlier settings, newest first. */
  readonly before?: readonly Omit<Retention, "before">[];
};

/** Longest that a floor may be: a hundred years. More is a slip of the pen. */
const LONGEST = 36_525;
const FILE = "retention.json";
const DAY = 86_400_000;

/** The folder of a store's settings: where its file or folder lies. None for a store that is not on a disk. */
export function retentionFolder(store: Store): string | undefined {
  const { url } = store;
  const [, path] = /^sqlite:(.+)$/s.exec(url) ?? [];
  return path === undefined || path === ":memory:" ? undefined : dirname(path);
}

/** The floor that is set in a folder; undefined when none is. A file that cannot be read is an error: no floor must be lost by damage. */
export async function readRetention(folder: string): Promise<Retention | undefined> {
  const path = join(folder, FILE);
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw damaged(path, "it cannot be read");
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw damaged(path, "it is not JSON");
  }
  const found = settingIn(value);
  if (found === undefined) throw damaged(path, "it does not say days, basis, at and by");
  const { before } = value as { readonly before?: unknown };
  const earlier = Array.isArray(before) ? before.flatMap((one) => settingIn(one) ?? []) : [];
  return { ...found, ...(earlier.length > 0 && { before: earlier }) };
}

/** Sets the floor of a folder. Earlier settings stay in the file, with their authors. */
export async function writeRetention(folder: string, setting: Omit<Retention, "before">): Promise<Retention> {
  const { days, basis, profile, at, by } = setting;
  if (!Number.isSafeInteger(days) || days < 0 || days > LONGEST)
    throw refused(
      `${String(days).slice(0, 40)} is not a number of days`,
      `give a whole number of days from 0 to ${LONGEST}`,
    );
  if (typeof basis !== "string" || basis.trim() === "")
    throw refused(
      "it needs a basis",
      'say on which basis: rath retention set 184 --basis "AI Act, Article 19"',
    );
  if (!isPrincipal(by)) throw refused("it needs somebody who sets it", "say who: --by user:ada");
  const known = await readRetention(folder);
  const { before = [], ...last } = known ?? {};
  const next: Retention = {
    days,
    basis,
    ...defined({ profile }),
    at,
    by,
    ...(known !== undefined && { before: [last as Omit<Retention, "before">, ...before].slice(0, 1_000) }),
  };
  replaceFile(join(folder, FILE), `${JSON.stringify(next, null, 2)}\n`, 0o644);
  return next;
}

/** Until when content of a time must stay; undefined when it may go. A time that cannot be read counts as now. */
export function heldUntil(retention: Retention | undefined, at: string, now: number): string | undefined {
  if (retention === undefined || retention.days === 0) return undefined;
  const time = Date.parse(at);
  // A clock that was ahead must not hold content for longer than the floor.
  const since = Number.isNaN(time) ? now : Math.min(time, now);
  const until = since + retention.days * DAY;
  return until > now ? new Date(until).toISOString() : undefined;
}

function settingIn(value: unknown): Omit<Retention, "before"> | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  const { days, basis, profile, at, by } = value as { readonly [field: string]: unknown };
  if (!Number.isSafeInteger(days) || (days as number) < 0 || typeof basis !== "string") return undefined;
  if (typeof at !== "string" || !isPrincipal(by)) return undefined;
  return { days: days as number, basis, ...(typeof profile === "string" && { profile }), at, by };
}

function refused(reason: string, hint: string): AuditError {
  return new AuditError("retention-refused", `Cannot set how long content must stay: ${reason}.`, hint);
}

function damaged(path: string, reason: string): AuditError {
  return new AuditError(
    "retention-refused",
    `Cannot tell how long content must stay: ${path}: ${reason}.`,
    "mend the file, or remove it and set the floor anew: rath retention set DAYS --basis …",
    { path },
  );
}
