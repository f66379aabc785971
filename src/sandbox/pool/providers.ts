import { RathError } from "../../session/index.js";
import { nearestOf } from "../../util/index.js";
import type { SandboxProvider } from "../index.js";

/** Where a provider of sandboxes comes from: itself, or a way to make it when it is first needed. */
export type ProviderSource = SandboxProvider | (() => SandboxProvider | Promise<SandboxProvider>);

type Sources = { readonly [name: string]: ProviderSource };

/** The kinds of sandboxes that need no options. Loaded on first use: most programs use one, or none. */
const BUILT_IN: Sources = {
  local: async () => (await import("../index.js")).localSandbox(),
  virtual: async () => (await import("../index.js")).virtualSandbox(),
  docker: async () => (await import("../index.js")).dockerSandbox(),
  host: async () => (await import("../index.js")).hostSandbox(),
};

/** The providers of a runtime by name: those it was given, and the built-in ones. Each is made once. */
export class Providers {
  readonly #given: Sources;
  readonly #made = new Map<string, Promise<SandboxProvider>>();

  constructor(given: Sources) {
    this.#given = given;
  }

  /** Removes leftovers of ended processes, for the given providers; one that is made on first use does it then. */
  sweep(): Promise<unknown> {
    return Promise.allSettled(
      Object.values(this.#given).map(async (given) =>
        typeof given === "function" ? undefined : given?.sweep?.(),
      ),
    );
  }

  /** The source of a kind of sandbox; an unknown kind is refused before anything is paid for. */
  source(name: string): ProviderSource {
    const source = [this.#given, BUILT_IN].find((table) => Object.hasOwn(table, name))?.[name];
    if (source !== undefined) return source;
    const known = [...new Set([...Object.keys(BUILT_IN), ...Object.keys(this.#given)])];
    const meant = nearestOf(name, known);
    throw new RathError("place-unknown", `There is no kind of sandbox called ${JSON.stringify(name)} here.`, {
      hint: `${meant === undefined ? "" : `did you mean ${JSON.stringify(meant)}? `}the kinds are ${known.join(", ")}; pass another one to the runtime: openRath({ sandboxes: { ${JSON.stringify(name)}: provider } })`,
      data: { name, known },
    });
  }

  get(name: string): Promise<SandboxProvider> {
    const known = this.#made.get(name);
    if (known !== undefined) return known;
    const source = this.source(name);
    const provider = Promise.resolve(typeof source === "function" ? source() : source).then((one) =>
      requireProvider(name, one),
    );
    this.#made.set(name, provider);
    provider.catch(() => this.#made.delete(name));
    return provider;
  }

  async close(): Promise<void> {
    const providers = await Promise.allSettled(this.#made.values());
    this.#made.clear();
    // The next start removes what a provider could not.
    for (const one of providers) if (one.status === "fulfilled") await one.value.close().catch(() => {});
  }
}

const METHODS = [
  "capabilities",
  "create",
  "connect",
  "list",
  "close",
] as const satisfies (keyof SandboxProvider)[];

/** For callers that the compiler did not check. */
function requireProvider(name: string, provider: SandboxProvider): SandboxProvider {
  const missing = METHODS.filter((method) => typeof provider?.[method] !== "function");
  if (missing.length === 0) return provider;
  throw new RathError(
    "place-unfit",
    `\`sandboxes\` must map ${JSON.stringify(name)} to a sandbox provider; it lacks ${missing.join(", ")}.`,
    {
      hint: "give what localSandbox(), virtualSandbox() or the like made, or an object with all of SandboxProvider",
      data: { name, missing },
    },
  );
}
