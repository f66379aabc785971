import { existsSync, statSync } from "node:fs";
import { RathError, RecordError } from "../session/index.js";
import { openStore, readLines, StoreError } from "../store/index.js";

type Options = {
  readonly json: boolean;
  readonly head?: string;
  /** Where the report goes. Default: stdout. */
  readonly write?: (text: string) => void;
};

/** Checks an exported record: every hash, every edge, every blob. */
export async function verify(file: string, options: Options): Promise<number> {
  if (!existsSync(file) || !statSync(file).isFile())
    throw new StoreError(
      "url",
      `Cannot verify ${file}: there is no such file.`,
      "give a file of exported lines; `rath demo` writes one",
    );
  const { write = (text) => void process.stdout.write(text) } = options;
  const store = await openStore("memory:");
  try {
    const { heads } = await store.import(readLines(file));
    const checked = await store.check();
    const asked =
      options.head === undefined ? [] : heads.filter((head) => head.startsWith(options.head as string));
    if (options.head !== undefined && asked.length === 0)
      throw new RecordError(
        `no session ${options.head} ends these lines`,
        { head: options.head, heads },
        "the newest lines were cut off or altered, or it is another file",
      );
    const intact = checked.findings.length === 0 && heads.length > 0;
    if (options.json) write(`${JSON.stringify({ intact, ...checked, heads })}\n`);
    else {
      for (const { place, problem } of checked.findings) write(`broken: ${place}: ${problem}\n`);
      if (heads.length === 0) write(`broken: ${file} holds no facts\n`);
      write(
        `${intact ? "intact" : "NOT intact"}: ${checked.facts} facts, ${checked.blobs} blobs, ${checked.erased} erased\n`,
      );
      for (const { digest, by, at, why } of await store.erasures())
        write(`erased ${digest.slice(0, 12)} by ${by} at ${at}: ${why}\n`);
      for (const head of heads) write(`head ${head}\n`);
      // Nothing in a file can tell that its newest line was altered or is missing: only an id known from elsewhere can.
      if (intact && options.head === undefined)
        write("compare the head with the id you know, or give it: --head ID\n");
    }
    return intact ? 0 : 3;
  } catch (error) {
    if (!(error instanceof RathError) || error.code !== "record-refused") throw error;
    if (options.json) write(`${JSON.stringify({ intact: false, error: error.toJSON() })}\n`);
    else write(`NOT intact: ${String(error.data.reason)}\n  hint: ${error.hint}\n`);
    return 3;
  } finally {
    await store.close();
  }
}
