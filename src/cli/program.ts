import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { basename, dirname, isAbsolute, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { type Module, openRath, type RathOptions } from "../runtime/index.js";
import {
  type Digest,
  type FactId,
  type Json,
  type Principal,
  RathError,
  readableError,
  type Session,
  thrownMessage,
} from "../session/index.js";
import type { Store } from "../store/index.js";
import { nearestOf } from "../util/index.js";
import { answerWithOurOwn } from "./own-copy.js";
import { type ProgramNote, programNote, referenceOf } from "./program-note.js";

/** The argument of a program that is a function: where it stands, and where its sessions are kept. */
export type ProgramContext = {
  readonly file: string;
  readonly folder: string;
  /** The URL of the store. */
  readonly store: string;
};

/** The start of a run, unless the command line says otherwise. */
export type ProgramStart = {
  readonly text?: string;
  readonly by?: Principal;
  readonly sandbox?: string;
  readonly spec?: Json;
};

/** A file that exports a module, read and ready to be run. */
export type Program = {
  readonly module: Module;
  /** How the runtime is opened: policies, secrets, sandboxes, prices. */
  readonly options: Omit<RathOptions, "store">;
  readonly start: ProgramStart;
  /** The commands to type when a run of it is over. */
  readonly next: (name: string) => readonly string[];
  readonly note: ProgramNote;
};

/** A file that was to be run and cannot be. */
export class ProgramError extends RathError {
  constructor(
    file: string,
    reason: string,
    hint: string,
    data: { [key: string]: Json } = {},
    cause?: unknown,
  ) {
    super("program-refused", `Cannot run ${file}: ${reason}.`, {
      hint,
      data: { file, reason, ...data },
      cause,
    });
  }
}

/** Reads `FILE` or `FILE#export`. */
export async function loadProgram(reference: string, store: string): Promise<Program> {
  return loaded(await splitReference(reference), store);
}

async function loaded({ file, name }: Reference, store: string, require?: (digest: Digest) => void) {
  const digest = createHash("sha256")
    .update(await bytesOf(file))
    .digest("hex");
  // To load a file is to run it: what speaks against it comes first.
  require?.(digest);
  answerWithOurOwn();
  const exported = await importOf(file);
  const context: ProgramContext = { file, folder: dirname(file), store };
  const module = await moduleIn(exported, name, file, context);
  return {
    module,
    options: optionsIn(await called(exported.options, context), file),
    start: startIn(await called(exported.start, context), file),
    next: nextIn(exported.next),
    note: {
      file,
      export: name,
      digest,
      ...(typeof exported.again === "string" && { again: resolve(dirname(file), exported.again) }),
    },
  };
}

/**
 * The program that a session was made by, as its record names it, or the one that is given instead; undefined where the
 * record names none. A recorded program is loaded only as it was when it was run, byte for byte: a record may come from
 * anybody. `changed` says of one that was given that it is another.
 */
export async function programOf(store: Store, session: FactId | Session, override?: string) {
  const recorded = await programNote(store, typeof session === "string" ? session : session.id);
  if (override === undefined && recorded === undefined) return undefined;
  const program =
    override === undefined
      ? await recordedProgram(recorded as ProgramNote, store.url)
      : await loadProgram(override, store.url);
  return {
    ...program,
    changed: recorded !== undefined && recorded.digest !== program.note.digest,
    ...(recorded !== undefined && { recorded }),
  };
}

async function recordedProgram(note: ProgramNote, store: string): Promise<Program> {
  const { file, export: name, digest } = note;
  if (!isAbsolute(file))
    throw new ProgramError(
      file,
      "the record does not say in which folder it is",
      "look at it, and say which file it is: --with FILE",
    );
  return loaded({ file, name }, store, (now) => {
    if (now === digest) return;
    throw new ProgramError(
      file,
      `it has changed since it was run (${digest.slice(0, 12)}, now ${now.slice(0, 12)})`,
      `take it as it is now, if that is meant: --with ${referenceOf(note)}`,
      { recorded: digest, now },
    );
  });
}

type Reference = { readonly file: string; readonly name: string };

/** A name may have a "#" in it, a file too: what is there as it stands is meant as it stands. */
async function splitReference(reference: string): Promise<Reference> {
  const whole = resolve(reference);
  const place = reference.lastIndexOf("#");
  if (place <= 0 || (await isThere(whole))) return { file: whole, name: "default" };
  return { file: resolve(reference.slice(0, place)), name: reference.slice(place + 1) || "default" };
}

async function isThere(file: string): Promise<boolean> {
  return readFile(file).then(
    () => true,
    (error: NodeJS.ErrnoException) => error.code === "EISDIR",
  );
}

async function bytesOf(file: string): Promise<Uint8Array> {
  try {
    return await readFile(file);
  } catch (thrown) {
    const error = readableError(thrown);
    const { code } = Object(error) as NodeJS.ErrnoException;
    const reason =
      code === "ENOENT"
        ? "there is no such file"
        : code === "EISDIR"
          ? "it is a folder"
          : `it cannot be read (${code})`;
    throw new ProgramError(
      file,
      reason,
      "give a file that exports a module: rath run agent.mjs, or another than the record names: --with FILE",
      {},
      error,
    );
  }
}

async function importOf(file: string): Promise<{ readonly [name: string]: unknown }> {
  try {
    return (await import(pathToFileURL(file).href)) as { readonly [name: string]: unknown };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ERR_UNKNOWN_FILE_EXTENSION" && /\.[cm]?tsx?$/.test(file))
      throw new ProgramError(
        file,
        `this Node (${process.version}) does not run TypeScript`,
        "take Node 22.18 or newer, or compile it first: npx tsc; or load what does it: NODE_OPTIONS='--import tsx' rath run …",
        { node: process.version },
        error,
      );
    const message = thrownMessage(error);
    throw new ProgramError(
      file,
      `it could not be loaded: ${message}`,
      `see where: node ${JSON.stringify(file)}`,
      { ...(typeof code === "string" && { code }) },
      error,
    );
  }
}

async function moduleIn(
  exported: { readonly [name: string]: unknown },
  name: string,
  file: string,
  context: ProgramContext,
): Promise<Module> {
  const names = Object.keys(exported);
  if (!Object.hasOwn(exported, name)) {
    const near = nearestOf(name, names);
    throw new ProgramError(
      file,
      `it has no export ${JSON.stringify(name)}`,
      near !== undefined
        ? `did you mean ${JSON.stringify(`${basename(file)}#${near}`)}?`
        : names.length === 0
          ? "it exports nothing: export default an agent, a workflow or a step"
          : `its exports are ${names.join(", ")}: rath run ${JSON.stringify(`${basename(file)}#${names[0]}`)}`,
      { exports: names },
    );
  }
  const made = await called(exported[name], context, file);
  const { forward, name: own } = Object(made) as Partial<Module>;
  if (typeof forward !== "function" || typeof own !== "string" || own === "")
    throw new ProgramError(
      file,
      `its export ${JSON.stringify(name)} is not a module`,
      "export an agent, a workflow or a step, or a function that gives one: export default (context) => agent({ … })",
      { export: name },
    );
  return made as Module;
}

/** A value, or what a function makes of where it stands. */
async function called(value: unknown, context: ProgramContext, file = context.file): Promise<unknown> {
  if (typeof value !== "function") return value;
  try {
    return await (value as (context: ProgramContext) => unknown)(context);
  } catch (thrown) {
    const error = readableError(thrown);
    const message = thrownMessage(error);
    throw new ProgramError(
      file,
      `what it exports threw: ${message}`,
      error instanceof RathError
        ? error.hint
        : "an export that is a function is called with { file, folder, store }",
      {},
      error,
    );
  }
}

function optionsIn(value: unknown, file: string): Program["options"] {
  if (value === undefined) return {};
  if (typeof value !== "object" || value === null || "store" in value)
    throw new ProgramError(
      file,
      typeof value === "object" && value !== null
        ? "its `options` say where sessions are kept, which is for the command to say"
        : "its `options` must be an object",
      "export const options = { policy, secrets, sandboxes }; the store is that of RATH_HOME, or --store URL",
    );
  // Refuses what it does not know, before anything is recorded.
  openRath({ ...(value as RathOptions), store: "memory:" });
  return value as Program["options"];
}

const START: readonly string[] = ["text", "by", "sandbox", "spec"] satisfies (keyof ProgramStart)[];

function startIn(value: unknown, file: string): ProgramStart {
  if (value === undefined) return {};
  const unknown = Object.keys(Object(value)).find((field) => !START.includes(field));
  if (typeof value !== "object" || value === null || unknown !== undefined)
    throw new ProgramError(
      file,
      unknown === undefined
        ? "its `start` must be an object"
        : `its \`start\` has no ${JSON.stringify(unknown)}`,
      'export const start = { text: "Fix issue 41.", sandbox: "local", spec: { workspace: "./repo" } }',
    );
  return value as ProgramStart;
}

function nextIn(value: unknown): Program["next"] {
  return (name) => {
    const made = typeof value === "function" ? (value as (name: string) => unknown)(name) : value;
    return Array.isArray(made) ? made.filter((line): line is string => typeof line === "string") : [];
  };
}
