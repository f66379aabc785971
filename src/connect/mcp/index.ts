export { clientForm, clientModel, clientRoots } from "./client-ask.js";

export {
  McpConnectError,
  McpOptionError,
} from "./error.js";

export { type McpOptions, type McpServer, mcp } from "./mcp.js";

export { type McpServerOptions, mcpServer, type ServedMcp } from "./server.js";
