import { randomUUID } from "node:crypto";
import type {
  EventStore,
  JSONRPCMessage,
  McpHttpHandler,
  McpServer,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import type { Principal } from "../../session/index.js";
import { refusal } from "./door.js";
import { loadServer } from "./error.js";

/** Clients of 2025 that are served at once. The one that was silent for longest makes room for another. */
const SESSIONS = 1_000;
/** Milliseconds of silence after which a client of 2025 is taken to be gone. */
const IDLE_MILLISECONDS = 3_600_000;
/** Messages, and characters of them, that a client which lost its connection can ask for again. */
const EVENTS = 500;
const EVENT_CHARACTERS = 250_000;
/** Milliseconds after which such a client should come back. */
const RETRY_MILLISECONDS = 1_000;

/** Makes a server for a request, or for a client that stays. */
export type Make = (context: {
  readonly era: "legacy" | "modern";
  readonly lasting: boolean;
  readonly by: Principal;
}) => Promise<McpServer>;

type Session = {
  readonly transport: WebStandardStreamableHTTPServerTransport;
  readonly server: McpServer;
  readonly by: Principal;
  heard: number;
};

/** How often it is looked who is gone, in milliseconds. */
const LOOK = 60_000;

/**
 * HTTP in both eras: a request of 2026 stands for itself; a client of 2025 that introduces itself gets a session, on which
 * it can be asked and told things, and whose messages it can ask for again.
 */
export class Web {
  readonly #make: Make;
  readonly #sessions = new Map<string, Session>();
  #handler: Promise<McpHttpHandler> | undefined;
  #looking: NodeJS.Timeout | undefined;

  constructor(make: Make) {
    this.#make = make;
  }

  async fetch(request: Request, by: Principal): Promise<Response> {
    const { isLegacyRequest } = await loadServer();
    if (await isLegacyRequest(request)) {
      const id = request.headers.get("mcp-session-id");
      if (id !== null) return this.#known(id, request, by);
      if (await introduces(request)) return this.#begin(request, by);
    }
    return (await this.handler()).fetch(request, { authInfo: { token: "", clientId: by, scopes: [] } });
  }

  /** Serves single requests, and notifies the listeners. */
  handler(): Promise<McpHttpHandler> {
    this.#handler ??= loadServer().then(({ createMcpHandler }) =>
      createMcpHandler(({ era, authInfo }) =>
        this.#make({ era, lasting: false, by: authInfo?.clientId as Principal }),
      ),
    );
    return this.#handler;
  }

  /** Those who listen on a handler, if there is one yet. */
  async listeners(): Promise<McpHttpHandler["notify"] | undefined> {
    return (await this.#handler)?.notify;
  }

  async close(): Promise<void> {
    clearInterval(this.#looking);
    const sessions = [...this.#sessions.values()];
    this.#sessions.clear();
    await Promise.all(sessions.map(({ server }) => server.close().catch(() => {})));
    await (await this.#handler)?.close();
  }

  async #known(id: string, request: Request, by: Principal): Promise<Response> {
    const session = this.#sessions.get(id);
    // Somebody else's is not to be found either.
    if (session?.by !== by)
      return refusal(404, "There is no session of this id.", "introduce yourself again");
    session.heard = Date.now();
    return session.transport.handleRequest(request);
  }

  async #begin(request: Request, by: Principal): Promise<Response> {
    const { WebStandardStreamableHTTPServerTransport: Transport } = await loadServer();
    const server = await this.#make({ era: "legacy", lasting: true, by });
    let session: Session | undefined;
    const transport: WebStandardStreamableHTTPServerTransport = new Transport({
      sessionIdGenerator: randomUUID,
      // One that is told something is not silent, however long a call takes.
      eventStore: new Events(() => {
        if (session !== undefined) session.heard = Date.now();
      }),
      retryInterval: RETRY_MILLISECONDS,
      onsessioninitialized: (id) => {
        this.#makeRoom();
        session = { transport, server, by, heard: Date.now() };
        this.#sessions.set(id, session);
        this.#looking ??= setInterval(() => this.#makeRoom(), LOOK).unref();
      },
      onsessionclosed: (id) => {
        this.#sessions.delete(id);
      },
    });
    await server.connect(transport);
    const response = await transport.handleRequest(request);
    // A refused client has no session to end.
    if (transport.sessionId === undefined) void server.close().catch(() => {});
    return response;
  }

  #makeRoom(): void {
    const now = Date.now();
    const silent = [...this.#sessions].sort(([, one], [, other]) => one.heard - other.heard);
    for (const [id, { server, heard }] of silent) {
      if (now - heard < IDLE_MILLISECONDS && this.#sessions.size < SESSIONS) return;
      this.#sessions.delete(id);
      void server.close().catch(() => {});
    }
  }
}

/** The last messages to one client. */
class Events implements EventStore {
  readonly #events: { readonly id: string; readonly stream: string; readonly text: string }[] = [];
  readonly #told: () => void;
  #count = 0;
  #characters = 0;

  constructor(told: () => void) {
    this.#told = told;
  }

  async storeEvent(stream: string, message: JSONRPCMessage): Promise<string> {
    this.#told();
    this.#count += 1;
    const event = { id: `${stream}_${this.#count}`, stream, text: JSON.stringify(message) };
    this.#events.push(event);
    this.#characters += event.text.length;
    while (this.#events.length > EVENTS || this.#characters > EVENT_CHARACTERS)
      this.#characters -= this.#events.shift()?.text.length ?? 0;
    return event.id;
  }

  async getStreamIdForEventId(id: string): Promise<string | undefined> {
    return this.#events.find((event) => event.id === id)?.stream;
  }

  async replayEventsAfter(
    last: string,
    { send }: { send: (id: string, message: JSONRPCMessage) => Promise<void> },
  ): Promise<string> {
    const from = this.#events.findIndex(({ id }) => id === last);
    const stream = this.#events[from]?.stream;
    if (stream === undefined) throw new Error("this event is not kept");
    for (const event of this.#events.slice(from + 1))
      if (event.stream === stream && event.text !== "{}")
        await send(event.id, JSON.parse(event.text) as JSONRPCMessage);
    return stream;
  }
}

async function introduces(request: Request): Promise<boolean> {
  if (request.method !== "POST") return false;
  try {
    const body = (await request.clone().json()) as { readonly method?: unknown } | null;
    return body?.method === "initialize";
  } catch {
    return false;
  }
}
