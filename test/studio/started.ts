import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { startStudio } from "../../scripts/studio-demo.mjs";

export { startStudio };
/** A page and the server behind it. */
export type Studio = Awaited<ReturnType<typeof startStudio>>;

/** Why the page is not here; undefined where it is. `npm test` builds it first. */
export const unbuilt: string | undefined = existsSync(
  fileURLToPath(new URL("../../dist/studio/index.html", import.meta.url)),
)
  ? undefined
  : "the studio is not built: npm run build";
