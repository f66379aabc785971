import type { Store } from "../../store/index.js";
import { AuditError } from "../audit/error.js";
import { type Dossier, dossierOf } from "../dossier/index.js";
import { erasuresKey } from "./row.js";

/** The sections of a dossier in its order: the title, and the parts of the dossier that a section holds. */
const SECTIONS = {
  summary: ["Summary", "session task outcome counts made notes"],
  graph: ["The graph", "graph"],
  branches: ["Branches", "branches routes"],
  patch: ["The patch", "patch"],
  checks: ["Checks", "validations"],
  words: ["Messages and notes", "words"],
  models: ["Model calls", "models"],
  tools: ["Tool calls", "tools"],
  commands: ["Commands", "commands"],
  changes: ["Changes of files", "changes"],
  approvals: ["Approvals and policies", "approvals standing policies"],
  memory: ["Memory", "memory"],
  spending: ["Spending", "spending budgets"],
  timeline: ["Timeline", "timeline"],
  environment: ["Environment", "environment"],
  proof: ["Proof", "proof imports erasures"],
} as const satisfies { readonly [section: string]: readonly [title: string, parts: string] };

export type SectionName = keyof typeof SECTIONS;

export type DossierSection = {
  readonly section: SectionName;
  readonly title: string;
  /** Every section there is, in order. */
  readonly sections: readonly { readonly section: SectionName; readonly title: string }[];
  readonly content: Partial<Dossier>;
};

/** Every section there is, in order. */
export const SECTION_LIST = (Object.keys(SECTIONS) as SectionName[]).map((section) => ({
  section,
  title: SECTIONS[section][0],
}));

/** So many dossiers are kept: the sections of one are looked at one after the other. */
const KEPT = 4;

/** The dossiers of sessions, section by section. The first section of a session reads all of its record. */
export class Sections {
  readonly #store: Store;
  readonly #made = new Map<string, Promise<Dossier>>();

  constructor(store: Store) {
    this.#store = store;
  }

  async section(ref: string, section: string): Promise<DossierSection> {
    const name = SECTION_LIST.find((one) => one.section === section)?.section;
    if (name === undefined)
      throw new AuditError(
        "question-refused",
        `A dossier has no section ${JSON.stringify(String(section).slice(0, 80))}.`,
        `the sections are ${Object.keys(SECTIONS).join(", ")}`,
        { section: String(section).slice(0, 80) },
      );
    const dossier = await this.#dossier(ref);
    const [title, parts] = SECTIONS[name];
    const content = Object.fromEntries(
      parts.split(" ").map((part) => [part, dossier[part as keyof Dossier]]),
    );
    return { section: name, title, sections: SECTION_LIST, content };
  }

  async #dossier(ref: string): Promise<Dossier> {
    // Erased content must not be told from memory.
    const key = `${ref} ${await this.#store.resolve(ref)} ${erasuresKey(await this.#store.erasures())}`;
    const made = this.#made.get(key) ?? dossierOf(this.#store, ref);
    this.#made.delete(key);
    this.#made.set(key, made);
    for (const one of this.#made.keys()) if (this.#made.size > KEPT) this.#made.delete(one);
    made.catch(() => this.#made.delete(key));
    return made;
  }
}
