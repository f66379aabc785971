import { readFileSync, statSync } from "node:fs";
import {
  CheckpointMemory,
  checkInclusion,
  KeyRing,
  readCheckpoint,
  readProof,
  readPublicKey,
} from "../../evidence/proof/index.js";
import {
  type CheckpointReport,
  type Keys,
  keysOf,
  type Signature,
  type Verified,
  type VerifiedFile,
  verifyFile,
  verifySession,
  verifyStore,
} from "../../evidence/verify/index.js";
import { statusOf } from "../../runtime/index.js";
import { digestOf, type FactId, type FactType, RathError, type Session } from "../../session/index.js";
import { firstLine } from "../../util/index.js";
import { type Input, textOption, textsOption } from "../entry.js";
import { UsageError, unreadable } from "../error.js";
import { ProgramError } from "../program.js";
import type { Shell } from "../shell.js";
import { argument, count, oneLine, plain } from "../text.js";
import { homeOf, logOf } from "./checkpoint.js";

/** `rath verify`: exit code 0 when everything is as it was written, 3 when not. */
export async function run(shell: Shell, input: Input): Promise<number> {
  const [what] = input.args;
  if (input.args.length > 1)
    throw new UsageError(
      "rath verify takes one session or one file.",
      "rath verify SESSION, or rath verify FILE",
    );
  const given = textsOption(input, "key").map((file) => readPublicKey(readText(file, "key")));
  const keys: Keys = { ...keysOf(new KeyRing(shell.config).list()), given };
  const proof = textOption(input, "proof");
  if (proof !== undefined) return verifyProof(shell, proof, await wholeId(shell, what), keys);
  const isFile = what !== undefined && statSync(what, { throwIfNoEntry: false })?.isFile() === true;
  // A word with the ending of a file is meant as one, unless a session has that name.
  const isMissing = what !== undefined && !isFile && /\.(jsonl?|html)$/.test(what);
  if (isMissing && (await (await shell.store()).head(what)) === undefined)
    throw unreadable(what, { code: "there is no such file" });
  if (isFile) refuse(input, ["checkpoint", "with"], "a file");
  else refuse(input, ["head"], "a session or a store");
  try {
    const report = isFile
      ? await verifyFile(what, {
          keys,
          signedBy: given,
          heads: textsOption(input, "head"),
          progress: shell.reading("lines"),
        })
      : what === undefined
        ? await store(shell, input, keys)
        : await session(shell, input, what, keys);
    shell.clear();
    return tell(shell, report, what, report.kind === "session" && (await isOver(shell, what)));
  } catch (error) {
    shell.clear();
    // A store that is so damaged that it does not open is as little intact as one that does.
    if (!(error instanceof RathError) || error.code !== "store-damaged") throw error;
    const finding = { place: String(error.data.place), problem: String(error.data.problem) };
    return tell(shell, { ...NOTHING, findings: [finding] }, what);
  }
}

/** Whether a session may be signed: a run that waits goes on where it stands. */
async function isOver(shell: Shell, reference: string | undefined): Promise<boolean> {
  const { id } = await shell.find(reference ?? "");
  return statusOf(await (await shell.store()).load(id)) !== "waiting";
}

const NOTHING: Verified = {
  kind: "store",
  intact: false,
  facts: 0,
  blobs: 0,
  erased: 0,
  findings: [],
  more: 0,
  heads: [],
  erasures: [],
  signatures: [],
  notices: [],
};

async function store(shell: Shell, input: Input, keys: Keys): Promise<Verified> {
  refuse(input, ["with"], "a whole store");
  const log = logOf(shell);
  if (!shell.hasStore && !log.exists)
    return { ...NOTHING, findings: [{ place: shell.url, problem: "the store does not exist" }] };
  const opened = await shell.store();
  const { identity } = opened;
  const report = await verifyStore(opened, {
    keys,
    log,
    checkpoints: checkpointsOf(shell, input, identity),
    progress: shell.reading("facts"),
  });
  const { newest } = log.read();
  // An earlier copy of the store must not pass for one that was verified later.
  if (report.intact && newest !== undefined)
    new CheckpointMemory(shell.config).keep(homeOf(shell), newest, identity);
  // A verification expects facts: another folder was meant, or everything is gone.
  if (report.intact && report.facts === 0)
    return {
      ...report,
      intact: false,
      findings: [{ place: shell.url, problem: "the store has no facts" }],
    };
  return report;
}

