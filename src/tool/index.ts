export { type AiSdkOptions, type AiSdkTool, fromAiSdk } from "./ai-sdk.js";
export { type Checked, checkInput, reconcileTool, runTool, unknownTool } from "./call.js";
export { type ContentOutput, type ContentPart, content, isContent } from "./content.js";
export {
  ToolDefinitionError,
  ToolInputError,
  ToolOutputError,
  ToolReportedError,
  ToolSchemaError,
  UnknownToolError,
} from "./error.js";
export { type ModuleToolOptions, moduleTool, type ToolModule } from "./module-tool.js";
export type {
  Checker,
  CheckResult,
  InputChecker,
  InputOf,
  InputSchema,
  Issue,
  JsonObject,
  JsonSchema,
  OutputOf,
  OutputSchema,
  StandardJson,
  StandardSchema,
} from "./schema.js";
export {
  DEFAULT_OUTPUT,
  type Deed,
  type Finding,
  MAX_OUTPUT,
  specOf,
  type Tool,
  type ToolContext,
  type ToolDefinition,
  type ToolRetry,
  type ToolSpec,
  tool,
} from "./tool.js";
