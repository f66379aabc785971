import type { Tool } from "../tool.js";
import { editTool } from "./edit.js";
import { findTool, listTool } from "./list.js";
import { type SandboxToolOptions, settingsOf } from "./options.js";
import { patchTool } from "./patch.js";
import { searchTool } from "./search.js";
import { shellTool } from "./shell.js";
import { testTool } from "./test.js";
import { viewTool, writeTool } from "./view.js";

/**
 * The tools an agent works with in the sandbox of its session: shell, view, list, find, search, write, edit, patch, test.
 *
 *     const engineer = agent({ name: "engineer", model, tools: sandboxTools() });
 *     await engineer.forward(rath.start("Fix issue 41.").to("local", { workspace: "./repo" }));
 */
export function sandboxTools(options: SandboxToolOptions = {}): readonly Tool[] {
  settingsOf("sandboxTools", options);
  return [shellTool, viewTool, listTool, findTool, searchTool, writeTool, editTool, patchTool, testTool].map(
    (make) => make(options),
  );
}
