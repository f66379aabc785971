import { type Input, textOption } from "../entry.js";
import type { Shell } from "../shell.js";

/** `rath demo`, which is `npm start`. */
export async function run(shell: Shell, input: Input): Promise<number> {
  const { demo } = await import("../demo/demo.js");
  const sandbox = textOption(input, "sandbox");
  return demo(shell, {
    scripted: input.options.scripted === true,
    ...(sandbox !== undefined && { sandbox }),
  });
}
