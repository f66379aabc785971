import { type Agent, type AgentOptions, agent } from "../../agent/index.js";
import type { LanguageModel } from "../../agent/model/index.js";
import { objectSchema } from "../../agent/tool/index.js";
import { optionNames } from "../../util/index.js";
import { refusing, requireName, requireOptions } from "../../workflow/index.js";
import type { Asker, Choice, Route } from "./choice.js";

export type ByModelOptions = Pick<AgentOptions, "model" | "budget" | "retry" | "timeout"> & {
  /** The name on the record. Default "router". */
  readonly name?: string;
  /** Instructions for the choice, besides the routes' own descriptions. */
  readonly instructions?: string;
};

/** A model chooses among exactly the routes, and "none", on a branch of its own. */
export function byModel(options: LanguageModel | ByModelOptions): Asker {
  const isModel = typeof (options as Partial<LanguageModel>)?.doGenerate === "function";
  const given = (isModel ? { model: options } : options) as ByModelOptions;
  const refuse = refusing("a choice by a model");
  requireOptions(given, refuse, "byModel(model), or byModel({ model, instructions })", OPTIONS);
  const { name = "router", instructions, ...rest } = given;
  requireName(name, "choice by a model", 'byModel({ model, name: "router" })');
  // Made when it is known what there is to choose from, and then kept: the schema has to name the routes.
  const known = new Map<string, Agent<Answer>>();
  const routerOf = (routes: readonly Route[], none: string) =>
    agent({
      ...rest,
      name,
      context: "all",
      instructions: [
        `You decide who goes on with a conversation. You do not take part in it.`,
        ...(instructions === undefined ? [] : [instructions]),
        `There are:`,
        ...routes.map(({ name: route, description }) =>
          description === undefined ? `- ${route}` : `- ${route}: ${description}`,
        ),
        `- ${none}: none of them fits.`,
      ].join("\n"),
      output: objectSchema({
        route: { type: "string", enum: [...routes.map((route) => route.name), none] },
        why: { type: "string", description: "The reason, in one sentence." },
      }),
    } as Parameters<typeof agent>[0]) as Agent<Answer>;
  return {
    name,
    by: `agent:${name}`,
    async choose(session, routes) {
      const key = JSON.stringify(routes);
      const none = noneFor(routes);
      const router = known.get(key) ?? routerOf(routes, none);
      known.set(key, router);
      const answered = await router.forward(session.say(QUESTION, { by: "runtime" }));
      const answer = router.output(answered);
      // It ends without one when its budget is spent.
      if (answer === undefined) throw new Error(`${name} stopped before it chose`);
      const { route, why } = answer;
      const choice: Choice = { chosen: route === none ? null : route, why };
      return { session: answered, choice };
    },
  };
}

type Answer = { readonly route: string; readonly why: string };

const QUESTION = "[Who shall go on from here? Choose by what was asked above; do not answer it yourself.]";
const OPTIONS = optionNames<ByModelOptions>()("model name instructions budget retry timeout");

/** The word for none of them, which no route has. */
function noneFor(routes: readonly Route[]): string {
  let word = "none";
  while (routes.some(({ name }) => name === word)) word = `${word} of them`;
  return word;
}
