import { AsyncLocalStorage } from "node:async_hooks";
import { a2a, agui, type Handler, jsonOf, RequestError } from "../connect/front/index.js";
import { uiStream } from "../connect/front/ui/index.js";
import type { ServedMcp } from "../connect/mcp/index.js";
import type { Module, Rath, RunStream } from "../runtime/index.js";
import type { Principal } from "../session/index.js";
import { moduleOf } from "./act/runs.js";
import { type Parts, requireRole } from "./call.js";
import type { OriginOptions } from "./guard/origin.js";
import { type Identity, may } from "./identity/identity.js";

export type MountOptions = OriginOptions & { readonly maxBody: number };
type MountParts = Pick<Parts, "rath" | "modules" | "auth" | "live"> & Pick<Parts["acts"], "underWay">;
export type Mount = "ui" | "agui" | "a2a" | "mcp";
export const MOUNTS: readonly Mount[] = ["ui", "agui", "a2a", "mcp"];

/**
 * The protocols of other front ends on the same server: `/ui/MODULE` (AI SDK UI streams), `/agui/MODULE`, `/a2a/MODULE` and
 * `/mcp`. The sender is the verified identity; its sessions are below `PROTOCOL/PRINCIPAL/`
 * (of `/mcp` below `mcp/`), where it needs the role "run", and to approve or settle the role "approve".
 */
export class Mounts {
  readonly #parts: MountParts;
  /** The runtime as these protocols use it: a run that they begin counts as one of its sender. */
  readonly #rath: Rath;
  readonly #sending = new AsyncLocalStorage<Principal>();
  readonly #options: MountOptions;
  readonly #senders = new WeakMap<Request, Identity>();
  readonly #doors = new Map<string, Handler>();
  /** One for callers who may approve, and one for the others: a call of one cannot go on with the other. */
  readonly #mcp = new Map<boolean, Promise<ServedMcp>>();

  constructor(parts: MountParts, options: MountOptions) {
    this.#parts = parts;
    this.#rath = countedRath(parts.rath, () => parts.underWay.enter(this.#sending.getStore()));
    this.#options = options;
  }

  /** Answers a request. While it is answered, and as long as its stream is open, it counts as a stream of its sender. */
  async answer(mount: Mount, request: Request, identity: Identity): Promise<Response> {
    const leave = this.#parts.live.enter(identity.principal);
    try {
      return counted(
        await this.#sending.run(identity.principal, () => this.#answer(mount, request, identity)),
        leave,
      );
    } catch (error) {
      leave();
      throw error;
    }
  }

