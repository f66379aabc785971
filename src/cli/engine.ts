import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Engine } from "../cluster/index.js";
import { thrownMessage } from "../session/index.js";
import { UsageError } from "./error.js";
import { answerWithOurOwn } from "./own-copy.js";

/**
 * The engine that `--engine` names: `local`; a word such as `restate`, which stands for the package `@openrath/engine-restate` in
 * this folder; or a package or a file whose default export is an engine, or makes one from the environment.
 */
export async function loadEngine(given: string): Promise<Engine | undefined> {
  if (given === "local") return undefined;
  const isFile = /^[./\\]|^[a-z]:|\.[cm]?js$/i.test(given);
  const name = /^[\w-]+$/.test(given) ? `@openrath/engine-${given}` : given;
  const hint = isFile ? "check the path" : `npm install ${name}`;
  try {
    const file = isFile ? resolve(given) : createRequire(join(process.cwd(), "rath.js")).resolve(name);
    answerWithOurOwn();
    const { default: made } = await import(pathToFileURL(file).href);
    const engine = typeof made === "function" ? await made() : made;
    if (typeof engine?.connect === "function") return engine;
  } catch (error) {
    throw new UsageError(`--engine ${given} cannot be loaded: ${thrownMessage(error)}`, hint);
  }
  throw new UsageError(
    `--engine ${given}: its default export must be an engine, or a function that returns one.`,
    "give local, restate, dbos, temporal, or a file: --engine ./engine.mjs",
  );
}
