import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { folder, openFiles } from "../../store/testing/folder.js";
import { world } from "../testing/world.js";

describe("the log of an index", () => {
  it("[S18] stays short however many are written, and is empty when the store is closed", {
    timeout: 240_000,
  }, async () => {
    const place = folder();
    const { space, said, store } = await world({}, `sqlite:${join(place, "store.db")}`);
    const derived = join(place, "store.db.memory");
    const logs = (): readonly number[] =>
      readdirSync(derived)
        .filter((name) => name.endsWith("-wal"))
        .map((name) => statSync(join(derived, name)).size);
    let longest = 0;
    for (let count = 0; count < 150; count++) {
      const text = `Order ${count * 7919} goes to shelf ${count} in row ${count % 13}.`;
      await space.write({ text, because: [said], source: "reflection", by: "agent:clerk" });
      longest = Math.max(longest, ...logs());
    }
    expect(longest).toBeGreaterThan(0);
    expect(longest).toBeLessThan(6_000_000);
    expect((await space.find("shelf 77")).found.length).toBeGreaterThan(0);
    await store.close();
    expect(logs().filter((bytes) => bytes > 0)).toEqual([]);
  });

  it.skipIf(process.platform !== "linux")("[S19] leaves no file open when the store is closed", async () => {
    const place = folder();
    const held = (): string[] => openFiles().filter((file) => file.startsWith(place));
    const { space, said, store } = await world({}, `sqlite:${join(place, "store.db")}`);
    // The first write makes the tables anew, with the check of the file behind it.
    await space.write({ text: "Order 1 is late.", because: [said], source: "reflection", by: "agent:clerk" });
    await store.close();
    await vi.waitFor(() => expect(held()).toEqual([]), { timeout: 240_000 });
  });
});
