import { onTestFinished } from "vitest";

const NOBODY = 65_534;

/**
 * Goes on as an ordinary user until the test ends; false where that cannot be done (this is one already, or is not
 * Linux). What root may do in spite of modes must not be what makes a test pass.
 */
export function asOrdinaryUser(...owned: readonly ((uid: number) => void)[]): boolean {
  if (process.platform !== "linux" || process.geteuid?.() !== 0) return false;
  for (const give of owned) give(NOBODY);
  process.setegid?.(NOBODY);
  process.seteuid?.(NOBODY);
  onTestFinished(() => {
    process.seteuid?.(0);
    process.setegid?.(0);
  });
  return true;
}
