import { MissingPackageError } from "../../agent/model/index.js";

/** The package, which is installed only by who needs it. */
export async function loadServer(): Promise<typeof import("@modelcontextprotocol/server")> {
  try {
    return await import("@modelcontextprotocol/server");
  } catch (error) {
    throw new MissingPackageError("@modelcontextprotocol/server", "an MCP server", error);
  }
}

export async function loadStdio(): Promise<typeof import("@modelcontextprotocol/server/stdio")> {
  try {
    return await import("@modelcontextprotocol/server/stdio");
  } catch (error) {
    throw new MissingPackageError("@modelcontextprotocol/server", "an MCP server", error);
  }
}
