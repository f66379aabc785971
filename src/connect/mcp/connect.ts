import type { FetchLike, JsonSchemaValidator, Transport } from "@modelcontextprotocol/client";
import { MissingPackageError } from "../../agent/model/index.js";
import { type Loss, McpConnectError } from "./error.js";
import { authorizedFetch, limitedFetch, valuesOf } from "./http.js";
import { type Breach, pause, timed } from "./limits.js";
import { type Fields, type Helper, Link, type LinkOptions } from "./link.js";
import { type AddressPeer, commandOf } from "./peer.js";
import { type Fault, StdioTransport } from "./stdio.js";
import { foldTasks, TASKS } from "./task.js";

/** How long a server may say nothing to the question which protocol it speaks; then it is one of old. */
const PROBE_MILLISECONDS = 5_000;

/** Connects to a server, in whichever protocol it speaks. */
export async function connect(options: LinkOptions): Promise<Link> {
  const since = performance.now();
  try {
    return await attempt(options, false);
  } catch (error) {
    const left = options.limits.connect - (performance.now() - since);
    // Some servers of old end when the first thing they hear is not `initialize`.
    if (!("command" in options.peer) || left < options.limits.connect / 2) throw error;
    const again = { ...options, limits: { ...options.limits, connect: Math.ceil(left) } };
    return attempt(again, true);
  }
}

async function attempt(options: LinkOptions, legacy: boolean): Promise<Link> {
  const { peer, limits, secrets } = options;
  const library = await load();
  const { Client, StreamableHTTPClientTransport } = library;
  const probeTime = Math.min(PROBE_MILLISECONDS, Math.ceil(limits.connect / 3));
  const seen: { fault: Fault | undefined; link: Link | undefined } = { fault: undefined, link: undefined };
  const note = (loss: Loss, reason: string): void => {
    seen.fault ??= { loss, reason };
    seen.link?.lost({ loss, reason });
  };
  const opened: Transport =
    "url" in peer
      ? new StreamableHTTPClientTransport(new URL(peer.url), {
          fetch: fetchOf(peer, library, options, ({ loss, message }) => note(loss, message)),
        })
      : new StdioTransport(async () => {
          const command = await commandOf(peer);
          secrets.add(command.env);
          return command;
        }, limits);
  const transport = options.tasks ? foldTasks(opened) : opened;
  const client = new Client(
    { name: "openrath", version: "0.1.0" },
    {
      capabilities: {
        ...(options.sampling && { sampling: {} }),
        ...(options.elicitation && { elicitation: { form: {} } }),
        ...(options.roots !== undefined && { roots: { listChanged: true } }),
        ...(options.tasks && { extensions: { [TASKS]: {} } }),
      },
      versionNegotiation: {
        mode: legacy ? "legacy" : "auto",
        // A process of old may be silent; by HTTP somebody answers, though perhaps only after a person gave leave.
        probe: { timeoutMs: "url" in peer ? limits.connect : probeTime },
      },
      inputRequired: { autoFulfill: false },
      // A schema of a stranger is nothing to compile.
      jsonSchemaValidator: {
        getValidator:
          <Value>(): JsonSchemaValidator<Value> =>
          (value) => ({ valid: true, data: value as Value, errorMessage: undefined }),
      },
      listChanged: {
        tools: {
          autoRefresh: false,
          debounceMs: 0,
          onChanged: () => {
            if (seen.link !== undefined) seen.link.changed = true;
          },
        },
      },
    },
  );
  client.onerror = () => {};
  client.onclose = () => {
    const fault = (transport as { readonly fault?: Fault }).fault;
    note(fault?.loss ?? "ended", fault?.reason ?? "the connection ended");
  };
  client.setNotificationHandler("notifications/resources/updated", ({ params }) => {
    for (const watcher of seen.link?.watchers ?? []) watcher(params.uri);
  });
  const helper = (): Helper => seen.link?.helper ?? {};
  if (options.sampling)
    client.setRequestHandler("sampling/createMessage", async (request, context) => {
      const { sample } = helper();
      if (sample === undefined) throw new Error("nothing is called that could need it");
      return sample(request.params, context.mcpReq.signal);
    });
  if (options.elicitation)
    client.setRequestHandler("elicitation/create", async (request, context) => {
      const { elicit } = helper();
      return elicit === undefined ? { action: "cancel" } : elicit(request.params, context.mcpReq.signal);
    });
  const { roots } = options;
  if (roots !== undefined) client.setRequestHandler("roots/list", () => ({ roots: [...roots()] }));
  try {
    await timed(
      limits.connect,
      undefined,
      (signal) => client.connect(transport, { signal, timeout: limits.connect }),
      () => new Error(`it did not introduce itself within ${limits.connect} ms`),
    );
  } catch (error) {
    const fault = (transport as { readonly fault?: Fault }).fault ?? seen.fault;
    const reason = fault?.loss === "closed" || fault === undefined ? reasonOf(error) : fault.reason;
    await Promise.race([client.close().catch(() => {}), pause(1_000)]);
    await transport.close().catch(() => {});
    throw new McpConnectError(peer.name, secrets.text(reason), error);
  }
  seen.link = new Link(client, transport, options, seen);
  return seen.link;
}

/** Requests to the server, with its headers and with leave; those to an authority have neither. */
function fetchOf(
  peer: AddressPeer,
  library: Awaited<ReturnType<typeof load>>,
  { limits, secrets }: LinkOptions,
  fault: (breach: Breach) => void,
): FetchLike {
  const server = limitedFetch(
    async () => {
      const headers = await valuesOf(peer.headers ?? {});
      secrets.add(headers);
      return headers;
    },
    limits,
    fault,
  );
  if (peer.auth === undefined) return server;
  const authority = limitedFetch(
    async () => ({}),
    limits,
    () => {},
  );
  return authorizedFetch(library, peer.url, peer.auth, { server, authority }, secrets);
}

function reasonOf(error: unknown): string {
  const { message = String(error), cause } = error as Fields;
  const inner = (cause as Fields | undefined)?.message;
  return typeof inner === "string" ? `${message} (${inner})` : String(message);
}

async function load(): Promise<typeof import("@modelcontextprotocol/client")> {
  try {
    return await import("@modelcontextprotocol/client");
  } catch (error) {
    throw new MissingPackageError("@modelcontextprotocol/client", "MCP servers", error);
  }
}
