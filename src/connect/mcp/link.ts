import type {
  CallToolRequestParams,
  CallToolResult,
  Client,
  CreateMessageResult,
  ElicitResult,
  InputRequiredResult,
  Tool,
  Transport,
} from "@modelcontextprotocol/client";
import { type Json, jsonCopy } from "../../session/index.js";
import type { Definition } from "./definition.js";
import { McpAnswerError, McpConnectError, McpLostError, McpTimeoutError } from "./error.js";
import type { Secrets } from "./http.js";
import { Aborted, type Limits, PAGES, pause, timed } from "./limits.js";
import type { Peer } from "./peer.js";
import { type Fault, StdioTransport } from "./stdio.js";

/** The requests that a server may make during a call. */
export interface Helper {
  /** Asks a model on behalf of the server. */
  sample?(params: unknown, signal: AbortSignal): Promise<CreateMessageResult>;
  /** Asks a person. */
  elicit?(params: unknown, signal: AbortSignal): Promise<ElicitResult>;
}

export type LinkOptions = {
  readonly peer: Peer;
  readonly limits: Limits;
  readonly secrets: Secrets;
  readonly sampling: boolean;
  readonly elicitation: boolean;
  readonly tasks: boolean;
  readonly roots: (() => readonly Root[]) | undefined;
};

/** A place whose files a server may look at. */
export type Root = { readonly uri: string; readonly name?: string };

export type Ask = {
  readonly signal?: AbortSignal;
  /** The caller has its own deadline. */
  readonly patient?: boolean;
  readonly onprogress?: (progress: Json) => void;
};

/** Timers of the package are not used: a deadline is ours. */
const NEVER = 2 ** 31 - 1;

/** One connection to one server: who it is, what it speaks, and requests within limits. */
export class Link {
  readonly server: { readonly name: string; readonly version: string };
  readonly protocol: string;
  /** Whether servers ask by sending requests themselves (2025), or by what they answer (2026). */
  readonly era: "legacy" | "modern";
  /** Answers requests of the server. Before 2026 nothing says which call a question belongs to. */
  helper: Helper | undefined;
  /** Told when the list of its tools is another one. */
  changed = false;
  /** Told of the resources that the server says are others. */
  readonly watchers = new Set<(uri: string) => void>();
  /** Comes to pass when the connection is over. */
  readonly ended: Promise<void>;
  #end: () => void = () => {};
  readonly #client: Client;
  readonly #transport: (Transport & { readonly fault?: Fault; readonly noise?: string }) | StdioTransport;
  readonly #options: LinkOptions;
  #fault: Fault | undefined;
  #asked = 0;

  constructor(
    client: Client,
    transport: Transport,
    options: LinkOptions,
    seen: { fault: Fault | undefined },
  ) {
    this.#client = client;
    this.#transport = transport;
    this.#options = options;
    this.#fault = seen.fault;
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
    const { name = "", version = "" } = client.getServerVersion() ?? {};
    const { secrets } = options;
    this.server = { name: secrets.text(String(name)), version: secrets.text(String(version)) };
    this.protocol = client.getNegotiatedProtocolVersion() ?? "unknown";
    this.era = client.getProtocolEra() === "modern" ? "modern" : "legacy";
  }

  get open(): boolean {
    return this.#fault === undefined;
  }

  get pid(): number | undefined {
    return (this.#transport as { readonly pid?: number | null }).pid ?? undefined;
  }

  has(capability: "tools" | "resources" | "prompts"): boolean {
    return this.#client.getServerCapabilities()?.[capability] !== undefined;
  }

  /** Whether it tells of resources that are others. */
  get subscribes(): boolean {
    return this.#client.getServerCapabilities()?.resources?.subscribe === true;
  }

  /** Hears of a resource from now on. Returns the way to stop. */
  async subscribe(uri: string): Promise<() => Promise<void>> {
    if (this.era === "legacy") {
      await this.ask("resources/subscribe", { uri });
      return async () => {
        if (this.open) await this.ask("resources/unsubscribe", { uri }).catch(() => {});
      };
    }
    const heard = await this.#within("subscriptions/listen", {}, () =>
      this.#client.listen({ resourceSubscriptions: [uri] }),
    );
    return () => heard.close().catch(() => {});
  }

