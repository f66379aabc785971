// @ts-check
import { agent, scripted, workflow } from "openrath";
import { writeTool } from "openrath/tool";
import { validatorFor } from "./agents.mjs";
import { check, review } from "./checks.mjs";

/**
 * Continues from the rejected patch with another repair: it is written, tested, and reviewed as the others were.
 *
 * @param {{ readonly path: string, readonly text: string, readonly says: string }} repair the file, and the agent's last words
 */
export function again({ path, text, says }) {
  const another = agent({
    name: "another",
    instructions: "You mend a patch that was rejected, in a way of your own.",
    model: scripted([{ tool: "write", input: { path, text } }, says], { name: "script" }),
    tools: [writeTool()],
  });
  const validator = validatorFor();
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
