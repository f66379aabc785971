export type { Authorization } from "../connect/mcp/authorize.js";
export type { Book, PromptChoice } from "../connect/mcp/book.js";
export type { Answer, Question } from "../connect/mcp/call.js";
export { type ClientPrompt, clientForm, clientModel, clientRoots } from "../connect/mcp/client-ask.js";
export type { Definition, Pin, Refused } from "../connect/mcp/definition.js";
export type { DoorOptions } from "../connect/mcp/door.js";
export {
  McpAnswerError,
  McpCallError,
  McpCallGoneError,
  McpConnectError,
  McpLostError,
  McpOptionError,
  McpSamplingError,
  McpTimeoutError,
  McpToolChangedError,
} from "../connect/mcp/error.js";
export type { Values } from "../connect/mcp/http.js";
export type { Offer } from "../connect/mcp/instance.js";
export type { Limits } from "../connect/mcp/limits.js";
export type { Root } from "../connect/mcp/link.js";
export { type McpOptions, type McpServer, mcp } from "../connect/mcp/mcp.js";
export type { AddressPeer, CommandPeer, Peer } from "../connect/mcp/peer.js";
export type { SamplingOptions } from "../connect/mcp/sampling.js";
export { type McpServerOptions, mcpServer, type ServedMcp } from "../connect/mcp/server.js";
export type { OfferedPrompt, OfferedResource, PromptArgument, PromptMessage } from "../connect/mcp/shelf.js";
export type { ToolSettings } from "../connect/mcp/tools.js";
