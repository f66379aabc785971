import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { Session } from "../../session/index.js";
import { openStore } from "../../store/index.js";
import { readCheckpoint, signCheckpoint } from "./checkpoint.js";
import {
  checkInclusion,
  type InclusionProof,
  readProof,
  writeProof,
  writeStandardProof,
} from "./inclusion.js";
import { SigningKey } from "./key.js";
import { Leaves } from "./leaves.js";
import { CheckpointLog } from "./log.js";
import { inclusionPath } from "./merkle.js";
import { takeCheckpoint } from "./take.js";
import { flips } from "./testing/flip.js";

const folder = mkdtempSync(join(tmpdir(), "openrath-proof-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const key = SigningKey.make("build.example.org");

it("[I1] one fact in a million is proved by less than 1 KiB", () => {
  // The ids of a million facts; what the facts say is of no matter to a proof.
  const size = 1_000_000;
  const ids = randomBytes(size * 32);
  const leaves = new Leaves(folder);
  leaves.append(0, ids);
  const root = leaves.subtree(0, size);
  const { note, origin } = readCheckpoint(signCheckpoint({ origin: "rath/0123456789A", size, root }, key));
  for (const index of [0, 1, 499_999, 524_288, 987_654, 999_999]) {
    const id = ids.toString("hex", index * 32, (index + 1) * 32);
    expect(leaves.indexOf(id, size)).toBe(index);
    const path = inclusionPath(index, size, leaves.subtree);
    const text = writeProof({ origin, index, size, path, signatures: note.signatures });
    expect(Buffer.byteLength(text)).toBeLessThan(1024);
    expect(checkInclusion(readProof(text), id, [key]).included).toBe(true);
  }
});

async function proved(): Promise<{ id: string; proof: InclusionProof; root: Buffer }> {
  const store = await openStore("memory:");
  let session = Session.start("hi");
  for (let step = 0; step < 20; step++) session = session.say(String(step));
  await store.save(session, { name: "main" });
  const log = new CheckpointLog(join(folder, "small"));
  await takeCheckpoint(store, log, key);
  const { proof, checkpoint } = log.prove(session.id) ?? expect.unreachable();
  expect(log.prove("f".repeat(64))).toBeUndefined();
  return { id: session.id, proof, root: checkpoint.root };
}

it("[I2] any bit of a proof matters, in both forms, and so does the fact", async () => {
  const { id, proof, root } = await proved();
  for (const text of [writeProof(proof), writeStandardProof(proof, root)]) {
    expect(checkInclusion(readProof(text), id, [key])).toMatchObject({ included: true });
    for (const { bit, text: changed } of flips(text)) {
      let included = false;
      try {
        included = checkInclusion(readProof(changed), id, [key]).included;
      } catch (error) {
        expect(error, `bit ${bit}`).toMatchObject({
          code: expect.stringMatching(/^(note|proof|key)-refused$/),
        });
      }
      if (included) expect.fail(`bit ${bit} of ${JSON.stringify(text.slice(0, 20))} does not matter`);
    }
    expect(checkInclusion(readProof(text), "0".repeat(64), [key])).toMatchObject({ included: false });
  }
});

it("[I3] an unknown key proves nothing, and a file that is not a proof is refused", async () => {
  const { id, proof } = await proved();
  expect(checkInclusion(proof, id, [])).toMatchObject({
    included: false,
    problem: expect.stringContaining("no such key is known here"),
  });
  expect(checkInclusion(proof, "garbage", [key]).included).toBe(false);
  const text = writeProof(proof);
  for (const bad of [
    undefined,
    "",
    "x",
    text.slice(0, -1),
    text.split("\n").slice(0, 3).join("\n"),
    "y".repeat(1e7),
    "\ud800",
  ])
    expect(() => readProof(bad)).toThrow(expect.objectContaining({ code: "proof-refused" }));
});
