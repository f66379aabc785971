import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { basename, dirname, isAbsolute, relative, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { loadedForReplay, type Module, openRath, type RathOptions } from "../runtime/index.js";
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
import { firstLine, nearestOf } from "../util/index.js";
import { isModule } from "../workflow/index.js";
import { answerWithOurOwn } from "./own-copy.js";
import { type ProgramNote, programNote, referenceOf } from "./program-note.js";
import { argument } from "./text.js";

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

/** How a program is loaded. */
type Loading = {
  /** The words before the file in a hint: `rath replay order-1 --with`. */
  readonly command?: string;
  /** It is to be replayed: nothing that it begins by itself may run. */
  readonly replays?: boolean;
  /** Speaks against the bytes of the file before it is loaded. */
  readonly require?: (digest: Digest) => void;
};

/** Reads `FILE` or `FILE#export`. */
export async function loadProgram(reference: string, store: string, how: Loading = {}): Promise<Program> {
  return loaded(await splitReference(reference), store, how);
}

/** Everything that a file exports, and the argument of those of its exports that are functions. */
export async function loadExports(reference: string, store: string, how: Loading = {}) {
  const file = resolve(reference);
  const digest = createHash("sha256")
    .update(await bytesOf(file))
    .digest("hex");
  // To load a file is to run it: what speaks against it comes first.
  how.require?.(digest);
  answerWithOurOwn();
  const exported = await (how.replays ? loadedForReplay(file, () => importOf(file)) : importOf(file));
  const context: ProgramContext = { file, folder: dirname(file), store };
  return { file, digest, exported, context };
}

async function loaded({ file, name }: Reference, store: string, how: Loading) {
  const { digest, exported, context } = await loadExports(file, store, how);
  const module = await moduleIn(exported, name, context, how.command ?? "rath run");
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
export async function programOf(
  store: Store,
  session: FactId | Session,
  override?: string,
  how: Loading = {},
) {
  const recorded = await programNote(store, typeof session === "string" ? session : session.id);
  if (override === undefined && recorded === undefined) return undefined;
  const program =
    override === undefined
      ? await recordedProgram(recorded as ProgramNote, store.url, how)
      : await loadProgram(override, store.url, how);
  return {
    ...program,
    changed: recorded !== undefined && recorded.digest !== program.note.digest,
    ...(recorded !== undefined && { recorded }),
  };
}

async function recordedProgram(note: ProgramNote, store: string, how: Loading): Promise<Program> {
  const { file, export: name, digest } = note;
  if (!isAbsolute(file))
    throw new ProgramError(
      file,
      "the record does not name its folder",
      "check the file, and name it with its folder: --with FILE",
    );
  const require = (now: Digest): void => {
    if (now === digest) return;
    throw new ProgramError(
      file,
      `it has changed since it was run (${digest.slice(0, 12)}, now ${now.slice(0, 12)})`,
      `to use the changed file: --with ${referenceOf(note)}`,
      { recorded: digest, now },
    );
  };
  return loaded({ file, name }, store, { ...how, require });
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
      "give a file that exports a module: rath run agent.mjs; or name the program of a session: --with FILE",
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
        "use Node 22.18 or newer, compile it first with npx tsc, or use a loader: NODE_OPTIONS='--import tsx' rath run …",
        { node: process.version },
        error,
      );
    if (code === "ERR_UNKNOWN_FILE_EXTENSION")
      throw new ProgramError(
        file,
        "it is not an ES module",
        "give a .mjs, .js or .ts file that exports an agent, a workflow or a step: rath run agent.mjs",
        { code },
        error,
      );
    const refusal = error instanceof RathError ? error : undefined;
    const message = thrownMessage(error);
    throw new ProgramError(
      file,
      `it could not be loaded: ${refusal === undefined ? message : firstLine(message)}`,
      refusal?.hint ?? `run it to see the error: node ${JSON.stringify(file)}`,
      { ...(typeof code === "string" && { code }) },
      error,
    );
  }
}

async function moduleIn(
  exported: { readonly [name: string]: unknown },
  name: string,
  context: ProgramContext,
  command: string,
): Promise<Module> {
  const { file } = context;
  const names = Object.keys(exported);
  if (!Object.hasOwn(exported, name)) {
    const near = nearestOf(name, names);
    // A function may make a module; other values do not.
    const runnable =
      names.find((one) => isModule(exported[one])) ??
      names.find((one) => typeof exported[one] === "function");
    throw new ProgramError(
      file,
      `it has no export ${JSON.stringify(name)}`,
      near !== undefined
        ? `did you mean ${JSON.stringify(`${basename(file)}#${near}`)}?`
        : runnable === undefined
          ? `it exports ${names.length === 0 ? "nothing" : "no module"}: export default an agent, a workflow or a step`
          : `its exports are ${names.join(", ")}: ${command} ${argument(`${relative(process.cwd(), file)}#${runnable}`)}`,
      { exports: names },
    );
  }
  const made = await called(exported[name], context, file);
  const { forward, name: own } = Object(made) as Partial<Module>;
  if (typeof forward !== "function" || typeof own !== "string" || own === "")
    throw new ProgramError(
      file,
      `its export ${JSON.stringify(name)} is not a module`,
      "export an agent, a workflow or a step, or a function that returns one: export default (context) => agent({ … })",
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
      `an exported function threw: ${message}`,
      error instanceof RathError
        ? error.hint
        : "an export that is a function is called with { file, folder, store }",
      {},
      error,
    );
  }
}

/** The options of the runtime that a file exports, checked. */
export function optionsIn(value: unknown, file: string): Program["options"] {
  if (value === undefined) return {};
  if (typeof value !== "object" || value === null || "store" in value)
    throw new ProgramError(
      file,
      typeof value === "object" && value !== null
        ? "its `options` must not set `store`: the command chooses the store"
        : "its `options` must be an object",
      "export const options = { policy, secrets, sandboxes }; choose the store with RATH_HOME or --store URL",
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
