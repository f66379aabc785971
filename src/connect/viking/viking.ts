import type { Backend, BackendContext, BackendFound, Kept, Memory } from "../../memory/index.js";
import { BackendError, MemoryRefusedError } from "../../memory/index.js";
import { addressIn, addressOf, fileOf, keptIn, memoryAt } from "./address.js";
import { VikingClient } from "./client.js";
import type { VikingMatch } from "./entry.js";
import { settingsOf, type VikingOptions } from "./http.js";

/** OpenViking as a backend, and as itself. */
export interface VikingBackend extends Backend {
  /** All that OpenViking can do. Without a context nothing stops it, and it has no secrets to show. */
  client(context?: Partial<BackendContext>): VikingClient;
}

/** Asked for at least as many, so that what the server writes about our folders does not take all places. */
const MOST = 100;
/** Requests at a time. */
const AT_ONCE = 4;

/**
 * Memories in OpenViking: one file for each, found by what it means there.
 *
 * ```ts
 * const backend = viking({ url: "http://127.0.0.1:1933", key: "OPENVIKING_KEY" });
 * ```
 */
export function viking(options: VikingOptions = {}): VikingBackend {
  const settings = settingsOf(options);
  const client = (context: Partial<BackendContext> = {}): VikingClient =>
    new VikingClient(settings, { signal: context.signal ?? NEVER, secret: context.secret ?? noSecret });
  return Object.freeze<VikingBackend>({
    name: settings.name,
    client,
    addressOf: (id, space) => addressOf({ id, space }, settings.root).text,
    async keep(memory: Memory, context: BackendContext): Promise<Kept> {
      const address = addressOf(memory, settings.root).text;
      await client(context).write(address, fileOf(memory));
      return { address };
    },
    async drop(address: string, context: BackendContext): Promise<void> {
      if (memoryAt(address) === undefined)
        throw new MemoryRefusedError(
          "refused",
          "take a memory away from OpenViking",
          `${JSON.stringify(address.slice(0, 80))} is not a file that was kept for a memory`,
          "give the address that keep gave",
        );
      await client(context).remove(address);
    },
    async find(query, { limit }, context): Promise<readonly BackendFound[]> {
      const asked = client(context);
      const within = [settings.root, ...settings.among].map(({ text }) => text);
      const matches = await asked.find(query, { limit: Math.min(limit * 2 + 10, MOST), within });
      // Summaries of our folders are made of memories that may have been revoked since.
      const isHidden = (address: string) => addressIn(address)?.path.at(-1)?.startsWith(".") ?? true;
      const files = matches.filter(({ level, address }) => level === 2 && !isHidden(address));
      const found: BackendFound[] = [];
      for (let from = 0; from < files.length && found.length < limit; from += AT_ONCE) {
        const some = await Promise.all(files.slice(from, from + AT_ONCE).map((one) => foundAt(asked, one)));
        found.push(...some.filter((one) => one !== undefined));
      }
      return found.slice(0, limit);
    },
  });
}

/** With the text as it is there, if it is one of ours: the server's own sentence about it is not what was remembered. */
async function foundAt(client: VikingClient, match: VikingMatch): Promise<BackendFound | undefined> {
  const { address, score, abstract, kind } = match;
  const parts = { kind, level: match.level };
  const other: BackendFound = { address, text: abstract, score, parts };
  if (memoryAt(address) === undefined) return other;
  try {
    const kept = keptIn(address, await client.read(address));
    return kept === undefined
      ? other
      : { address, text: kept.text, score, memory: kept.memory, parts: { ...parts, version: kept.version } };
  } catch (error) {
    if (!(error instanceof BackendError)) throw error;
    // It was taken away since it was found, or is longer than anything that we would have kept.
    if (error.fault === "not-found") return undefined;
    if (error.fault === "too-large") return other;
    throw error;
  }
}

const NEVER: AbortSignal = new AbortController().signal;

function noSecret(name: string): string {
  throw new MemoryRefusedError(
    "option",
    "use OpenViking",
    `there is no secret "${name}"`,
    'client({ secret: (name) => process.env[name] ?? "" })',
  );
}
