/**
 * What is known not to hold yet, left out of the campaigns until it is mended: delete the line, and it is asked for again.
 * OPENRATH_HOLES=1 leaves nothing out.
 */
const KNOWN: readonly string[] = [
  // No label says that descriptions of tools, and files that a person passes on, are words of others.
  "source: MCP description",
  "source: attachment",
  // The run ends in what the getter threw, and not in an outcome.
  "tool: throws an error whose message cannot be read",
  "tool: throws an error whose name cannot be read",
  "tool: throws an error whose code cannot be read",
  // A promise that nobody looks at ends the process when it rejects.
  "tool: touches is a promise that rejects",
  // Inputs are checked without a deadline.
  "tool: schema never settles",
  // The error that a run rejects with says what was thrown, secrets and all.
  "canary: message of a failed run",
  // Each piece of a stream is looked at by itself.
  "canary: streams",
];

const HOLES: ReadonlySet<string> = new Set(process.env.OPENRATH_HOLES === undefined ? KNOWN : []);

export function isHole(name: string): boolean {
  return HOLES.has(name);
}
