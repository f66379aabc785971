import { delimiter, dirname } from "node:path";
import { localSandbox } from "../../sandbox/index.js";
import { type Json, RathError } from "../../session/index.js";

/** Where the tests run: the kind of sandbox, and what that means, in words for whoever watches. */
export type Place = { readonly sandbox: "local" | "host"; readonly words: string };

/**
 * Finds a sandbox in which the tests can really run. Without bubblewrap that is this machine itself, which is fine for a
 * script whose words everybody can read, and not for a model: that has to be asked for.
 */
export async function placeFor(wanted: string | undefined, live: boolean): Promise<Place> {
  if (process.platform === "win32")
    throw new RathError(
      "sandbox-unavailable",
      "Cannot run the tests of the demonstration here: they need Linux or macOS.",
      {
        hint: "run it in WSL: wsl npm start",
      },
    );
  if (wanted === "host") return { sandbox: "host", words: HOST };
  const local = localSandbox();
  try {
    const { isolation } = await local.capabilities();
    return {
      sandbox: "local",
      words: `local (bubblewrap, isolation: ${isolation}): no network, nothing of this machine but its programs`,
    };
  } catch (error) {
    if (!(error instanceof RathError) || wanted === "local") throw error;
    if (live)
      throw new RathError(
        "sandbox-unavailable",
        "Cannot let a model write code here: there is no sandbox that would hold it.",
        {
          hint: `${error.hint}; or run it without isolation: rath demo --sandbox host; or without a model: rath demo --scripted`,
          cause: error,
        },
      );
    const [why = ""] = error.message.split("\n");
    return { sandbox: "host", words: `${HOST}\n${why}\n  better: ${error.hint}` };
  } finally {
    await local.close();
  }
}

const HOST = "host: NO isolation. The tests run on this machine as you, in folders of their own";

/** What a placement says: the files to begin with, and on this machine itself where Node is, if nobody else knows. */
export function specFor(place: Place["sandbox"], workspace: string): Json {
  const folder = dirname(process.execPath);
  const path = process.env.PATH ?? "";
  if (place === "local" || path.split(delimiter).includes(folder)) return { workspace };
  return { workspace, env: { PATH: `${folder}${delimiter}${path}` } };
}
