import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Module } from "../../runtime/index.js";
import type { ProgramStart } from "../program.js";
import { castOf } from "./cast.js";
import { type Endpoint, keyOf, modelAt } from "./live.js";
import { notesOf } from "./notes.js";
import { type Place, specFor } from "./place.js";
import { repair } from "./repair.js";
import { TASK } from "./repository.js";

/** What a demonstration is made with; written into its program, so that any process makes the same. */
export type DemoSettings = {
  readonly name: string;
  /** The folder of the demonstration, as a URL or a path. */
  readonly folder: string | URL;
  readonly sandbox: Place["sandbox"];
  /** Who answers, where it is not the script. */
  readonly endpoint?: Endpoint;
};

/** The program of a demonstration: what `rath run`, `rath resume` and `rath replay` read. */
export async function demoProgram({ name, folder, sandbox, endpoint }: DemoSettings): Promise<{
  readonly module: Module;
  readonly start: ProgramStart;
  readonly options: { readonly secrets?: { readonly [name: string]: string } };
}> {
  const path = folder instanceof URL || folder.startsWith("file:") ? fileURLToPath(folder) : folder;
  const model = endpoint === undefined ? undefined : await modelAt(endpoint, process.env);
  const notes = notesOf(name);
  const key = endpoint === undefined ? undefined : keyOf(process.env);
  return {
    module: repair(castOf(notes, model), notes),
    start: { text: TASK, sandbox, spec: specFor(sandbox, join(path, "repo")) },
    // Whatever a model or a command says, the key is never on the record.
    options: key === undefined ? {} : { secrets: { API_KEY: key } },
  };
}
