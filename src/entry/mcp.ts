export { McpConnectError, McpLostError, McpTimeoutError } from "../connect/mcp/error.js";
export { clientForm, clientModel, clientRoots } from "../connect/mcp/form.js";
export { type McpOptions, type McpServer, mcp } from "../connect/mcp/mcp.js";
export type { Peer } from "../connect/mcp/peer.js";
export { type McpServerOptions, mcpServer } from "../connect/mcp/server.js";
