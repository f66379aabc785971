import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Memory } from "../../memory/index.js";
import { digestOf, type Session } from "../../session/index.js";
import { openStore, type Store } from "../../store/index.js";
import { type DossierFiles, dossierIn } from "./dossier.js";
import { notesOf } from "./notes.js";
import { documentOf } from "./worker.js";

/** What can be said of a demonstration that is over, each thing found out anew from the record. */
export type Findings = {
  /** Whether the last word on the patch was yes. */
  readonly accepted: boolean;
  /** The record as a file, read back as somebody would who has nothing else. */
  readonly file: string;
  readonly facts: number;
  readonly intact: boolean;
  /** The program run again in a third process, with the record as the world. */
  readonly replay: { readonly pid: number; readonly id: string | null; readonly same: boolean };
  readonly lesson: Memory | undefined;
  readonly dossier: DossierFiles;
};

export async function findingsOf(
  store: Store,
  session: Session,
  {
    name,
    home,
    folder,
    url,
  }: { readonly name: string; readonly home: string; readonly folder: string; readonly url: string },
): Promise<Findings> {
  return {
    accepted: isAccepted(session),
    ...(await exported(store, session, join(home, `${name}.jsonl`))),
    replay: await replayed(name, url),
    lesson: (await notesOf(name).open(store).list()).findLast(({ by }) => by === "agent:validator"),
    dossier: await dossierIn(folder, store, name, session.id),
  };
}

function isAccepted(session: Session): boolean {
  let accepted = false;
  for (const { fact } of session.history())
    if (fact.type === "validation-report" && fact.name === "review") accepted = fact.passed;
  return accepted;
}

async function exported(
  store: Store,
  { id }: Session,
  file: string,
): Promise<Pick<Findings, "file" | "facts" | "intact">> {
  const lines: string[] = [];
  for await (const line of store.export(id)) lines.push(line);
  writeFileSync(file, `${lines.join("\n")}\n`);
  const elsewhere = await openStore("memory:");
  const { heads } = await elsewhere.import(lines);
  const { findings, facts } = await elsewhere.check();
  await elsewhere.close();
  const isSame = heads.length === 1 && heads[0] === id && digestOf(lines.at(-1) ?? "") === id;
  return { file, facts, intact: findings.length === 0 && isSame };
}

async function replayed(name: string, url: string): Promise<Findings["replay"]> {
  const { pid, document } = await documentOf(["replay", name, "--store", url]);
  const { same = false, id = null } = Object(document) as { readonly same?: boolean; readonly id?: string };
  return { pid, id, same };
}
