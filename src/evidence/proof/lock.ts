import { linkSync, rmSync, unlinkSync, writeFileSync } from "node:fs";
import { isDead, newOwner } from "../../store/index.js";
import { ProofError } from "./error.js";
import { textOf } from "./file.js";

/** Makes this process the only one that holds a file. A holder that is certainly dead is replaced. */
export function lockFile(path: string): () => void {
  const owner = newOwner();
  const draft = `${path}.${process.pid}-${process.hrtime.bigint()}`;
  writeFileSync(draft, owner, { mode: 0o600 });
  try {
    for (let attempt = 1; ; attempt++) {
      try {
        // A link is there whole or not at all, and never in place of another's.
        linkSync(draft, path);
        return () => {
          if (textOf(path) === owner) rmSync(path, { force: true });
        };
      } catch (error) {
        const holder = textOf(path);
        if ((error as NodeJS.ErrnoException).code !== "EEXIST" && holder === undefined) throw error;
        if (attempt > 3 || (holder !== undefined && !isDead(holder)))
          throw new ProofError(
            "log-busy",
            "Somebody else is adding to this log right now.",
            `try again in a moment; if nobody is, take the file away: rm ${JSON.stringify(path)}`,
            { data: { holder: holder ?? "" } },
          );
        rmSync(path, { force: true });
      }
    }
  } finally {
    unlinkSync(draft);
  }
}
