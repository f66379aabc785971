export { checkShape, flawOf, isBulky, isContent, isFit, isPersonal, mayBePersonal, noFact } from "./check.js";
export { describeFact, familyOf, isQuiet, toneOf, traceFieldsOf } from "./describe.js";
export type { Tone } from "./family.js";
export type { Fact, FactBodies, FactFamily, FactInput, FactOf, FactType, Stamp } from "./table.js";
export { factTypes } from "./types.js";
export type * from "./value.js";
export { type Gone, lineOf, type Style, shortId, textOf } from "./writer.js";
