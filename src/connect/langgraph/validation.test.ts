import { deltaChannelHistoryTests, validate } from "@langchain/langgraph-checkpoint-validation";
import * as vitest from "vitest";
import { type RathSaver, rathSaver } from "./index.js";
import { folder, KINDS } from "./testing/stores.js";

// The suite of LangGraph takes what it needs from the global scope.
const { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } = vitest;
Object.assign(globalThis, { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it });

describe.each(KINDS)("[V1] the suite of LangGraph for checkpointers over $kind", ({ kind, url }) => {
  const { path, remove } = folder();
  let count = 0;
  afterAll(remove);
  const initializer = {
    checkpointerName: `openrath ${kind}`,
    createCheckpointer: (): Promise<RathSaver> => rathSaver(url(path, String(++count))),
    destroyCheckpointer: (saver: RathSaver): Promise<void> => saver.close(),
  };
  validate<RathSaver>(initializer);
  deltaChannelHistoryTests<RathSaver>(initializer);
});
