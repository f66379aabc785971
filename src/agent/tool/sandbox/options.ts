import { DEFAULT_LIMITS, namesOf, PathRefusedError, type Sandbox } from "../../../sandbox/index.js";
import { anything, type Checks, checkOptions, type Refuse } from "../../../workflow/index.js";
import { MIN_OUTPUT } from "../bound.js";
import { ToolDefinitionError } from "../error.js";
import { type JsonSchema, objectSchema } from "../schema.js";
import { MAX_OUTPUT, type Tool, type ToolContext, type ToolDefinition, tool } from "../tool.js";

/** Options of the tools for a sandbox. */
export type SandboxToolOptions = {
  /** Characters of output that the model sees of one call, default 16,000. The record holds all that commands print. */
  readonly maxOutput?: number;
  /** Names of directories that `list`, `find` and `search` do not look into, default ".git" and "node_modules". */
  readonly skip?: readonly string[];
  /** Whether a person must agree before a command is run. Its input is that of `shell` or `test`. */
  readonly approval?: boolean | ((input: { readonly [field: string]: unknown }) => boolean);
};

export type Settings = Required<SandboxToolOptions>;

const SETTINGS: Settings = { maxOutput: 16_000, skip: [".git", "node_modules"], approval: false };

export function settingsOf(name: string, options: SandboxToolOptions): Settings {
  const refuse: Refuse = (reason, hint) => new ToolDefinitionError(name, reason, hint);
  const settings = { ...SETTINGS, ...options };
  checkOptions(settings, CHECKS, refuse, "shellTool({ maxOutput: 16_000 })");
  return settings;
}

const CHECKS: Checks<SandboxToolOptions> = {
  maxOutput(most, option, refuse) {
    if (!Number.isInteger(most) || (most as number) < LEAST || (most as number) > MAX_OUTPUT)
      throw refuse(
        `\`${option}\` must be a number of characters; got ${most}`,
        `give a whole number of characters from ${LEAST} to ${MAX_OUTPUT}`,
      );
  },
  skip(skip, option, refuse) {
    if (!Array.isArray(skip) || !skip.every((one) => typeof one === "string"))
      throw refuse(`\`${option}\` must be a list of names`, 'skip: [".git", "dist"]');
  },
  approval: anything,
};

type Fields = { readonly [field: string]: JsonSchema };

type ValueOf<Field> = Field extends { readonly enum: readonly (infer Value)[] }
  ? Value
  : Field extends { readonly type: "string" }
    ? string
    : Field extends { readonly type: "boolean" }
      ? boolean
      : number;

/** The inputs that the schema of such fields accepts. */
type InputOf<Properties extends Fields, Required extends keyof Properties> = {
  readonly [field in Required]: ValueOf<Properties[field]>;
} & { readonly [field in Exclude<keyof Properties, Required>]?: ValueOf<Properties[field]> };

type Definition<Properties extends Fields, Required extends keyof Properties> = Omit<
  ToolDefinition<JsonSchema, JsonSchema>,
  "input" | "output" | "maxOutput" | "approval" | "run"
> & {
  readonly properties: Properties;
  readonly required?: readonly Required[];
  /** Whether the option `approval` applies to the tool. */
  readonly asks?: boolean;
  run(input: InputOf<Properties, Required>, context: ToolContext, settings: Settings): Promise<unknown>;
};

/** A tool that works in the sandbox of the session. Its schema has checked that the input is one. */
export function sandboxTool<
  const Properties extends Fields,
  const Required extends keyof Properties & string = never,
>({ properties, required = [], asks = false, run, ...definition }: Definition<Properties, Required>) {
  return (options: SandboxToolOptions = {}): Tool => {
    const settings = settingsOf(definition.name, options);
    return tool({
      ...definition,
      input: objectSchema(properties, [...required]),
      maxOutput: settings.maxOutput,
      ...(asks && { approval: settings.approval }),
      run: (input, context) => run(input as InputOf<Properties, Required>, context, settings),
    });
  };
}

/** With less room a window would hold no line, and a report no failure. */
const LEAST = 5 * MIN_OUTPUT;

/** Common to all sandbox tools: calls of one reply that touch the workspace run one after the other. */
export const SHARED = { conflicts: ["workspace"], origin: "file" } as const;

/** Those that touch one file, and nothing else: its contents from before are on the record. */
export const ONE_FILE = {
  ...SHARED,
  touches: (input: unknown) => ({
    paths: [placeOf((input as { readonly path: string }).path)],
    commands: [],
    hosts: [],
  }),
  reversible: true,
} as const;

/**
 * An interrupted change of files is repeated from the files before it. A command may have reached the world,
 * unless it could reach only the workspace.
 */
export const CHANGE = { effect: "write", reconcile: async (): Promise<"again"> => "again" } as const;

/** Those that run a command: what that touches nobody can tell. */
export const COMMAND = {
  ...SHARED,
  effect: "write",
  asks: true,
  touches: ({ command }: { readonly command?: string }) =>
    command === undefined ? {} : { commands: [command] },
  async reconcile(_input: unknown, context: ToolContext) {
    const { ref, capabilities } = await context.sandbox();
    const isConfined = capabilities.isolation !== "none" && (ref.spec.network?.mode ?? "none") === "none";
    return isConfined ? "again" : "unknown";
  },
} as const;

/** Milliseconds that a command may take: what is asked for, but never more than the sandbox allows. */
export function wallOf({ ref }: Sandbox, seconds: number | undefined): number {
  const most = ref.spec.limits?.wall ?? DEFAULT_LIMITS.wall;
  return seconds === undefined ? most : Math.min(most, Math.ceil(seconds * 1000));
}

/** Where the workspace lies inside a sandbox. */
const ROOT = "/workspace";

/** A path as the sandbox takes it ("" is the workspace). One that leads out is a `PathRefusedError`. */
export function placeOf(path: string): string {
  let inner = path;
  if (path === ROOT || path.startsWith(`${ROOT}/`)) inner = path.slice(ROOT.length + 1);
  else if (path.startsWith("/"))
    throw new PathRefusedError(path, `it is not in ${ROOT}, where the files are`);
  const names: string[] = [];
  for (const name of inner.split("/")) {
    if (name === "" || name === ".") continue;
    if (name !== "..") names.push(name);
    else if (names.pop() === undefined) throw new PathRefusedError(path, "it leads out of the workspace");
  }
  return namesOf(names.join("/")).join("/");
}

export function shownPlace(place: string): string {
  return place === "" ? "." : place;
}
