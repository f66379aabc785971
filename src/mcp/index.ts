export type { Book, PromptChoice } from "./book.js";
export type { Answer, Question } from "./call.js";
export type { Definition, Pin, Refused } from "./definition.js";
export {
  McpAnswerError,
  McpCallError,
  McpCallGoneError,
  McpConnectError,
  McpLostError,
  McpOptionError,
  McpTimeoutError,
  McpToolChangedError,
} from "./error.js";
export type { Values } from "./http.js";
export type { Limits } from "./limits.js";
export type { Root } from "./link.js";
export { type McpOptions, type McpServer, mcp } from "./mcp.js";
export type { AddressPeer, CommandPeer, Peer } from "./peer.js";
export type { SamplingOptions } from "./sampling.js";
export { type McpServerOptions, mcpServer, type ServedMcp } from "./server.js";
export type { ToolSettings } from "./tools.js";
