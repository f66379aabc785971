export type { Finding } from "../../session/index.js";
export { type AiSdkOptions, type AiSdkTool, fromAiSdk } from "./ai-sdk.js";
export { type AskPersonOptions, askPerson, type PersonQuestion } from "./ask-person.js";
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
export { editTool } from "./sandbox/edit.js";
export {
  CommandUnstartedError,
  EditRefusedError,
  PatchRefusedError,
  SearchRefusedError,
} from "./sandbox/error.js";
export { findTool } from "./sandbox/find.js";
export { listTool } from "./sandbox/list.js";
export type { SandboxToolOptions } from "./sandbox/options.js";
export { patchTool } from "./sandbox/patch.js";
export {
  parseTests,
  type TestCounts,
  type TestFailure,
  type TestKind,
  type TestReport,
} from "./sandbox/report.js";
export { searchTool } from "./sandbox/search.js";
export { shellTool } from "./sandbox/shell.js";
export { testTool } from "./sandbox/test.js";
export { sandboxTools } from "./sandbox/tools.js";
export { viewTool } from "./sandbox/view.js";
export { writeTool } from "./sandbox/write.js";
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
  MAX_OUTPUT,
  specOf,
  type Tool,
  type ToolContext,
  type ToolDefinition,
  type ToolRetry,
  type ToolSpec,
  tool,
} from "./tool.js";
