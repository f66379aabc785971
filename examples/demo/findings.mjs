// @ts-check
// What can be said of a demonstration that is over, each finding made anew from the record.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { writeDossier } from "openrath/evidence";
import { digestOf } from "openrath/session";
import { openStore } from "openrath/store";
import { documentOf } from "./command.mjs";
import { notesOf } from "./project.mjs";

/**
 * @typedef {import("openrath").Session} Session
 * @typedef {import("openrath/store").Store} Store
 * @typedef {Awaited<ReturnType<typeof findingsOf>>} Findings
 */

/**
 * @param {import("./demo.mjs").Surroundings} surroundings
 * @param {Session} session
 * @param {{ readonly name: string, readonly folder: string }} demo
 */
export async function findingsOf({ shell, store, command }, session, { name, folder }) {
  const lessons = await notesOf(name).open(store).list();
  return {
    accepted: isAccepted(session),
    ...(await exported(store, session, join(shell.home, `${name}.jsonl`))),
    replay: await replayed([command, "replay", name], { RATH_STORE: shell.address }),
    lesson: lessons.findLast(({ by }) => by === "agent:validator"),
    dossier: await dossierIn(folder, store, name, session),
  };
}

/** Whether the last review accepted the patch. */
function isAccepted(/** @type {Session} */ session) {
  let accepted = false;
  for (const { fact } of session.history())
    if (fact.type === "validation-report" && fact.name === "review") accepted = fact.passed;
  return accepted;
}

/**
 * The record as a file, read back into a store that has nothing else.
 *
 * @param {Store} store
 * @param {Session} session
 * @param {string} file
 */
async function exported(store, { id }, file) {
  /** @type {string[]} */
  const lines = [];
  for await (const line of store.export(id)) lines.push(line);
  writeFileSync(file, `${lines.join("\n")}\n`);
  const elsewhere = await openStore("memory:");
  const { heads } = await elsewhere.import(lines);
  const { findings, facts } = await elsewhere.check();
  await elsewhere.close();
  const isSame = heads.length === 1 && heads[0] === id && digestOf(lines.at(-1) ?? "") === id;
  return { file, facts, intact: findings.length === 0 && isSame };
}

/** The program run again in a third process, with the record as the world. */
async function replayed(
  /** @type {readonly string[]} */ command,
  /** @type {{ readonly [name: string]: string }} */ more,
) {
  const { pid, document } = await documentOf(command, more);
  return { pid, id: /** @type {string | null} */ (document.id ?? null), same: document.same === true };
}

/**
 * The dossier; its bundle includes the memories.
 *
 * @param {string} folder
 * @param {Store} store
 * @param {string} name
 * @param {Session} session
 */
async function dossierIn(folder, store, name, { id }) {
  const base = join(folder, "dossier");
  const { html, bundle } = await writeDossier(store, id, base, { name, memory: true });
  return { html: html?.file ?? `${base}.html`, bundle: bundle?.file ?? `${base}.json` };
}
