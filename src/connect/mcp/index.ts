export {
  McpConnectError,
  McpOptionError,
} from "./error.js";
export { clientForm, clientModel, clientRoots } from "./form.js";

export { type McpOptions, type McpServer, mcp } from "./mcp.js";

export { type McpServerOptions, mcpServer, type ServedMcp } from "./server.js";
