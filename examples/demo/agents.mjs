// @ts-check
import { agent, scripted } from "openrath";
import { memoryTools } from "openrath/memory";
import { editTool, listTool, searchTool, shellTool, testTool, viewTool, writeTool } from "openrath/tool";
import { SCRIPTS } from "./script.mjs";

/**
 * @typedef {import("openrath").LanguageModel} LanguageModel
 * @typedef {import("openrath").Agent<unknown>} Validator
 * @typedef {ReturnType<typeof agentsFor>} Agents
 */

const JUDGEMENT = {
  type: "object",
  properties: {
    accept: { type: "boolean", description: "Whether the patch may be kept." },
    reason: { type: "string", description: "Why, in one or two sentences, with the case that shows it." },
    lesson: {
      type: "string",
      description:
        "If it is rejected: what to do otherwise next time, understandable without this conversation. Else empty.",
    },
  },
  required: ["accept", "reason", "lesson"],
  additionalProperties: false,
};

/** Milliseconds that the script takes for a reply: fast enough to wait for, slow enough to watch. */
const DELAY = 120;

/** A model that follows the script of an agent. */
function scriptOf(/** @type {string} */ name) {
  return scripted([...(SCRIPTS[name] ?? [])], { name: "script", delay: DELAY });
}

/**
 * The agents. Without a model each follows its script; with a model all of them ask it, with the same tools.
 *
 * @param {import("openrath/memory").MemorySpace} notes
 * @param {LanguageModel} [model]
 */
export function agentsFor(notes, model) {
  const reading = [viewTool(), listTool(), searchTool()];
  const writing = [...reading, editTool(), writeTool()];
  const running = [...writing, testTool(), shellTool()];
  const recalling = memoryTools(notes, { readOnly: true, threshold: 0.15, limit: 3 });
  /** @type {(name: string, instructions: string, tools: import("openrath").Tool[]) => import("openrath").Module} */
  const one = (name, instructions, tools) =>
    agent({ name, instructions, model: model ?? scriptOf(name), tools, maxSteps: 25 });
  return {
    research: one(
      "research",
      "You prepare the work of others in the repository of the workspace. Read the issue, ask the notes what is known, look at the code. Change nothing. End with the cause in two or three sentences.",
      [...reading, ...recalling],
    ),
    coder: one(
      "coder",
      "You repair the repository of the workspace as the conversation says. Change src/split.js, run the tests with `node --test`, and end with one or two sentences on what you did.",
      running,
    ),
    small: one(
      "small",
      "You mend a patch that was rejected, changing as few lines of src/split.js as you can. End with one sentence on what you did.",
      writing,
    ),
    bold: one(
      "bold",
      "You mend a patch that was rejected by rewriting split() in src/split.js so that it cannot be wrong by construction. End with one sentence on what you did.",
      writing,
    ),
    tester: one(
      "tester",
      "A patch was rejected. Write test/fair.test.js, with node:test, that fails with the fault of that patch and passes once it is repaired. Change nothing else. End with one sentence.",
      writing,
    ),
    validator: validatorFor(model),
  };
}

/**
 * Decides whether a patch is kept, by the tests and by what it reads.
 *
 * @param {LanguageModel} [model]
 * @returns {Validator}
 */
export function validatorFor(model) {
  return agent({
    name: "validator",
    instructions:
      "You decide whether a patch of src/split.js is kept. Look at the file, then judge by the test report that you were given last. A patch that fails a test is rejected.",
    model: model ?? scriptOf("validator"),
    tools: [viewTool()],
    output: JUDGEMENT,
    maxSteps: 10,
  });
}
