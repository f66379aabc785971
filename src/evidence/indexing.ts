import { RathError } from "../session/index.js";

/** A question whose index is still being read: it is answered a little later. */
export class IndexingError extends RathError {
  constructor(subject: string, facts: number, total: number | undefined) {
    const of = total === undefined ? "" : ` of ${total}`;
    super(
      "indexing",
      `The index of ${JSON.stringify(subject.slice(0, 200))} is being made: ${facts}${of} facts are read.`,
      {
        hint: "ask again in a second",
        data: { facts, ...(total !== undefined && { total }), retryAfter: 1 },
      },
    );
  }
}
