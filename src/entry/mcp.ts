export { McpConnectError, McpLostError, McpTimeoutError } from "../connect/mcp/error.js";
export { clientForm, clientModel, clientRoots } from "../connect/mcp/form.js";
export { type McpServer, mcp } from "../connect/mcp/mcp.js";
export { mcpServer } from "../connect/mcp/server.js";
