// @ts-check
// How things are measured here: medians of many runs, never one run, and never an average that an outlier can move.

/** @param {readonly number[]} values */
export function median(values) {
  const sorted = [...values].sort((one, other) => one - other);
  return /** @type {number} */ (sorted[Math.floor(sorted.length / 2)]);
}

/** Milliseconds that `work` takes. @param {() => unknown} work */
export function time(work) {
  const start = process.hrtime.bigint();
  work();
  return Number(process.hrtime.bigint() - start) / 1e6;
}

/** @param {() => Promise<unknown>} work */
export async function timeAsync(work) {
  const start = process.hrtime.bigint();
  await work();
  return Number(process.hrtime.bigint() - start) / 1e6;
}

/** Bytes of heap that are really in use. */
export function heap() {
  if (globalThis.gc === undefined) throw new Error("run with --expose-gc");
  globalThis.gc();
  return process.memoryUsage().heapUsed;
}

/** Text of a given length that does not compress to nothing and differs from step to step. @param {number} bytes @param {number} step */
export function words(bytes, step) {
  let text = `${step} `;
  let state = step * 2654435761 + 1;
  while (text.length < bytes) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    text += `${state.toString(36)} `;
  }
  return text.slice(0, bytes);
}

/** Rows as text, each column as wide as its widest cell. @param {readonly (readonly string[])[]} rows */
export function columns(rows) {
  const widths =
    rows[0]?.map((_, column) => Math.max(...rows.map((row) => String(row[column]).length))) ?? [];
  return rows
    .map((row) =>
      row
        .map((cell, column) => String(cell).padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}
