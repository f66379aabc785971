import { RathError } from "../../session/index.js";
import { isObject, optionNames, unknownOption } from "../../util/index.js";

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

const KNOWN = optionNames<DossierOptions>()("name most characters size at progress");

/** A dossier was asked for in a way that makes no sense. */
export class DossierOptionError extends RathError {
  constructor(reason: string, hint: string) {
    super("option-refused", `Cannot make a dossier: ${reason}.`, { hint, data: { reason } });
  }
}

export function settingsOf(options: DossierOptions): Settings {
  if (!isObject(options))
    throw new DossierOptionError("the options must be an object", "dossierOf(store, name, { most: 100 })");
  const unknown = unknownOption(options, KNOWN);
  if (unknown !== undefined)
    throw new DossierOptionError(`it has no option ${JSON.stringify(unknown.name)}`, unknown.hint);
  const { most = 300, characters = 12_000, size = 6_000_000, at = new Date().toISOString() } = options;
  requireCount("most", most, 2, 100_000);
  requireCount("characters", characters, 100, 10_000_000);
  requireCount("size", size, 10_000, 400_000_000);
  if (typeof at !== "string" || Number.isNaN(Date.parse(at)))
    throw new DossierOptionError("`at` must be a time", "at: new Date().toISOString()");
  const { name, progress } = options;
  if (name !== undefined && typeof name !== "string")
    throw new DossierOptionError("`name` must be a string", 'name: "issue-7"');
  if (progress !== undefined && typeof progress !== "function")
    throw new DossierOptionError(
      "`progress` must be a function",
      "progress: (facts) => console.error(facts)",
    );
  return { most, characters, size, at, ...(name !== undefined && { name }), ...(progress && { progress }) };
}

function requireCount(what: string, value: unknown, least: number, greatest: number): void {
  if (Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= greatest) return;
  throw new DossierOptionError(
    `\`${what}\` must be a whole number from ${least} to ${greatest}`,
    `${what}: ${Math.min(greatest, Math.max(least, 1_000))}`,
  );
}