async function session(
  shell: Shell,
  input: Input,
  reference: string,
  keys: Keys,
): Promise<Verified & Unreplayed> {
  const { id } = await shell.find(reference);
  const program = textOption(input, "with");
  let hindrance: RathError | undefined;
  const opened = await shell.store();
  const report = await verifySession(opened, id, {
    keys,
    log: logOf(shell),
    checkpoints: checkpointsOf(shell, input, opened.identity),
    progress: shell.reading("facts"),
    ...(program !== undefined && {
      replay: async () => {
        const again = await replay(shell, id, reference, program);
        if (typeof again === "string") return again;
        hindrance = again;
        return id;
      },
    }),
  });
  if (hindrance === undefined) return report;
  // Nothing was replayed, which says nothing against the record: an erasure is allowed, and a program may not load.
  const { replayed: _, ...rest } = report;
  if (hindrance instanceof ProgramError) return { ...rest, unreplayed: hindrance };
  return { ...rest, notices: [...report.notices, firstLine(hindrance.message)] };
}

/** The reason for which a program could not be replayed at all. */
type Unreplayed = { readonly unreplayed?: RathError };

/** Runs the program on its tape: the id that it ends in, or the erasure or the fault of the file in its way. Later facts about the record are not part of the run. */
async function replay(shell: Shell, id: FactId, reference: string, file: string) {
  const { requireProgram } = await import("./resume.js");
  let ended = await (await shell.store()).load(id);
  while (ABOUT_THE_RECORD.includes(ended.fact.type) && ended.parents[0] !== undefined)
    [ended] = ended.parents as [Session];
  const program = await requireProgram(
    shell,
    ended.id,
    reference,
    file,
    `rath verify ${argument(reference)}`,
  ).catch((error: unknown) => {
    if (error instanceof ProgramError) return error;
    throw error;
  });
  if (program instanceof ProgramError) return program;
  const rath = await shell.rath(program.options);
  try {
    const again = await rath.replay(ended.id, program.module, { mode: "verify" });
    return again.id === ended.id ? id : again.id;
  } catch (error) {
    const { erasedBehind } = await import("../outcome.js");
    const erased = await erasedBehind(await shell.store(), id, reference, error);
    if (erased === undefined) throw error;
    return erased;
  }
}

const ABOUT_THE_RECORD: readonly FactType[] = ["head-sign", "content-erase"];

function checkpointsOf(shell: Shell, input: Input, identity?: string) {
  const given = textsOption(input, "checkpoint").map((path) => readCheckpoint(readText(path, "checkpoint")));
  const remembered = new CheckpointMemory(shell.config).of(
    homeOf(shell),
    logOf(shell).read().newest?.origin,
    identity,
  );
  return { given, remembered };
}

/** The id that begins like this in the store; anything else is left as it is. */
async function wholeId(shell: Shell, what: string | undefined): Promise<string | undefined> {
  if (what === undefined || !/^[0-9a-f]{6,63}$/.test(what) || statSync(what, { throwIfNoEntry: false }))
    return what;
  return (await shell.find(what)).id;
}

function verifyProof(shell: Shell, path: string, what: string | undefined, keys: Keys): number {
  if (what === undefined)
    throw new UsageError(
      "--proof needs a fact to check.",
      "give the id of the fact, or a file with its line: rath verify --proof FILE ID",
    );
  const proof = readProof(readText(path, "proof"));
  const id = /^[0-9a-f]{64}$/.test(what) ? what : digestOf(readText(what, "line").replace(/\n$/, ""));
  const { included, problem, signers } = checkInclusion(proof, id, Object.values(keys).flat());
  const { origin, index, size } = proof;
  shell.tell({
    intact: included,
    id,
    origin,
    index,
    size,
    signers,
    findings: included ? [] : [{ place: path, problem }],
  });
  if (included)
    shell.say(
      `${shell.green("proved")}: ${shell.id(id)} is fact ${index} of ${size} in ${plain(origin)}, signed by ${signersText(signers)}`,
    );
  else shell.say(`${shell.red("NOT proved")}: ${plain(problem ?? "")}`);
  return included ? 0 : 3;
}

