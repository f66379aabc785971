import { describe, it } from "vitest";
import { step } from "../workflow/index.js";
import { agent } from "./index.js";
import type { LanguageModel } from "./model/index.js";

declare const model: LanguageModel;
const read = { effect: "read" } as const;
const count = step("count", async () => 5, read);
const stock = step("stock", async (item: string) => item.length, read);

describe("types", () => {
  it("[L9] a module that needs more than a session is not a tool, and cannot be handed over to", () => {
    agent({ name: "a", model, tools: [count], handoffs: [count] });
    // @ts-expect-error nobody would give it an item
    agent({ name: "a", model, tools: [stock] });
    // @ts-expect-error nobody would give it an item
    agent({ name: "a", model, handoffs: [stock] });
    // @ts-expect-error there is no such option
    agent({ name: "a", model, instruction: "Be kind." });
  });
});
