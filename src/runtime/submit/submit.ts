import { type FactId, parentsOf, requireSession, type Session } from "../../session/index.js";
import { ConflictError, FencedError, type Store } from "../../store/index.js";
import { defined, isObject, isText, optionNames, showValue } from "../../util/index.js";
import { NameTakenError, PendingWorkError } from "../error.js";
import { RefusedError, requireKnown, requireModule, requireNewName, requirePrincipal } from "../given.js";
import { digestOfModule, type Module } from "../module.js";
import { behalfOf } from "../policy/index.js";
import type { Rath } from "../rath.js";
import { recordedRun } from "../tape/recorded.js";
import {
  freeEntry,
  gateName,
  heldEntry,
  MOST_PRIORITY,
  type Needs,
  type Submission,
  submissionAt,
  submissionFact,
} from "./submission.js";

export type SubmitOptions = {
  /** The name of the session. Default: made of the module's name and the session's id, so that it is submitted once. */
  readonly name?: string;
  /** Workers may serve some queues only. Default: "default". */
  readonly queue?: string;
  /** From -999 to 999, the highest first. Default: 0. */
  readonly priority?: number;
  /** No worker begins it before this time: a Date, a text such as 2026-11-20T09:00:00Z, or milliseconds since 1970. */
  readonly notBefore?: Date | string | number;
  /** The name of a validation: the session waits until somebody opens this gate (`rath release`), because the validation has passed. */
  readonly gate?: string;
  /** The properties of the workers that can run it. */
  readonly needs?: Needs;
  /** The principal who submits it; it is run on their behalf. Default: the last speaker in the session. */
  readonly by?: Session["fact"]["by"];
};

export type Submitted = {
  readonly name: string;
  /** The session with the fact of its submission. */
  readonly id: FactId;
  /** Whether it was submitted before; then nothing was written now. */
  readonly repeated: boolean;
};

/** Records that a session is to be run, and puts it into the queue, in one commit. */
export async function submit(
  rath: Rath,
  module: Module,
  session: Session,
  options: SubmitOptions,
): Promise<Submitted> {
  requireModule(module, "submit it");
  const use = `submit ${module.name}`;
  requireSession(session, use);
  requireKnown(options, OPTIONS, use);
  await requireNewName(options.name, use, () => rath.store());
  requirePrincipal(options.by, use);
  const { pending } = session;
  if (pending.length > 0) throw new PendingWorkError(pending);
  const { name = `${module.name}-${session.id.slice(0, 12)}`, by } = options;
  const store = await rath.store();
  const wanted = {
    ...checkedOptions(options, use),
    name,
    module: module.name,
    version: digestOfModule(module),
  };
  const known = await submittedBefore(store, wanted, session.id);
  if (known !== undefined) return known;
  const given = { ...wanted, tenant: behalfOf(session, by), ...defined({ by }) };
  const at = new Date(await store.time()).toISOString();
  const asked = session.append({ ...submissionFact(given), at });
  const submission: Submission = { ...given, id: asked.id, at };
  const free = freeEntry(submission, Date.parse(at));
  const { gate } = wanted;
  const isHeld = gate !== undefined && (await store.head(gateName(gate))) === undefined;
  const entry = isHeld ? heldEntry(submission) : free;
  try {
    // Several who submit the same in one millisecond write the same line, and one of them is first.
    const { written } = await store.save(asked, { name, also: { [entry]: asked } });
    await passGate(store, submission);
    return { name, id: asked.id, repeated: written === 0 };
  } catch (error) {
    // Another process was first, with the same or with something else.
    if (!(error instanceof ConflictError || error instanceof FencedError) || error.data.name !== name)
      throw error;
    const again = await submittedBefore(store, wanted, session.id);
    if (again !== undefined) return again;
    const head = await store.head(name);
    throw head === undefined ? error : new NameTakenError(name, head, "begin a run as");
  }
}

const OPTIONS = optionNames<SubmitOptions>()("name queue priority notBefore gate needs by");
const NEEDS = optionNames<Needs>()("sandboxes labels memory");

