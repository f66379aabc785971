import { join } from "node:path";
import { pages } from "openrath/evidence";
import { openStore } from "openrath/store";
import { runDemo } from "../../scripts/studio-demo.mjs";

/** A folder with the store of a demonstration, and the end of the repair that lost. */
export type Demo = Awaited<ReturnType<typeof runDemo>> & { readonly small: string };

/** Runs the demonstration once. */
export async function demonstration(): Promise<Demo> {
  const demo = await runDemo();
  const store = await openStore(`sqlite:${join(demo.folder, "rath.db")}`);
  const { branches } = await pages(store).summary("demo-1");
  await store.close();
  return { ...demo, small: branches.find(({ name }) => name === "small")?.head ?? "" };
}
