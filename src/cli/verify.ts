import { RathError } from "../session/index.js";
import { openStore, readLines } from "../store/index.js";

/** Checks an exported record: every hash, every edge, every blob. */
export async function verify(
  file: string,
  options: { readonly json: boolean; readonly head?: string },
): Promise<number> {
  const store = await openStore("memory:");
  try {
    const imported = await store.import(
      readLines(file),
      options.head === undefined ? {} : { head: options.head },
    );
    const checked = await store.check();
    const intact = checked.findings.length === 0 && imported.heads.length > 0;
    if (options.json)
      process.stdout.write(`${JSON.stringify({ intact, ...checked, heads: imported.heads })}\n`);
    else {
      for (const { place, problem } of checked.findings)
        process.stdout.write(`broken: ${place}: ${problem}\n`);
      if (imported.heads.length === 0) process.stdout.write(`broken: ${file} holds no facts\n`);
      process.stdout.write(
        `${intact ? "intact" : "NOT intact"}: ${checked.facts} facts, ${checked.blobs} blobs, ${checked.erased} erased\n`,
      );
      for (const head of imported.heads) process.stdout.write(`head ${head}\n`);
    }
    return intact ? 0 : 3;
  } catch (error) {
    if (!(error instanceof RathError) || error.code !== "record-refused") throw error;
    if (options.json) process.stdout.write(`${JSON.stringify({ intact: false, error: error.toJSON() })}\n`);
    else process.stdout.write(`NOT intact: ${error.message}\n`);
    return 3;
  } finally {
    await store.close();
  }
}
