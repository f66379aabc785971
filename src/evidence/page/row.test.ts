import { expect, it } from "vitest";
import { digestsOf, Session } from "../../session/index.js";
import { openStore } from "../../store/index.js";
import { pages } from "./pages.js";
import { factRow } from "./row.js";

it("[G10] content that is erased while pages are open is told as erased", async () => {
  const store = await openStore("memory:");
  const read = pages(store);
  for (const name of ["one", "other"]) {
    const session = Session.start(`the password of ${name}`, { inline: 0 });
    await store.save(session, { name });
    await store.erase(name, { digests: digestsOf(session.line), why: "asked" });
    const recorded = await read.fact(session.id);
    expect(recorded && factRow(recorded).flags).toEqual(["erased"]);
  }
  await store.close();
});
