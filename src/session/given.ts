import { showValue } from "../util/index.js";
import { RathError } from "./error.js";

export function given<Options extends object>(options: Options, use: string): Options {
  if (typeof options === "object" && options !== null) return options;
  throw new RathError("option-refused", `Cannot ${use} with ${showValue(options)} for options.`, {
    hint: 'leave the options out, or pass an object: { by: "user:ada" }',
    data: { use },
  });
}

/** The place of side effects is a name: a runtime knows what stands behind it, the record cannot. */
export function requirePlace(sandbox: unknown): void {
  if (typeof sandbox === "string") return;
  const what = sandbox === undefined ? "nothing" : showValue(sandbox);
  const provider = typeof (sandbox as { create?: unknown } | null | undefined)?.create === "function";
  throw new RathError("place-refused", `Cannot move a session to ${what}: a place is a name.`, {
    hint: provider
      ? 'give it a name where the runtime is opened: openRath({ sandboxes: { mine: provider } }), then session.to("mine")'
      : 'give its name, then its settings: session.to("local"), or session.to("local", { workspace: "./repo" })',
    data: { given: what },
  });
}
