import { Trees } from "../../sandbox/index.js";
import { type Digest, type FactId, RathError, type Session, VERSION } from "../../session/index.js";
import type { Store } from "../../store/index.js";
import { defined } from "../../util/index.js";
import { Reader } from "../audit/reader.js";
import { type Change, Diffs, type Patch } from "./changes.js";
import { Collection } from "./collect.js";
import { DOSSIER, type Dossier, type Made } from "./dossier.js";
import { fitted } from "./fit.js";
import { type DossierOptions, settingsOf } from "./options.js";
import { Prompts } from "./prompts.js";
import type { Proof } from "./proof.js";
import { namesById, straysOf } from "./strays.js";
import { outcomeOf } from "./summary.js";
import { type Listed, Words } from "./words.js";

/** Branches of their own whose prompts are rendered. */
const BRANCHES = 20;

/**
 * Everything that a record says about a session, each item with the facts that prove it.
 *
 * ```ts
 * const dossier = await dossierOf(store, "issue-7");
 * writeFileSync("issue-7.html", dossierHtml(dossier));
 * ```
 */
export async function dossierOf(
  store: Store,
  nameOrId: string,
  options: DossierOptions = {},
): Promise<Dossier> {
  const settings = settingsOf(options);
  const id = await store.resolve(nameOrId);
  const name =
    settings.name ?? ((await store.head(nameOrId).catch(() => undefined)) === id ? nameOrId : undefined);
  const words = new Words(settings.characters, await store.erasures());
  const all = new Collection(settings, words);
  await all.read(store, [id], []);
  const strays = await straysOf(
    store,
    id,
    (one) => all.branches.has(one),
    [...all.branches.ids()],
    all.by.record.facts,
    undefined,
    (all.by.record.types["run-start"] ?? 0) > 0,
  );
  await all.read(store, strays.heads, [id]);
  const branch = all.branches.end(id);

  const head = await store.load(id);
  const prompts = new Prompts(store, words);
  await prompts.render(head, all.by.models.kept);
  const elsewhere = all.by.models.kept.filter((call) => call.elsewhere);
  for (const stray of strays.heads.slice(0, BRANCHES))
    if (elsewhere.some((call) => !prompts.found.has(call.id))) await prompts.renderAt(stray, elsewhere);

  const diffs = new Diffs(new Trees(store), words);
  const changes = await changesOf(all, diffs);
  const patch = await patchOf(all, head, diffs);
  const deeds = await all.by.memories.deeds(new Reader(store));
  const { checks } = all;
  const { record } = all.by;
  const { rulings, reads, placements, agents, signatures, policies: set, ...lists } = all.listed();
  const dossier: Dossier = {
    ...lists,
    dossier: DOSSIER,
    session: { id, ...defined({ name }), branch: branch?.name ?? "main" },
    made: madeAt(settings.at),
    task: all.by.task.task,
    outcome: outcomeOf(head, words, record),
    counts: {
      facts: record.facts,
      elsewhere: record.elsewhere,
      types: record.types,
      branches: all.branches.all.length,
      rejected: all.branches.rejected,
      filesChanged: all.by.changes.files,
      testsPassed: checks.passed,
      testsFailed: checks.failed,
      withheld: record.erased + record.missing,
    },
    graph: all.by.picture.end(),
    branches: all.branches.listed(settings.most, words),
    timeline: record.timeline,
    words: record.words,
    models: all.by.models.listed(prompts.found),
    tools: all.by.tools.listed(),
    changes,
    patch,
    validations: all.validations.listed(),
    approvals: all.by.approvals.asked(),
    standing: all.by.approvals.used(),
    policies: { set, rulings },
    memory: { reads, deeds, reasons: await all.by.memories.reasons(store, deeds.items) },
    spending: all.by.spendings.told(settings.most, all.branches.all),
    environment: { placements, agents, ...all.by.surroundings.listed() },
    proof: { ...(await proofOf(store, all, head, strays.heads, words)), signatures },
    notes: notesOf(strays.note, strays.heads.length),
  };
  return fitted(dossier, settings.size);
}

async function changesOf(all: Collection, diffs: Diffs): Promise<Listed<Change>> {
  const { items, ...rest } = all.by.changes.listed();
  const changes: Change[] = [];
  for (const draft of items) changes.push(await diffs.change(draft));
  return { ...rest, items: changes };
}

/** From the files as they came to the files as the result has them. */
async function patchOf(all: Collection, head: Session, diffs: Diffs): Promise<Patch | null> {
  const { first } = all.by.changes;
  const last = treeOf(head);
  if (first === undefined || last === null) return null;
  return diffs.patch(first.tree, last, [first.fact, head.id]);
}

function treeOf(head: Session): Digest | null {
  try {
    return head.files.tree;
  } catch (error) {
    if (error instanceof RathError) return null;
    throw error;
  }
}

async function proofOf(
  store: Store,
  { by: { record } }: Collection,
  head: Session,
  strays: readonly FactId[],
  words: Words,
): Promise<Omit<Proof, "signatures">> {
  const names = await namesById(store);
  return {
    head: head.id,
    line: words.tell(head.line),
    heads: [head.id, ...strays].map((id) => ({ id, names: names.get(id) ?? [] })),
    facts: record.facts + record.elsewhere,
    roots: record.roots,
    blobs: { count: record.blobs, bytes: record.bytes, erased: record.erased, missing: record.missing },
  };
}

function notesOf(note: string | undefined, strays: number): readonly string[] {
  const more =
    strays > BRANCHES
      ? [`prompts were rendered for ${BRANCHES} of ${strays} branches that nothing took in`]
      : [];
  return [...(note === undefined ? [] : [note]), ...more];
}

function madeAt(at: string): Made {
  return { at, openrath: VERSION, node: process.version, platform: `${process.platform} ${process.arch}` };
}
