export { type AiSdkOptions, type AiSdkTool, fromAiSdk } from "../agent/tool/ai-sdk.js";
export { type AskPersonOptions, askPerson, type PersonQuestion } from "../agent/tool/ask-person.js";
export { type Checked, checkInput, reconcileTool, runTool, unknownTool } from "../agent/tool/call.js";
export { type ContentOutput, type ContentPart, content, isContent } from "../agent/tool/content.js";
export {
  ToolDefinitionError,
  ToolInputError,
  ToolOutputError,
  ToolReportedError,
  ToolSchemaError,
  UnknownToolError,
} from "../agent/tool/error.js";
export { type ModuleToolOptions, moduleTool, type ToolModule } from "../agent/tool/module-tool.js";
export { editTool } from "../agent/tool/sandbox/edit.js";
export {
  CommandUnstartedError,
  EditRefusedError,
  PatchRefusedError,
  SearchRefusedError,
} from "../agent/tool/sandbox/error.js";
export { findTool } from "../agent/tool/sandbox/find.js";
export { listTool } from "../agent/tool/sandbox/list.js";
export type { SandboxToolOptions } from "../agent/tool/sandbox/options.js";
export { patchTool } from "../agent/tool/sandbox/patch.js";
export {
  parseTests,
  type TestCounts,
  type TestFailure,
  type TestKind,
  type TestReport,
} from "../agent/tool/sandbox/report.js";
export { searchTool } from "../agent/tool/sandbox/search.js";
export { shellTool } from "../agent/tool/sandbox/shell.js";
export { testTool } from "../agent/tool/sandbox/test.js";
export { sandboxTools } from "../agent/tool/sandbox/tools.js";
export { viewTool } from "../agent/tool/sandbox/view.js";
export { writeTool } from "../agent/tool/sandbox/write.js";
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
} from "../agent/tool/schema.js";
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
} from "../agent/tool/tool.js";
export type { Finding } from "../session/index.js";
