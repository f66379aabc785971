// @ts-check
import { RathError } from "openrath";
import { localSandbox } from "openrath/sandbox";

const HOST = "host: NO isolation. The tests run on this machine as you, in folders of their own";

/**
 * Finds a sandbox for the tests. Without bubblewrap it is this machine itself: acceptable for a script that everybody can
 * read, and not for a model, unless `wanted` says so.
 *
 * @param {string | undefined} wanted
 * @param {boolean} live whether a model answers
 * @returns {Promise<{ readonly sandbox: "local" | "host", readonly words: string }>}
 */
export async function placeFor(wanted, live) {
  if (process.platform === "win32")
    throw new RathError(
      "sandbox-unavailable",
      "Cannot run the tests of the demonstration here: they need Linux or macOS.",
      { hint: "run it in WSL: wsl npm start" },
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
