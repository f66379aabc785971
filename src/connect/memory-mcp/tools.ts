import { MissingPackageError } from "../../agent/model/index.js";
import type { Tool, ToolContext } from "../../agent/tool/index.js";
import type { BackendContext } from "../../memory/index.js";
import { BackendError, type BackendFault } from "../../memory/index.js";
import { type Json, RathError, readableError, Session, thrownMessage } from "../../session/index.js";
import { firstLine } from "../../util/index.js";
import type { McpServer } from "../mcp/index.js";

/** The tools of the server that a memory needs. */
const NEEDED = [
  "create_entities",
  "add_observations",
  "delete_observations",
  "delete_entities",
  "search_nodes",
  "open_nodes",
] as const;
export type GraphTool = (typeof NEEDED)[number];

/** Calls the tools of a server outside of any agent: there is no session that asks, and so nothing is recorded here. */
export class GraphTools {
  readonly name: string;
  readonly #server: McpServer;
  readonly #timeout: number;
  #last: Promise<unknown> = Promise.resolve();

  constructor(server: McpServer, timeout: number) {
    this.name = `mcp ${server.name}`;
    this.#server = server;
    this.#timeout = timeout;
  }

  async call(tool: GraphTool, input: Json, use: string, context: BackendContext): Promise<Json> {
    if (context.signal.aborted) throw this.#failed("stopped", use, "it was stopped before it was asked");
    const late = AbortSignal.timeout(this.#timeout);
    const signal = AbortSignal.any([context.signal, late]);
    try {
      const found = await Promise.race([this.#tool(tool, use), aborted(signal)]);
      return (await Promise.race([found.run(input, contextOf(signal, context)), aborted(signal)])) as Json;
    } catch (thrown) {
      const error = readableError(thrown);
      if (error instanceof BackendError) throw error;
      if (context.signal.aborted) throw this.#failed("stopped", use, "it was stopped while it was asked");
      if (late.aborted) throw this.#failed("timeout", use, `it gave no answer within ${this.#timeout} ms`);
      const reason = firstLine(thrownMessage(error));
      if (error instanceof MissingPackageError)
        throw new BackendError(this.name, "not-installed", use, reason, error.data, error.hint);
      throw this.#failed(faultOf(error), use, reason);
    }
  }

  /** One after another: servers read their file, change it and write it back, and of two at a time one would be lost. */
  inTurn<Value>(work: () => Promise<Value>): Promise<Value> {
    const turn = this.#last.then(work);
    this.#last = turn.catch(() => {});
    return turn;
  }

  malformed(use: string, reason: string): BackendError {
    return this.#failed("malformed", use, reason);
  }

  async #tool(name: GraphTool, use: string): Promise<Tool> {
    const tools = await this.#server.tools();
    const named = (wanted: string) =>
      tools.find(({ source }) => (source as { readonly tool?: Json } | undefined)?.tool === wanted);
    const missing = NEEDED.filter((one) => named(one) === undefined);
    const tool = named(name);
    if (tool === undefined || missing.length > 0)
      throw this.#failed("refused", use, `it lacks tools of a memory server: ${missing.join(", ")}`);
    return tool;
  }

  #failed(fault: BackendFault, use: string, reason: string): BackendError {
    return new BackendError(this.name, fault, use, reason);
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const stop = (): void => reject(new Error("stopped"));
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
  });
}

function contextOf(signal: AbortSignal, context: BackendContext): ToolContext {
  return {
    signal,
    key: "memory",
    attempt: 1,
    call: "memory",
    session: Session.start(),
    emit: () => {},
    secret: (name) => context.secret(name),
    redact: (value) => value,
    sandbox: () => Promise.reject(new Error("a memory has no sandbox")),
    record: () => {},
    store: () => Promise.reject(new Error("a memory server has no store")),
  };
}

function faultOf(error: unknown): BackendFault {
  if (!(error instanceof RathError)) return "unreachable";
  switch (error.code) {
    case "mcp-timeout":
      return "timeout";
    case "mcp-lost":
      return error.data.loss === "frame" || error.data.loss === "flood" ? "too-large" : "unreachable";
    case "mcp-unreachable":
      return "unreachable";
    case "tool-output-refused":
      return "malformed";
    default:
      return "refused";
  }
}
