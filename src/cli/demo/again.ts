import { agent } from "../../agent/index.js";
import { scripted } from "../../agent/model/index.js";
import { writeTool } from "../../agent/tool/index.js";
import type { Module } from "../../runtime/index.js";
import { workflow } from "../../workflow/index.js";
import { validatorOf } from "./cast.js";
import { check, review } from "./checking.js";

/** Another repair: the file that is written, and the words that go with it. */
export type Another = { readonly path: string; readonly text: string; readonly says: string };

/** Goes on from the rejected patch with another repair: it is written, tested, and reviewed as the others were. */
export function again({ path, text, says }: Another): Module {
  const another = agent({
    name: "another",
    instructions: "You mend a patch that was rejected, in a way of your own.",
    model: scripted([{ tool: "write", input: { path, text } }, says], { name: "script" }),
    tools: [writeTool()],
  });
  const validator = validatorOf();
  return workflow("another way", { another, validator }, async (session) => {
    const written = await another.forward(session.say("Mend the patch in another way.", { by: "runtime" }));
    const checked = await check(written);
    const { session: judged, judgement } = await review(checked, validator);
    return judged.say(
      `${judgement.accept ? "Kept" : "Not kept"}: ${checked.words} pass. ${judgement.reason}`,
      { role: "assistant", by: "runtime" },
    );
  });
}
