export { type AiSdkTool, fromAiSdk } from "./ai-sdk.js";
export { askPerson } from "./ask-person.js";
export { bounded, splits } from "./bound.js";
export { type Checked, checkInput, reconcileTool, runTool, unknownTool } from "./call.js";
export { type ContentPart, content, isContent } from "./content.js";
export {
  ToolDefinitionError,
  ToolOutputError,
  ToolReportedError,
  ToolSchemaError,
} from "./error.js";
export { moduleTool } from "./module-tool.js";
export { fromProviderObject, isProviderObject, providerTool } from "./provider-tool.js";
export { sandboxTools } from "./sandbox/tools.js";
export type {
  InputChecker,
  InputOf,
  InputSchema,
  Issue,
  JsonObject,
  JsonSchema,
  OutputSchema,
  StandardJson,
} from "./schema.js";
export { customChecker, inputChecker, objectSchema } from "./schema.js";
export {
  build,
  DEFAULT_OUTPUT,
  MAX_OUTPUT,
  specOf,
  type Tool,
  type ToolContext,
  type ToolDefinition,
  type ToolSpec,
  tool,
} from "./tool.js";
