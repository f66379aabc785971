import type { LanguageModelV3 } from "@ai-sdk/provider";
import type { MockLanguageModelV3 } from "ai/test";
import type { MockLanguageModelV2 } from "ai5/test";
import type { MockLanguageModelV4 } from "ai7/test";
import type { LanguageModelV2 } from "provider2";
import type { LanguageModelV4 } from "provider4";
import { describe, expectTypeOf, it } from "vitest";
import type { LanguageModel } from "./index.js";

describe("a language model", () => {
  it("[T1] is one of specification V2, V3 or V4", () => {
    expectTypeOf<LanguageModelV2>().toExtend<LanguageModel>();
    expectTypeOf<LanguageModelV3>().toExtend<LanguageModel>();
    expectTypeOf<LanguageModelV4>().toExtend<LanguageModel>();
    expectTypeOf<MockLanguageModelV2>().toExtend<LanguageModel>();
    expectTypeOf<MockLanguageModelV3>().toExtend<LanguageModel>();
    expectTypeOf<MockLanguageModelV4>().toExtend<LanguageModel>();
  });

  it("[T1] and nothing else", () => {
    expectTypeOf<{ provider: string; modelId: string }>().not.toExtend<LanguageModel>();
    expectTypeOf<Omit<LanguageModelV3, "specificationVersion">>().not.toExtend<LanguageModel>();
    expectTypeOf<Omit<LanguageModelV3, "doStream"> & { doStream(): string }>().not.toExtend<LanguageModel>();
    expectTypeOf<string>().not.toExtend<LanguageModel>();
  });
});