function tell(
  shell: Shell,
  report: Verified & {
    readonly checkpoints?: readonly CheckpointReport[];
    readonly covered?: number;
    readonly replayed?: FactId;
  } & Unreplayed,
  what: string | undefined,
  signable = false,
): number {
  const store = report.kind === "lines" || report.kind === "bundle" ? undefined : shell.url;
  shell.tell({
    ...(store !== undefined && { store }),
    ...report,
    ...("signers" in report && { signers: report.signers }),
  });
  const { intact, facts, blobs, erased, findings, more } = report;
  const verdict = intact ? shell.green("intact") : shell.red("NOT intact");
  shell.say(
    `${verdict}: ${count(facts, "fact")}, ${count(blobs, "blob")}, ${erased.toLocaleString("en")} erased${store === undefined ? "" : `, in ${plain(store)}`}`,
  );
  for (const { place, problem, offset, line, section, type } of findings) {
    const where = [
      section,
      line !== undefined && offset !== undefined ? `byte ${offset}` : undefined,
      type,
    ].filter(Boolean);
    shell.say(
      `${shell.red("broken")}: ${line === undefined || what === undefined ? "" : `${plain(what)} `}${plain(place)}${where.length > 0 ? ` (${oneLine(where.join(", "))})` : ""}: ${plain(problem)}`,
    );
  }
  if (more > 0) shell.say(`… and ${count(more, "finding")} more`);
  for (const { digest, by, at, why } of report.erasures)
    shell.say(`erased ${digest.slice(0, 12)} by ${oneLine(by)} at ${oneLine(at)}: ${oneLine(why)}`);
  for (const one of report.signatures) shell.say(signatureText(shell, one, intact));
  if ("signers" in report) {
    const { signers } = report as VerifiedFile;
    for (const { name, id, verdict: how, standing } of signers)
      shell.say(
        `${how !== "good" ? "the bundle claims to be signed" : intact ? "the bundle is signed" : "the seal of the bundle is signed (what is in it is not what was sealed)"} by ${plain(name)}+${id} (${standingText(standing)})`,
      );
  }
  for (const { size, from, holds, signers } of newestOf(report.checkpoints ?? []))
    if (holds)
      shell.say(
        `checkpoint of ${count(size, "fact")} (${FROM[from]}) holds, signed by ${signersText(signers)}`,
      );
  if (report.replayed !== undefined && intact) shell.say("replayed: the program ends in the same id");
  if (report.unreplayed !== undefined)
    shell.say(`${shell.red("could not be replayed")}: ${shell.typed(report.unreplayed.message)}`);
  for (const head of report.heads.slice(0, HEADS)) shell.say(`head ${head}`);
  if (report.heads.length > HEADS) shell.say(`… and ${count(report.heads.length - HEADS, "head")} more`);
  for (const notice of report.notices) shell.say(shell.dim(plain(notice)));
  if (intact && signable && what !== undefined && report.signatures.length === 0)
    shell.hint(`rath sign ${argument(what)}`);
  if (!intact && facts === 0 && what === undefined) shell.hint("name the store to verify: --store URL");
  return intact && report.unreplayed === undefined ? 0 : 3;
}

const HEADS = 20;
const FROM = { log: "of the store", given: "given", remembered: "seen before" } as const;

/** Of each place the newest. */
function newestOf(checkpoints: readonly CheckpointReport[]): readonly CheckpointReport[] {
  const newest = new Map(checkpoints.map((one) => [one.from, one]));
  return [...newest.values()];
}

function signatureText(shell: Shell, { of, key, by, at, verdict, standing }: Signature, intact: boolean) {
  const who = `${oneLine(by, 60)} with ${oneLine(key, 60)} (${standingText(standing)}) at ${oneLine(at, 40)}`;
  // A signature covers an id. It says nothing about a record that no longer fits that id.
  if (verdict === "good" && !intact)
    return `${shell.id(of)}: this id was signed by ${who}; the record here is not all that it covers`;
  if (verdict === "good") return `${shell.id(of)} and all before it: ${shell.green("signed")} by ${who}`;
  return verdict === "bad"
    ? `${shell.id(of)}: ${shell.red("a bad signature")} of ${who}`
    : `${shell.id(of)}: signed by ${who}, which cannot be checked here`;
}

function standingText(standing: string): string {
  return standing === "own"
    ? "your own key"
    : standing === "unknown"
      ? "an unknown key"
      : `a ${standing} key`;
}

function signersText(
  signers: readonly { readonly name: string; readonly id: string; readonly verdict: string }[],
): string {
  return signers
    .filter(({ verdict }) => verdict === "good")
    .map(({ name, id }) => `${plain(name)}+${id}`)
    .join(", ");
}

/** An option that would be left aside is refused: a user who gives it expects an effect. */
function refuse(input: Input, options: readonly string[], what: string): void {
  const [first] = options.filter((option) => input.options[option] !== undefined);
  if (first !== undefined)
    throw new UsageError(`--${first} does not apply to ${what}.`, "see rath verify --help");
}

function readText(path: string, what: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    throw unreadable(path, cause, `the ${what} `);
  }
}
