import type { TestContext } from "vitest";
import { Bench } from "../demo/command.js";
import { writePrograms } from "./programs.js";

/** A bench of its own for a test, gone when the test is over. */
export function benchOf(context: TestContext): Bench {
  const made = new Bench();
  writePrograms(made.folder);
  context.onTestFinished(() => made.remove());
  return made;
}
