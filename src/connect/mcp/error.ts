import { MissingPackageError } from "../../agent/model/index.js";
import { type Json, RathError } from "../../session/index.js";
import { clip } from "../../util/index.js";

/** A connection or a server that cannot be: an option that there is not, no way to reach it. */
export class McpOptionError extends RathError {
  constructor(server: string, reason: string, hint: string) {
    super("mcp-refused", `Cannot use the MCP server ${quoted(server)}: ${reason}.`, {
      hint,
      data: { server: brief(server), reason },
    });
  }
}

/** Nobody was reached: whatever was to be done was not. */
export class McpConnectError extends RathError {
  constructor(server: string, reason: string, cause?: unknown) {
    super("mcp-unreachable", `Cannot reach the MCP server ${quoted(server)}: ${brief(reason, WORDS)}.`, {
      hint: "start it by hand with the same command, or look at its address: it has to answer `initialize`",
      data: { server: brief(server), reason: brief(reason, WORDS) },
      cause: coded("ECONNREFUSED", cause),
    });
  }
}

/** Why a connection is over. */
export type Loss = "ended" | "closed" | "frame" | "flood" | "broken";

/** The connection ended while something was asked: it may have been done all the same. */
export class McpLostError extends RathError {
  constructor(server: string, what: string, loss: Loss, reason: string) {
    super("mcp-lost", `The MCP server ${quoted(server)} was lost during ${what}: ${brief(reason, WORDS)}.`, {
      hint: "the next call connects anew; whether this one was done only the server knows",
      data: { server: brief(server), what, loss, reason: brief(reason, WORDS) },
      cause: coded("ECONNRESET"),
    });
  }
}

/** No answer in time: it may have been done all the same. */
export class McpTimeoutError extends RathError {
  constructor(server: string, what: string, milliseconds: number, seen?: string) {
    super(
      "mcp-timeout",
      `The MCP server ${quoted(server)} gave no answer to ${what} within ${milliseconds} ms.${seen === undefined ? "" : ` Meanwhile: ${brief(seen, WORDS)}.`}`,
      {
        hint: "give it longer: mcp(server, { deadline: 300_000 }), or look at what it is doing",
        data: {
          server: brief(server),
          what,
          milliseconds,
          ...(seen !== undefined && { seen: brief(seen, WORDS) }),
        },
        cause: coded("timeout"),
      },
    );
  }
}

/** The server answered, and its answer is an error or no answer at all. */
export class McpAnswerError extends RathError {
  /** Whether it did answer, only not as the protocol says. */
  readonly invalid: boolean;

  constructor(
    server: string,
    what: string,
    reason: string,
    more: { code?: number; data?: Json } = {},
    invalid = false,
  ) {
    super(
      "mcp-answer",
      `The MCP server ${quoted(server)} refused ${what}: ${brief(reason, WORDS)}${more.code === undefined ? "" : ` (${more.code})`}.`,
      {
        hint: "read what it says: the input, or what the server can do, is not what it seemed",
        data: { server: brief(server), what, reason: brief(reason, WORDS), ...more },
      },
    );
    this.invalid = invalid;
  }
}

/** A tool is not what it was when it was taken over: its name, description or schema changed, or it is gone. */
export class McpToolChangedError extends RathError {
  constructor(server: string, tool: string, pinned: string, current: string | null) {
    super(
      "mcp-tool-changed",
      current === null
        ? `The MCP server ${quoted(server)} no longer has the tool ${quoted(tool)}.`
        : `The tool ${quoted(tool)} of the MCP server ${quoted(server)} is not the one that was agreed to: its definition changed.`,
      {
        hint: "look at the new definition (await server.definitions()), and take it over with await server.repin()",
        data: { server: brief(server), tool: brief(tool), pinned, current },
      },
    );
  }
}

/** A call whose question was being answered is gone: with it went what the server knew of it. */
export class McpCallGoneError extends RathError {
  constructor(server: string, tool: string) {
    super(
      "mcp-call-gone",
      `The call of ${quoted(tool)} that the MCP server ${quoted(server)} asked about is over: its connection did not outlive the wait.`,
      {
        hint: "call it again, and answer while the process that made the call runs; servers of the protocol of 2026 can wait",
        data: { server: brief(server), tool: brief(tool) },
      },
    );
  }
}

/** A server wanted to hear a model, and did not get to. */
export class McpSamplingError extends RathError {
  constructor(server: string, tool: string, reason: string) {
    super(
      "mcp-sampling",
      `The MCP server ${quoted(server)} got no answer from the model during the call of ${quoted(tool)}: ${brief(reason, WORDS)}.`,
      {
        hint: "let it ask more often: mcp(server, { sampling: { model, most: 20 } }), or do without this tool",
        data: { server: brief(server), tool: brief(tool), reason: brief(reason, WORDS) },
      },
    );
  }
}

/** The failure of a call that runs as a module, under its own code. */
export class McpCallError extends RathError {
  constructor(code: string, message: string, data: { [key: string]: Json }) {
    super(code, message, { hint: "read what it says, and try another input or another way", data });
  }
}

/** Retries and doubts are decided by the codes of causes. */
function coded(code: string, cause?: unknown): Error {
  const why = cause instanceof Error ? cause.message : code;
  return Object.assign(new Error(why, { cause }), { code });
}

const WORDS = 500;

function quoted(name: string): string {
  return JSON.stringify(brief(name));
}

/** Names and messages come from other people's programs: they may be of any length and shape. */
export function brief(text: string, most = 100): string {
  return clip(String(text), most);
}

/** The package, which is installed only by those who need it. */
export function loadServer(): Promise<typeof import("@modelcontextprotocol/server")> {
  return import("@modelcontextprotocol/server").catch(missing);
}

export function loadStdio(): Promise<typeof import("@modelcontextprotocol/server/stdio")> {
  return import("@modelcontextprotocol/server/stdio").catch(missing);
}

function missing(error: unknown): never {
  throw new MissingPackageError("@modelcontextprotocol/server", "an MCP server", error);
}
