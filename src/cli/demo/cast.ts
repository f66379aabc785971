import { type Agent, agent } from "../../agent/index.js";
import { type LanguageModel, scripted } from "../../agent/model/index.js";
import {
  editTool,
  listTool,
  searchTool,
  shellTool,
  type Tool,
  testTool,
  viewTool,
  writeTool,
} from "../../agent/tool/index.js";
import type { MemorySpace } from "../../memory/index.js";
import { memoryTools } from "../../memory/index.js";
import type { Module } from "../../runtime/index.js";
import type { Session } from "../../session/index.js";
import { SCRIPTS } from "./script.js";

/** Who takes part in the demonstration. */
export type Cast = {
  readonly research: Module;
  readonly coder: Module;
  readonly small: Module;
  readonly bold: Module;
  readonly tester: Module;
  readonly validator: Validator;
};

export type Validator = Agent<unknown>;

/** What the validator says of a patch. */
export type Judgement = { readonly accept: boolean; readonly reason: string; readonly lesson: string };

/** What the validator said last, in the shape that was asked for. */
export function judgementIn(validator: Validator, session: Session): Judgement {
  const said = validator.output(session) as Judgement | undefined;
  return said ?? { accept: false, reason: "nothing was said about it", lesson: "" };
}

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
} as const;

/** Milliseconds that the script takes for a reply: fast enough to wait for, slow enough to be watched. */
const DELAY = 120;

/** A model that follows the script of an agent. */
export function scriptOf(name: string): LanguageModel {
  return scripted(SCRIPTS[name] ?? [], { name: "script", delay: DELAY });
}

/** The agents. Without a model each follows its script; with one all of them ask it, with the same tools. */
export function castOf(notes: MemorySpace, model?: LanguageModel): Cast {
  const looking: readonly Tool[] = [viewTool(), listTool(), searchTool()];
  const changing: readonly Tool[] = [...looking, editTool(), writeTool()];
  const running: readonly Tool[] = [...changing, testTool(), shellTool()];
  const one = (name: string, instructions: string, tools: readonly Tool[]): Module =>
    agent({ name, instructions, model: model ?? scriptOf(name), tools: [...tools], maxSteps: 25 });
  return {
    research: one(
      "research",
      "You prepare the work of others in the repository of the workspace. Read the issue, ask the notes what is known, look at the code. Change nothing. End with the cause in two or three sentences.",
      [...looking, ...memoryTools(notes, { readOnly: true, threshold: 0.15, limit: 3 })],
    ),
    coder: one(
      "coder",
      "You repair the repository of the workspace as the conversation says. Change src/split.js, run the tests with `node --test`, and end with one or two sentences on what you did.",
      running,
    ),
    small: one(
      "small",
      "You mend a patch that was rejected, changing as few lines of src/split.js as you can. End with one sentence on what you did.",
      changing,
    ),
    bold: one(
      "bold",
      "You mend a patch that was rejected by rewriting split() in src/split.js so that it cannot be wrong by construction. End with one sentence on what you did.",
      changing,
    ),
    tester: one(
      "tester",
      "A patch was rejected. Write test/fair.test.js, with node:test, that fails with the fault of that patch and passes once it is repaired. Change nothing else. End with one sentence.",
      changing,
    ),
    validator: validatorOf(model),
  };
}

/** Who says whether a patch is kept, by what the tests say and what it reads. */
export function validatorOf(model?: LanguageModel): Validator {
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