type Wanted = Pick<
  Submission,
  "name" | "module" | "version" | "queue" | "priority" | "notBefore" | "gate" | "needs"
>;

/** The submission of this session for this program under this name, if it is recorded: it may wait, run or be over by now. */
async function submittedBefore(store: Store, wanted: Wanted, base: FactId): Promise<Submitted | undefined> {
  const { name, module, version } = wanted;
  const head = await store.head(name);
  if (head === undefined) return undefined;
  const waiting = await submissionAt(store, head);
  const id = waiting === undefined ? (await runOf(store, name))?.base : head;
  const found = id === undefined ? undefined : (waiting ?? (await submissionAt(store, id)));
  const line = id === undefined ? undefined : await store.line(id);
  if (id === undefined || line === undefined || found === undefined) return undefined;
  const isSame = found.module === module && found.version === version && found.name === name;
  if (!isSame || parentsOf(line)[0] !== base) return undefined;
  await passGate(store, found);
  return { name, id, repeated: true };
}

/** The newest run under a name: the session that it was begun with, and whether it is over, also where somebody went on after it. */
export async function runOf(
  store: Store,
  name: string,
): Promise<
  { readonly nonce: string; readonly base: FactId | undefined; readonly over: boolean } | undefined
> {
  const recorded = await recordedRun(store, name);
  if (recorded === undefined) return undefined;
  const { nonce, over, root } = recorded;
  const start = await store.line(root);
  return { nonce, over, base: start === undefined ? undefined : parentsOf(start)[0] };
}

/**
 * Lets a session go whose gate is open. Somebody may have opened it while the session was put behind it; a program that dies in
 * between has told nobody that it is submitted, and submits it again.
 */
export async function passGate(store: Store, submission: Submission): Promise<void> {
  const { gate, id } = submission;
  const held = heldEntry(submission);
  if (
    gate === undefined ||
    (await store.head(held)) !== id ||
    (await store.head(gateName(gate))) === undefined
  )
    return;
  const name = freeEntry(submission, await store.time());
  await store.save(await store.load(id), { name, also: { [held]: null } });
}

function checkedOptions(options: SubmitOptions, use: string) {
  const { queue = "default", priority = 0, notBefore, gate, needs = {} } = options;
  const refuse = (reason: string, hint: string): never => {
    throw new RefusedError(use, reason, hint);
  };
  if (!isText(queue) || queue === "" || queue.length > 100)
    refuse(`\`queue\` is ${showValue(queue)}`, 'name a queue in at most 100 characters: queue: "nightly"');
  if (gate !== undefined && (!isText(gate) || gate === "" || gate.length > 200))
    refuse(
      `\`gate\` is ${showValue(gate)}`,
      'name a validation in at most 200 characters: gate: "release tests"',
    );
  if (!Number.isInteger(priority) || Math.abs(priority) > MOST_PRIORITY)
    refuse(`\`priority\` is ${showValue(priority)}`, "give a whole number from -999 to 999");
  const time = notBefore === undefined ? 0 : new Date(notBefore).getTime();
  if (Number.isNaN(time))
    refuse(`\`notBefore\` is ${showValue(notBefore)}`, "give a Date or an ISO time: 2026-11-20T09:00:00Z");
  if (!isObject(needs))
    refuse(`\`needs\` is ${showValue(needs)}`, 'needs: { sandboxes: ["docker"], memory: 512 }');
  requireKnown(needs, NEEDS, use);
  for (const list of [needs.sandboxes ?? [], needs.labels ?? []])
    if (!Array.isArray(list) || !list.every((one) => isText(one) && one !== ""))
      refuse(`\`needs\` lists ${showValue(list)}`, 'give lists of texts: needs: { labels: ["gpu"] }');
  if (needs.memory !== undefined && !(Number.isFinite(needs.memory) && needs.memory > 0))
    refuse(`\`needs.memory\` is ${showValue(needs.memory)}`, "give a number of mebibytes: memory: 512");
  return {
    queue,
    priority,
    needs,
    ...defined({ gate }),
    ...(notBefore !== undefined && { notBefore: new Date(time).toISOString() }),
  };
}
