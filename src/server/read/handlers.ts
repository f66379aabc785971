import type { Handlers } from "../call.js";
import { reading } from "../contract/reading.js";
import { fieldsOf } from "../contract/route.js";
import { contentHandlers } from "./content.js";
import { paged } from "./cursor.js";
import { listHandlers } from "./lists.js";
import { memoryHandlers } from "./memory.js";
import { openApi } from "./openapi.js";
import { proofHandlers } from "./proof.js";
import { viewHandlers } from "./views.js";

type Reading = Pick<Handlers, Exclude<keyof typeof reading, "me" | "events">>;

const functions: Reading = {
  ...listHandlers,
  ...viewHandlers,
  ...contentHandlers,
  ...memoryHandlers,
  ...proofHandlers,
  openapi: () => Response.json(openApi()),
};

/** The functions of the operations that read. */
export const readHandlers = Object.fromEntries(
  Object.entries(functions).map(([name, run]) => [
    name,
    "after" in fieldsOf(reading[name as keyof Reading].query)
      ? paged(name, run as Parameters<typeof paged>[1])
      : run,
  ]),
) as Reading;
