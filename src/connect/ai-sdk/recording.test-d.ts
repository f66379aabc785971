import type { LanguageModelV3 } from "@ai-sdk/provider";
import { wrapLanguageModel as wrap6 } from "ai";
import { wrapLanguageModel as wrap5 } from "ai5";
import { wrapLanguageModel as wrap7 } from "ai7";
import type { LanguageModelV2 } from "provider2";
import type { LanguageModelV4 } from "provider4";
import { expectTypeOf, it } from "vitest";
import { Session } from "../../session/index.js";
import { type RecordingOptions, recording } from "./index.js";

declare const v2: LanguageModelV2;
declare const v3: LanguageModelV3;
declare const v4: LanguageModelV4;

it("[T1] a recording is a middleware of the AI SDK 5, 6 and 7", () => {
  const middleware = recording(Session.start());
  expectTypeOf(wrap5({ model: v2, middleware })).toEqualTypeOf<LanguageModelV2>();
  expectTypeOf(wrap6({ model: v3, middleware })).toEqualTypeOf<LanguageModelV3>();
  expectTypeOf(wrap7({ model: v4, middleware: [middleware] })).toEqualTypeOf<LanguageModelV4>();
  expectTypeOf(middleware.session).toEqualTypeOf<Session>();
  expectTypeOf<{ mode: "forget" }>().not.toExtend<Partial<RecordingOptions>>();
});
