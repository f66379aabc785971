export { type AiSdkTool, fromAiSdk } from "./ai-sdk.js";
export { askPerson } from "./ask-person.js";
export { bounded } from "./bound.js";
export { type Checked, checkInput, reconcileTool, runTool, unknownTool } from "./call.js";
export { type ContentPart, content, isContent } from "./content.js";
export {
  ToolDefinitionError,
  ToolOutputError,
  ToolReportedError,
  ToolSchemaError,
} from "./error.js";
export { moduleTool } from "./module-tool.js";
export { editTool } from "./sandbox/edit.js";

export { listTool } from "./sandbox/list.js";

export { parseTests } from "./sandbox/report.js";
export { searchTool } from "./sandbox/search.js";
export { shellTool } from "./sandbox/shell.js";
export { testTool } from "./sandbox/test.js";
export { sandboxTools } from "./sandbox/tools.js";
export { viewTool } from "./sandbox/view.js";
export { writeTool } from "./sandbox/write.js";
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
export { customChecker, inputChecker } from "./schema.js";
export {
  build,
  DEFAULT_OUTPUT,
  MAX_OUTPUT,
  specOf,
  type Tool,
  type ToolContext,
  type ToolDefinition,
  type ToolRetry,
  type ToolSpec,
  tool,
} from "./tool.js";
