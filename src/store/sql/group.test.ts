import { expect, it } from "vitest";
import { StoreError } from "../error.js";
import { GroupCommit } from "./group.js";

it("[P16] commits that came together are made again one by one, unless the store is away", async () => {
  const made: number[][] = [];
  const commit = (error: unknown) =>
    new GroupCommit<number, number>(
      async (items) => {
        made.push([...items]);
        if (items.includes(2)) throw error;
        return items;
      },
      () => undefined,
    );
  const outcomes = async (error: unknown) => {
    const group = commit(error);
    const told = await Promise.allSettled([1, 2, 3].map((item) => group.add(item)));
    return told.map(({ status }) => status);
  };
  expect(await outcomes(new Error("no"))).toEqual(["fulfilled", "rejected", "fulfilled"]);
  expect(made.splice(0)).toEqual([[1, 2, 3], [1], [2], [3]]);
  const away = new StoreError("unreachable", "Cannot reach it.", "try again", { data: { retry: true } });
  expect(await outcomes(away)).toEqual(["rejected", "rejected", "rejected"]);
  expect(made).toEqual([[1, 2, 3]]);
});
