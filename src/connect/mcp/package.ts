import { MissingPackageError } from "../../agent/model/index.js";

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