  /** The error for a deadline that has passed. */
  late(what: string): McpTimeoutError {
    const { peer, limits } = this.#options;
    return new McpTimeoutError(peer.name, what, limits.deadline, this.#transport.noise);
  }

  /** Notes why it is over; the first reason counts. */
  lost(fault: Fault): void {
    this.#fault ??= fault;
    this.#end();
  }

  /** Calls a tool. Questions of the server come back as a result of their own. */
  async call(
    params: Omit<CallToolRequestParams, "arguments"> & { readonly arguments: Json },
    definition: Definition,
    ask: Ask,
  ): Promise<CallToolResult | InputRequiredResult> {
    const { name, input, task } = definition;
    const asTask = this.era === "legacy" && this.#options.tasks && task === true;
    return this.#within(`the call of ${JSON.stringify(name)}`, ask, (signal) =>
      this.#client.callTool({ ...params, ...(asTask && { task: {} }) } as CallToolRequestParams, {
        ...this.#settings(signal, ask),
        // Its schema says which parameters go into headers. The result is checked here, not there.
        toolDefinition: { name, inputSchema: input as Tool["inputSchema"] },
      }),
    );
  }

  /** Makes any other request. Any object is an answer, which the caller checks. */
  async ask(method: string, params: { readonly [field: string]: unknown }, ask: Ask = {}): Promise<Fields> {
    const found = await this.#within(method, ask, (signal) =>
      this.#client.request({ method, params }, ANYTHING, this.#settings(signal, ask)),
    );
    if (typeof found === "object" && found !== null) return found as Fields;
    throw new McpAnswerError(this.#options.peer.name, method, "its answer is not an object");
  }

  /** All items of a list, as many as are allowed. */
  async list(method: string, field: string, ask: Ask = {}): Promise<{ items: unknown[]; more: boolean }> {
    const { items: most, deadline } = this.#options.limits;
    const items: unknown[] = [];
    const cursors = new Set<string>();
    const end = performance.now() + deadline;
    let cursor: string | undefined;
    for (let page = 0; page < PAGES; page++) {
      const found = await this.ask(method, cursor === undefined ? {} : { cursor }, ask);
      const list = found[field];
      if (!Array.isArray(list))
        throw new McpAnswerError(this.#options.peer.name, method, `its answer has no list of ${field}`);
      for (const item of list) {
        if (items.length >= most) return { items, more: true };
        items.push(item);
      }
      const { nextCursor } = found;
      if (typeof nextCursor !== "string" || nextCursor === "") return { items, more: false };
      // A list that comes again, or takes longer than any request may, has no end.
      if (cursors.has(nextCursor) || performance.now() > end) break;
      cursors.add(nextCursor);
      cursor = nextCursor;
    }
    throw new McpAnswerError(this.#options.peer.name, method, "its list has no end");
  }

  /** Tells the server that its roots are others. One of 2026 asks for them whenever it needs them. */
  async rootsChanged(): Promise<void> {
    if (this.era === "legacy") await this.#within("its roots", {}, () => this.#client.sendRootsListChanged());
  }

  async close(): Promise<void> {
    this.lost({ loss: "closed", reason: "the connection was closed" });
    // Closing must not wait for a server that does not close.
    await Promise.race([this.#client.close().catch(() => {}), pause(2_000)]);
    await this.#transport.close().catch(() => {});
  }

  #settings(signal: AbortSignal, { onprogress }: Ask): object {
    return {
      signal,
      timeout: NEVER,
      allowInputRequired: true,
      ...(onprogress !== undefined && {
        onprogress: (progress: unknown) => onprogress(progress as Json),
      }),
    };
  }

  /** Does something with the server, and fails in time and in our words. */
  async #within<Value>(
    what: string,
    { signal, patient = false }: Ask,
    act: (signal: AbortSignal) => Promise<Value>,
  ): Promise<Value> {
    const { limits } = this.#options;
    if (this.#fault !== undefined) throw this.#lostDuring(what, this.#fault);
    this.#hold(1);
    try {
      const late = (): Error => this.late(what);
      return await timed(patient ? Number.POSITIVE_INFINITY : limits.deadline, signal, act, late);
    } catch (error) {
      throw this.#said(what, error);
    } finally {
      this.#hold(-1);
    }
  }

  #said(what: string, error: unknown): unknown {
    const { peer, secrets } = this.#options;
    if (error instanceof McpTimeoutError) {
      // The next message would be taken for the rest of this one and lost.
      if (this.#transport instanceof StdioTransport && this.#transport.partial) void this.close();
      return error;
    }
    if (error instanceof Aborted) return error.reason;
    const fault = this.#transport.fault ?? this.#fault;
    if (fault !== undefined) {
      this.#fault ??= fault;
      return this.#lostDuring(what, fault);
    }
    const { code, message = String(error), data, cause } = error as Fields;
    // A number is what the server itself answered.
    if (typeof code === "number")
      return new McpAnswerError(peer.name, what, secrets.text(String(message)), {
        code,
        ...(data !== undefined && { data: secrets.json(jsonCopy(data)) }),
      });
    const status = (data as Fields | undefined)?.status;
    if (code === "INVALID_RESULT" || code === "UNSUPPORTED_RESULT_TYPE")
      return new McpAnswerError(peer.name, what, "its answer is not one that the protocol knows", {}, true);
    const reached = String((cause as Fields | undefined)?.code ?? "");
    const reason = secrets.text(String(message));
    this.lost({ loss: "ended", reason });
    // A session that the server has forgotten, or no server at all: nothing was begun.
    if (status === 404 || reached === "ECONNREFUSED") return new McpConnectError(peer.name, reason);
    return this.#lostDuring(what, { loss: "ended", reason });
  }

  #lostDuring(what: string, { loss, reason }: Fault): McpLostError {
    const { peer, secrets } = this.#options;
    return new McpLostError(peer.name, what, loss, secrets.text(reason));
  }

  #hold(more: number): void {
    this.#asked += more;
    if (this.#transport instanceof StdioTransport) this.#transport.hold(this.#asked > 0);
  }
}

export type Fields = { readonly [field: string]: unknown };

/** A schema that takes anything. */
const ANYTHING = {
  "~standard": { version: 1 as const, vendor: "openrath", validate: (value: unknown) => ({ value }) },
};
