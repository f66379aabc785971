// @ts-check
import { agent, policy, scripted, workflow } from "openrath";
import { writeTool } from "openrath/tool";
import { validatorFor } from "./agents.mjs";
import { check, review } from "./checks.mjs";

/**
 * Continues from the rejected patch with another repair: it is written, tested, and reviewed as the others were.
 *
 * @param {{ readonly path: string, readonly text: string, readonly says: string, readonly asks?: boolean }} repair the file, the
 *   agent's last words, and whether a person sees the file before it is written
 */
export function again({ path, text, says, asks = false }) {
  const another = agent({
    name: "another",
    instructions: "You mend a patch that was rejected, in a way of your own.",
    model: scripted([{ tool: "write", input: { path, text } }, says], { name: "script" }),
    tools: [writeTool()],
    ...(asks && { policy: policy("careful", [{ name: "writes", verdict: "ask", tool: "write" }]) }),
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