  async #answer(mount: Mount, request: Request, identity: Identity): Promise<Response> {
    requireRole(
      identity,
      "run",
      mount === "mcp" ? "mcp/" : `${mount}/${encodeURIComponent(identity.principal)}/`,
    );
    if (mount === "mcp") {
      const served = await this.#mcpServer(may(identity, "approve", "mcp/"));
      const body = request.method === "POST" ? await jsonOf(request, this.#options) : undefined;
      const read = body === undefined ? request : new Request(request, { body: JSON.stringify(body) });
      this.#senders.set(read, identity);
      return served.fetch(read);
    }
    this.#senders.set(request, identity);
    const { pathname, origin } = new URL(request.url);
    const module = moduleOf(this.#parts, moduleIn(pathname));
    const selfApproval = identity.isOwner === true;
    const key = JSON.stringify([mount, module.name, selfApproval]);
    // The card names the address that it was asked for at.
    const isCard = mount === "a2a" && request.method === "GET" && pathname.endsWith("/agent-card.json");
    const door =
      (isCard ? undefined : this.#doors.get(key)) ?? this.#made(mount, module, origin, selfApproval);
    if (!isCard) this.#doors.set(key, door);
    return door(request);
  }

  async close(): Promise<void> {
    for (const mcp of this.#mcp.values()) await (await mcp).close();
  }

  #made(mount: "ui" | "agui" | "a2a", module: Module, origin: string, selfApproval: boolean): Handler {
    const rath = this.#rath;
    const options = {
      maxBody: this.#options.maxBody,
      principal: (request: Request) => this.#sender(request),
      selfApproval,
      mayApprove: (request: Request, name: string) => {
        const identity = this.#senders.get(request);
        return identity !== undefined && may(identity, "approve", name);
      },
    };
    if (mount === "ui") return uiStream(rath, module, options);
    if (mount === "agui") return agui(rath, module, options);
    return a2a(rath, module, { ...options, card: cardOf(module, origin) });
  }

  /** A request whose sender is not known here comes from nobody. */
  #sender(request: Request): Principal | Response {
    return this.#senders.get(request)?.principal ?? new Response(null, { status: 401 });
  }

  #mcpServer(mayApprove: boolean): Promise<ServedMcp> {
    const known = this.#mcp.get(mayApprove);
    if (known !== undefined) return known;
    const rath = this.#rath;
    const modules = Object.fromEntries(Object.entries(this.#parts.modules).filter(([name]) => isTool(name)));
    if (Object.keys(modules).length === 0)
      throw new RequestError(
        404,
        "module-unknown",
        "The server has no module that can be offered as a tool.",
        {
          hint: 'give a module a name of letters, digits, "_" and "-", at most 64',
          data: { modules: Object.keys(this.#parts.modules) },
        },
      );
    const { hosts = [], origins = [] } = this.#options;
    const served = import("../connect/mcp/index.js").then(({ mcpServer }) =>
      mcpServer({
        rath,
        modules,
        principal: (request) => this.#sender(request),
        mayApprove: () => mayApprove,
        hosts: [...LOCAL, ...hosts.map((host) => host.replace(/:\d+$/, ""))],
        origins: [...LOCAL, ...[...hosts, ...origins].map((name) => hostnameOf(name))],
      }),
    );
    this.#mcp.set(mayApprove, served);
    return served;
  }
}

/** Whether a module can be a tool of MCP; `session_…` are its tools for sessions. */
function isTool(name: string): boolean {
  return /^(?!session_)[\w-]{1,64}$/.test(name);
}

/** A runtime that asks before each run, and says when it is at rest. */
function countedRath(rath: Rath, enter: () => () => void): Rath {
  const resting = <Args extends unknown[]>(run: (...args: Args) => Promise<unknown>) =>
    (async (...args: Args) => {
      const leave = enter();
      return run(...args).finally(leave);
    }) as never;
  const streaming = <Args extends unknown[]>(run: (...args: Args) => RunStream) =>
    ((...args: Args) => {
      const leave = enter();
      try {
        const stream = run(...args);
        void stream.result.then(leave, leave);
        return stream;
      } catch (error) {
        leave();
        throw error;
      }
    }) as never;
  const { stream } = rath;
  const counted: Partial<Rath> = {
    run: resting(rath.run.bind(rath)),
    resume: resting(rath.resume.bind(rath)),
    replay: resting(rath.replay.bind(rath)),
    stream: Object.assign(streaming(stream), {
      resume: streaming(stream.resume),
      replay: streaming(stream.replay),
      turn: streaming(stream.turn),
    }) as never,
  };
  return new Proxy(rath, {
    get(target, name) {
      if (Object.hasOwn(counted, name)) return counted[name as keyof Rath];
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

/** An answer that counts until its stream has ended. */
function counted(response: Response, leave: () => void): Response {
  const { body, headers } = response;
  if (body === null || headers.get("content-type")?.startsWith("text/event-stream") !== true) {
    leave();
    return response;
  }
  const reader = body.getReader();
  const stream = new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        try {
          const { done, value } = await reader.read();
          if (!done) return controller.enqueue(value);
          controller.close();
        } catch (error) {
          controller.error(error);
        }
        leave();
      },
      cancel: async (reason) => {
        leave();
        await reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
  return new Response(stream, response);
}

const LOCAL = ["localhost", "127.0.0.1", "[::1]"];

function hostnameOf(name: string): string {
  return new URL(name.includes("://") ? name : `http://${name}`).hostname;
}

/** The module that the second part of a path names. */
function moduleIn(path: string): string {
  try {
    return decodeURIComponent(path.split("/")[2] ?? "");
  } catch {
    throw new RequestError(
      400,
      "path-broken",
      "The name of the module in the path is not encoded correctly.",
      {
        hint: "encode it with encodeURIComponent",
      },
    );
  }
}

function cardOf(module: Module, origin: string) {
  const { name } = module;
  const { description = `The module ${name} of an OpenRath server.` } = module as {
    readonly description?: string;
  };
  return {
    name,
    description,
    version: "1",
    url: `${origin}/a2a/${encodeURIComponent(name)}`,
    skills: [{ id: name, name, description, tags: ["openrath"] }],
    securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: "Bearer" } } },
    securityRequirements: [{ schemes: { bearer: { list: [] } } }],
  };
}
