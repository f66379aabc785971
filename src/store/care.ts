import { checkLine, type Digest, digestOf, type FactId, parentsOf, refsOf } from "../session/index.js";
import { verified } from "./exchange.js";
import type { Finding, Shelf } from "./shelf.js";
import type { Checked, Collected } from "./store.js";

/** Removes the facts that no name leads to, and the blobs that no remaining fact refers to. */
export async function collect(shelf: Shelf, dryRun: boolean): Promise<Collected> {
  const heads = (await shelf.names()).flatMap((record) => record.head ?? []);
  const facts = new Set<FactId>();
  const blobs = new Set<Digest>();
  // What damage hides must not be taken for what nobody needs.
  for await (const lines of verified(shelf, heads)) {
    for (const { id, line } of lines) {
      facts.add(id);
      for (const ref of Object.values(refsOf(line))) blobs.add(ref.digest);
    }
  }
  const loose = new Set<FactId>();
  for await (const lines of shelf.every()) {
    for (const line of lines) {
      const id = digestOf(line);
      if (!facts.has(id)) loose.add(id);
    }
  }
  const looseBlobs: Digest[] = [];
  for await (const digests of shelf.digests())
    for (const digest of digests) if (!blobs.has(digest)) looseBlobs.push(digest);
  if (!dryRun && loose.size + looseBlobs.length > 0)
    await shelf.remove({ ids: [...loose], digests: looseBlobs });
  return { facts: loose.size, blobs: looseBlobs.length, keptFacts: facts.size, keptBlobs: blobs.size };
}

/** Reads every line and every blob and says what is not as it was written. */
export async function checkStore(
  shelf: Shelf,
  progress: ((facts: number) => void) | undefined,
): Promise<Checked> {
  const findings: Finding[] = [];
  for await (const finding of shelf.examine()) findings.push(finding);
  const facts = new Set<FactId>();
  const awaited = new Map<FactId, FactId>();
  const blobs = new Map<Digest, { size: number; fact: FactId }>();
  try {
    for await (const lines of shelf.every()) {
      for (const line of lines) {
        const id = digestOf(line);
        facts.add(id);
        awaited.delete(id);
        try {
          checkLine(line);
        } catch (error) {
          findings.push({ place: `fact ${id}`, problem: firstLine(error) });
          continue;
        }
        for (const parent of parentsOf(line)) if (!facts.has(parent)) awaited.set(parent, id);
        for (const ref of Object.values(refsOf(line))) blobs.set(ref.digest, { size: ref.size, fact: id });
      }
      progress?.(facts.size);
    }
  } catch (error) {
    findings.push({ place: shelf.url, problem: `reading stopped: ${firstLine(error)}` });
  }
  // Others may have written while this was reading, so what seems to be missing is asked for once more.
  const isHere = async (id: FactId): Promise<boolean> =>
    facts.has(id) || (await shelf.lines([id]))[0] !== undefined;
  const isGone = async (id: FactId): Promise<boolean> => (await shelf.lines([id]))[0] === undefined;
  for (const [parent, child] of awaited) {
    if (!(await isHere(parent)) && !(await isGone(child)))
      findings.push({
        place: `fact ${parent}`,
        problem: `it is missing or altered, and ${child} comes from it`,
      });
  }
  let erased = 0;
  for (const [digest, { size, fact }] of blobs) {
    let bytes: Uint8Array | undefined;
    try {
      bytes = shelf.blob(digest);
    } catch (error) {
      findings.push({ place: `blob ${digest}`, problem: firstLine(error) });
      continue;
    }
    if (bytes === undefined) {
      if (shelf.erased(digest) !== undefined) erased += 1;
      else if (!(await isGone(fact)))
        findings.push({ place: `blob ${digest}`, problem: `it is missing, and ${fact} refers to it` });
    } else if (bytes.length !== size || digestOf(bytes) !== digest)
      findings.push({ place: `blob ${digest}`, problem: "its bytes are not those that were written" });
  }
  try {
    for (const { name, head } of await shelf.names()) {
      if (head !== null && !(await isHere(head)))
        findings.push({
          place: `name ${JSON.stringify(name)}`,
          problem: `it leads to ${head}, which is missing`,
        });
    }
  } catch (error) {
    findings.push({ place: shelf.url, problem: `the names cannot be read: ${firstLine(error)}` });
  }
  return { facts: facts.size, blobs: blobs.size - erased, erased, findings };
}

function firstLine(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split("\n")[0] as string;
}
