import type { CallToolResult, JsonSchemaType, McpServer } from "@modelcontextprotocol/server";
import type { Module, Rath } from "../../runtime/index.js";
import { type Json, type Principal, RathError, readableError, thrownMessage } from "../../session/index.js";
import { showValue as word } from "../../util/index.js";
import { brief, McpOptionError } from "./error.js";
import { loadServer } from "./package.js";
import { forked, listed, replayed, shown } from "./served.js";

/** Tools of the store; a module cannot have their names. */
export const STORE: readonly string[] = [
  "session_list",
  "session_show",
  "session_fork",
  "session_replay",
  "session_verify",
];

/** Offers the sessions of a runtime: as tools, and to be read. */
export async function offerSessions(
  server: McpServer,
  { rath, by }: { readonly rath: Rath; readonly by: Principal },
  runnable: () => { readonly [tool: string]: Module },
): Promise<void> {
  const { ResourceNotFoundError, ResourceTemplate, fromJsonSchema } = await loadServer();
  const offer = <Input>(
    tool: string,
    description: string,
    properties: { readonly [field: string]: JsonSchemaType },
    required: readonly string[],
    readOnly: boolean,
    act: (input: Input) => Promise<Json>,
  ): void => {
    const inputSchema = fromJsonSchema<Input>({ type: "object", properties, required });
    const annotations = { readOnlyHint: readOnly };
    server.registerTool(tool, { description, inputSchema, annotations }, (input: Input) =>
      outcome(async (): Promise<CallToolResult> => {
        return { content: [{ type: "text", text: JSON.stringify(await act(input)) }] };
      }),
    );
  };
  const text = { type: "string" } as const;
  const session = { session: { ...text, description: "Its name, or its id." } };
  const again = (mode: "replay" | "verify") => async (input: { session: string; module: string }) => {
    const modules = runnable();
    const module = Object.hasOwn(modules, input.module) ? modules[input.module] : undefined;
    if (module === undefined)
      throw new McpOptionError(
        "served here",
        `there is no module ${word(input.module)}`,
        `one of ${Object.keys(modules).join(", ")}`,
      );
    return replayed(rath, module, input.session, mode);
  };
  const names = Object.keys(runnable());
  // A list of nothing is no schema; what is offered later can be named all the same.
  const run = { ...session, module: { ...text, ...(names.length > 0 && { enum: names }) } };
  offer(
    "session_list",
    "Lists the sessions that have names.",
    { under: text },
    [],
    true,
    (input: { under?: string }) => listed(rath, input.under, 1_000),
  );
  offer(
    "session_show",
    "Shows a session: what was said, how it stands, what it waits for.",
    session,
    ["session"],
    true,
    (input: { session: string }) => shown(rath, input.session),
  );
  offer(
    "session_fork",
    "Makes a branch of a session and keeps it under a name.",
    { ...session, branch: text, name: text },
    ["session", "branch", "name"],
    false,
    (input: { session: string; branch: string; name: string }) =>
      forked(rath, by, input.session, input.branch, input.name),
  );
  offer(
    "session_replay",
    "Goes through a recorded run again, with its record as the world.",
    run,
    ["session", "module"],
    true,
    again("replay"),
  );
  offer(
    "session_verify",
    "Says whether a recorded run ends in the same id when it is gone through again.",
    run,
    ["session", "module"],
    true,
    again("verify"),
  );
  server.registerResource(
    "session",
    new ResourceTemplate("rath://session/{name}", {
      list: async () => ({
        resources: ((await listed(rath, undefined, 1_000)) as { name: string }[]).map((one) => ({
          uri: `rath://session/${encodeURIComponent(one.name)}`,
          name: one.name,
          mimeType: "application/json",
        })),
      }),
    }),
    {
      description: "A session: what was said, how it stands, what it waits for.",
      mimeType: "application/json",
    },
    async (uri, { name: called }) => {
      const found = await shown(rath, decodeURIComponent(String(called))).catch((error: unknown) => {
        throw error instanceof RathError ? new ResourceNotFoundError(uri.href, error.message) : error;
      });
      return {
        contents: [{ uri: uri.href, mimeType: "application/json", text: JSON.stringify(found) }],
      };
    },
  );
}

/** What goes wrong is a result that the other side's model reads. */
export async function outcome<Value>(act: () => Promise<Value>): Promise<Value | CallToolResult> {
  try {
    return await act();
  } catch (thrown) {
    const error = readableError(thrown);
    const text = error instanceof RathError ? error.message : `It failed: ${thrownMessage(error)}`;
    return { content: [{ type: "text", text: brief(text, 4_000) }], isError: true };
  }
}
