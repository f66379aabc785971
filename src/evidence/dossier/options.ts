import { RathError } from "../../session/index.js";
import { nearestOf } from "../../util/index.js";

export type DossierOptions = {
  /** How the session is called; by default the name that it was asked for by. */
  readonly name?: string;
  /** At most so many items in each section, the first and the last; default 300. */
  readonly most?: number;
  /** At most so many characters of one text; default 12,000. */
  readonly characters?: number;
  /** At most about so many characters of all texts together; default 6,000,000. */
  readonly size?: number;
  /** When it is made; by default now. */
  readonly at?: string;
  /** Told now and then how many facts were read. */
  readonly progress?: (facts: number) => void;
};

export type Settings = Required<Omit<DossierOptions, "name" | "progress">> &
  Pick<DossierOptions, "name" | "progress">;

const KNOWN = ["name", "most", "characters", "size", "at", "progress"] satisfies (keyof DossierOptions)[];

/** A dossier was asked for in a way that makes no sense. */
export class DossierOptionError extends RathError {
  constructor(reason: string, hint: string) {
    super("option-refused", `Cannot make a dossier: ${reason}.`, { hint, data: { reason } });
  }
}

export function settingsOf(options: DossierOptions): Settings {
  if (typeof options !== "object" || options === null || Array.isArray(options))
    throw new DossierOptionError("its options are no object", "dossierOf(store, name, { most: 100 })");
  const unknown = Object.keys(options).find((option) => !(KNOWN as readonly string[]).includes(option));
  if (unknown !== undefined) {
    const meant = nearestOf(unknown, KNOWN);
    throw new DossierOptionError(
      `it has no option ${JSON.stringify(unknown)}`,
      meant === undefined ? `the options are ${KNOWN.join(", ")}` : `did you mean "${meant}"?`,
    );
  }
  const { most = 300, characters = 12_000, size = 6_000_000, at = new Date().toISOString() } = options;
  requireCount("most", most, 2, 100_000);
  requireCount("characters", characters, 100, 10_000_000);
  requireCount("size", size, 10_000, 400_000_000);
  if (typeof at !== "string" || Number.isNaN(Date.parse(at)))
    throw new DossierOptionError("its `at` is no time", "at: new Date().toISOString()");
  const { name, progress } = options;
  if (name !== undefined && typeof name !== "string")
    throw new DossierOptionError("its `name` is no text", 'name: "issue-7"');
  if (progress !== undefined && typeof progress !== "function")
    throw new DossierOptionError(
      "its `progress` is no function",
      "progress: (facts) => console.error(facts)",
    );
  return { most, characters, size, at, ...(name !== undefined && { name }), ...(progress && { progress }) };
}

function requireCount(what: string, value: unknown, least: number, greatest: number): void {
  if (Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= greatest) return;
  throw new DossierOptionError(
    `its \`${what}\` is no whole number from ${least} to ${greatest}`,
    `${what}: ${Math.min(greatest, Math.max(least, 1_000))}`,
  );
}
