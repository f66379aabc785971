import type { Terms } from "../../session/index.js";
import { optionNames } from "../../util/index.js";
import { ToolDefinitionError } from "./error.js";
import { inputChecker, objectSchema } from "./schema.js";
import { build, checkOptions, type Tool } from "./tool.js";

export type AskPersonOptions = Omit<Terms, "need"> & {
  /** Left out, "ask_person". */
  readonly name?: string;
  readonly description?: string;
};

/** A model's question, with the possible answers if it can name them. */
export type PersonQuestion = { readonly question: string; readonly options?: readonly string[] };

/**
 * Lets a model ask a person. The question is pending work like an approval, and the person's answer is the
 * result of the call.
 *
 * ```ts
 * const clerk = agent({ name: "clerk", model, tools: [askPerson({ from: "user:ada", within: 3_600_000 })] });
 * await rath.answer("order-7", ask.id, "The blue one.", "user:ada"); // ask is one of rath.pending("order-7")
 * ```
 */
export function askPerson(options: AskPersonOptions = {}): Tool<PersonQuestion, string> {
  checkOptions(options, OPTIONS, 'askPerson({ from: "user:ada" })');
  const { name = "ask_person", description = DESCRIPTION, ...terms } = options;
  return build<PersonQuestion, string>(
    {
      name,
      description,
      effect: "pure",
      origin: "trusted",
      approval: Object.keys(terms).length === 0 ? true : terms,
      // The person who answers takes the call over: a question cannot be just approved.
      run() {
        throw new ToolDefinitionError(name, "it is a question and has no run", "let a person answer it");
      },
    },
    { input: inputChecker(name, INPUT) },
    {
      question: ({ options: choices }) =>
        choices === undefined || choices.length === 0 ? { type: "string" } : { enum: [...choices] },
    },
  );
}

const INPUT = objectSchema(
  {
    question: { type: "string", description: "What to ask, with everything needed to answer it." },
    options: { type: "array", items: { type: "string" }, description: "The answers to choose from." },
  },
  ["question"],
);

const DESCRIPTION =
  "Asks a person, and waits for the answer. For what only they can know or decide; not for what you can find out.";

const OPTIONS = optionNames<AskPersonOptions>()("name description from within otherwise");
