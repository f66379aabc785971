export type { Authorization } from "./authorize.js";
export type { Book, PromptChoice } from "./book.js";
export type { Answer, Question } from "./call.js";
export { type ClientPrompt, clientForm, clientModel, clientRoots } from "./client-ask.js";
export type { Definition, Pin, Refused } from "./definition.js";
export type { DoorOptions } from "./door.js";
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
} from "./error.js";
export type { Values } from "./http.js";
export type { Offer } from "./instance.js";
export type { Limits } from "./limits.js";
export type { Root } from "./link.js";
export { type McpOptions, type McpServer, mcp } from "./mcp.js";
export type { AddressPeer, CommandPeer, Peer } from "./peer.js";
export type { SamplingOptions } from "./sampling.js";
export { type McpServerOptions, mcpServer, type ServedMcp } from "./server.js";
export type { OfferedPrompt, OfferedResource, PromptArgument, PromptMessage } from "./shelf.js";
export type { ToolSettings } from "./tools.js";
